/* Checkpoints of a run: written as `….partial`, synced, renamed; read on resume. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "adapter.h"

/** What training changes: the adapter and its two moments, in adapter order. */
typedef struct state {
  adapter a;
  hxp_tensor *exp_avg, *exp_avg_sq; /* a.count each */
} state;

/** Moments of zero beside an adapter whose tensors are loaded. */
bool state_start(state *st, hxp_context context, arena *memory, scope *s, failure *f);

/** Adapter and moments of a checkpoint; sets *update. Refuses another spec_digest. */
bool state_resume(state *st, const char *folder, const char *spec_digest, hxp_context context, arena *memory, scope *s, int64_t *update,
                  failure *f);

bool adapter_digest(const state *st, char out[65], failure *f);

/** exp_avg, then exp_avg_sq, of each tensor in adapter order. */
bool optimizer_digest(const state *st, arena *memory, char out[65], failure *f);

/** Make every folder of a path that is not there. */
bool output_make(const char *path, arena *memory, failure *f);

/** `output`/checkpoint-<update, 6 digits> */
const char *checkpoint_path(const char *output, int64_t update, arena *memory);

/** An `io` failure if the path exists. */
bool checkpoint_free(const char *path, failure *f);

/** Save to `path`; adapter_config.json is copied byte for byte from the folder `initial`. */
bool checkpoint_save(const state *st, const char *path, const char *initial, const char *spec_digest, int64_t update, arena *memory,
                     failure *f);

#endif
