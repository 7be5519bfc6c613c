/* The adapter: the pairs A, B of each target in PEFT's order, and their files. */
#ifndef ADAPTER_H
#define ADAPTER_H

#include "model.h"

typedef struct adapter {
  int64_t count;          /* tensors: A and B of each target of each layer */
  const char **names;     /* count */
  hxp_tensor *tensors;    /* count; A (rank, in) at even, B (out, rank) at odd places */
  slot *slots;            /* count, pointing at tensors */
  int64_t (*at)[PROJECTIONS]; /* layers × projections: place of A, or −1 when not a target */
  double scale;           /* alpha / rank */
} adapter;

/** Names, slots and places, no tensor yet. */
void adapter_plan(const shape *shape, const spec *spec, arena *memory, adapter *out);

/** Check adapter_config.json of a folder: r and lora_alpha must be the spec's. */
bool adapter_config_check(const char *folder, const spec *spec, arena *memory, failure *f);

/** Read adapter_model.safetensors of a folder; the scope owns the tensors. */
bool adapter_load(const char *folder, hxp_context context, arena *memory, scope *s, adapter *a, failure *f);

/** Read the tensors of one file into the slots' places; names and shapes must match. */
bool tensors_load(const char *path, const slot *slots, int64_t count, hxp_context context, arena *memory, scope *s,
                  hxp_checkpoint *reader_out, failure *f);

/** Zeros of the adapter's shapes, `places` (count); the scope owns them. */
bool adapter_zeros(const adapter *a, hxp_context context, scope *s, hxp_tensor *places, failure *f);

#endif
