/* Tensors: device memory with a shape. A tensor is a view of a storage; views and copies of a handle share that storage. */
#ifndef HEXAPLA_TENSOR_H
#define HEXAPLA_TENSOR_H

#include "hexapla/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hxp_tensor;

enum {
  HXP_DTYPE_F32 = 1,
  HXP_DTYPE_F16 = 2, /* stored only: widened to f32 on load */
  HXP_DTYPE_BF16 = 3 /* stored only: widened to f32 on load */
};

enum { HXP_RANK_MAX = 8 };

typedef struct hxp_tensor_info {
  uint32_t struct_size;
  int32_t dtype;
  uint32_t rank;
  uint32_t contiguous; /* 1: row-major without gaps */
  int64_t shape[8];
  int64_t strides[8]; /* in elements */
  int64_t offset;     /* of the first element in its storage, in elements */
  uint64_t elements;
  uint64_t bytes; /* elements × size of dtype: what hxp_tensor_read needs */
} hxp_tensor_info;

/** Set an info's size and zero the rest. info [caller's]. */
HXP_API void hxp_tensor_info_init(hxp_tensor_info *info);

/** Make a tensor of zeros.
 *
 *  context  [retained]
 *  dtype    HXP_DTYPE_F32; another dtype answers HXP_UNSUPPORTED.
 *  rank     1 … HXP_RANK_MAX.
 *  shape    [borrowed] rank sizes ≥ 0; a negative one answers HXP_INVALID_ARGUMENT with its value in the text.
 *  out      [owned]
 *  returns  HXP_OK, HXP_INVALID_ARGUMENT, HXP_UNSUPPORTED, HXP_OUT_OF_MEMORY.
 */
HXP_API hxp_status hxp_tensor_create(hxp_context context, int32_t dtype, uint32_t rank, const int64_t *shape, hxp_tensor *out,
                                     hxp_error *error);

/** Take another share: a new id for the same tensor (not a copy of its values). out [owned]. */
HXP_API hxp_status hxp_tensor_retain(hxp_tensor tensor, hxp_tensor *out, hxp_error *error);

/** Give one share back. 0 does nothing. Never waits for a call; any thread, at process exit too. */
HXP_API hxp_status hxp_tensor_release(hxp_tensor tensor, hxp_error *error);

/** Shape, strides and sizes. out [caller's], initialised. */
HXP_API hxp_status hxp_tensor_describe(hxp_tensor tensor, hxp_tensor_info *out, hxp_error *error);

/** The context that the tensor lives in. out [owned]: a new id. */
HXP_API hxp_status hxp_tensor_context(hxp_tensor tensor, hxp_context *out, hxp_error *error);

/** The name of the device that the tensor's buffer really lies on. out [caller's]; 32 bytes are always enough. */
HXP_API hxp_status hxp_tensor_device(hxp_tensor tensor, char *out, uint64_t out_bytes, hxp_error *error);

/** Copy host memory into a tensor, row-major; the tensor may be a non-contiguous view.
 *  data     [borrowed] data_bytes must equal the tensor's bytes.
 */
HXP_API hxp_status hxp_tensor_write(hxp_tensor tensor, const void *data, uint64_t data_bytes, hxp_error *error);

/** Copy a tensor to host memory, row-major; the tensor may be a non-contiguous view.
 *  out      [caller's] out_bytes must be at least the tensor's bytes.
 *  blocks   until the copy is done.
 */
HXP_API hxp_status hxp_tensor_read(hxp_tensor tensor, void *out, uint64_t out_bytes, hxp_error *error);

/** Set every element, in place. */
HXP_API hxp_status hxp_tensor_fill(hxp_tensor tensor, double value, hxp_error *error);

/** Add a number to every element, in place; every owner and view sees it. */
HXP_API hxp_status hxp_tensor_add_in_place(hxp_tensor tensor, double value, hxp_error *error);

/** SHA-256 over the f32 little-endian values of the tensors, row-major, one after the other.
 *  tensors  [borrowed] count ids, count ≥ 1, all of one context.
 *  out      [caller's] out_bytes ≥ 65: 64 lower-case hex digits and a zero byte.
 */
HXP_API hxp_status hxp_tensor_digest(const hxp_tensor *tensors, uint64_t count, char *out, uint64_t out_bytes, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
