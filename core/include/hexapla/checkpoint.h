/* Checkpoints on disk: safetensors files, single or sharded, read and written. A checkpoint handle is a reader; it belongs to no
 * context. Hostile files end in HXP_FORMAT, never in a crash or in an allocation larger than the file. */
#ifndef HEXAPLA_CHECKPOINT_H
#define HEXAPLA_CHECKPOINT_H

#include "hexapla/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hxp_checkpoint;

typedef struct hxp_checkpoint_entry {
  uint32_t struct_size;
  uint32_t rank;
  int64_t shape[8];
  uint64_t elements;
  uint64_t bytes;   /* as stored */
  char dtype[16];   /* as stored: "F32", "F16", "BF16"; others are listed here but hxp_checkpoint_read refuses them */
  const char *name; /* view: dies with the checkpoint */
} hxp_checkpoint_entry;

/** Set an entry's size and zero the rest. entry [caller's]. */
HXP_API void hxp_checkpoint_entry_init(hxp_checkpoint_entry *entry);

/** Open a checkpoint for reading.
 *  path     [borrowed] a .safetensors file, or a folder that holds model.safetensors or model.safetensors.index.json.
 *  out      [owned]
 *  returns  HXP_OK, HXP_IO, HXP_FORMAT.
 */
HXP_API hxp_status hxp_checkpoint_open(const char *path, hxp_checkpoint *out, hxp_error *error);

/** Take another share: a new id for the same reader. out [owned]. */
HXP_API hxp_status hxp_checkpoint_retain(hxp_checkpoint checkpoint, hxp_checkpoint *out, hxp_error *error);

/** Give one share back. 0 does nothing. */
HXP_API hxp_status hxp_checkpoint_release(hxp_checkpoint checkpoint, hxp_error *error);

/** How many tensors the checkpoint holds. */
HXP_API hxp_status hxp_checkpoint_count(hxp_checkpoint checkpoint, uint64_t *out, hxp_error *error);

/** The entry at an index; entries are sorted by the bytes of their names. out [caller's], initialised. */
HXP_API hxp_status hxp_checkpoint_describe(hxp_checkpoint checkpoint, uint64_t index, hxp_checkpoint_entry *out, hxp_error *error);

/** The index of a name; HXP_NOT_FOUND if there is none. */
HXP_API hxp_status hxp_checkpoint_find(hxp_checkpoint checkpoint, const char *name, uint64_t *index_out, hxp_error *error);

/** Read one tensor to a device, widened to f32 (exactly; subnormals and NaN kept).
 *  context  [retained by the tensor]; out [owned] contiguous. A scalar of shape [] becomes shape (1).
 *  returns  HXP_OK, HXP_INVALID_ARGUMENT, HXP_UNSUPPORTED (dtype), HXP_IO, HXP_OUT_OF_MEMORY.
 */
HXP_API hxp_status hxp_checkpoint_read(hxp_checkpoint checkpoint, uint64_t index, hxp_context context, hxp_tensor *out,
                                       hxp_error *error);

/** A value of the file's "__metadata__" (of a sharded checkpoint: of its first shard).
 *  out      [caller's] out_bytes bytes, ended by a zero byte; HXP_NOT_FOUND if the key is absent.
 */
HXP_API hxp_status hxp_checkpoint_metadata(hxp_checkpoint checkpoint, const char *key, char *out, uint64_t out_bytes,
                                           hxp_error *error);

/** Write tensors to one safetensors file (F32, in the order given), all or nothing: a temporary file beside it, synced, renamed.
 *
 *  path       [borrowed] an existing file is replaced only by the complete new one.
 *  names, tensors                  [borrowed] count each; names distinct.
 *  metadata_keys, metadata_values  [borrowed] metadata_count each; keys distinct; both may be NULL when metadata_count is 0.
 *  returns    HXP_OK, HXP_INVALID_ARGUMENT, HXP_IO (nothing left behind).
 */
HXP_API hxp_status hxp_checkpoint_write(const char *path, const char *const *names, const hxp_tensor *tensors, uint64_t count,
                                        const char *const *metadata_keys, const char *const *metadata_values, uint64_t metadata_count,
                                        hxp_error *error);

/** Make a folder of finished files final: sync its files and itself, rename it, sync the parent.
 *  partial, final_path  [borrowed] folders in one parent; final_path must not exist (HXP_IO).
 */
HXP_API hxp_status hxp_checkpoint_commit(const char *partial, const char *final_path, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
