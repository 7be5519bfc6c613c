/* The base model: its shape from config.json and its weights from safetensors, every one read exactly once. */
#ifndef MODEL_H
#define MODEL_H

#include "request.h"
#include "spec.h"

typedef struct shape {
  bool qk_norm; /* qwen3 has it, llama has not */
  bool tied;
  int64_t layers, hidden, heads, kv_heads, head_width, intermediate, vocabulary;
  double epsilon, theta;
} shape;

typedef struct layer {
  hxp_tensor input_norm, post_norm, q_norm, k_norm; /* (hidden), (hidden), (head_width), (head_width); the last two 0 without qk_norm */
  hxp_tensor projection[PROJECTIONS];               /* (out, in) */
} layer;

typedef struct model {
  shape shape;
  hxp_tensor embedding; /* (vocabulary, hidden) */
  hxp_tensor norm;      /* (hidden) */
  hxp_tensor head;      /* (vocabulary, hidden); the embedding's own id when tied */
  layer *layers;
} model;

/** One weight that a shape asks for: its name, its sizes, and where its handle goes. */
typedef struct slot {
  const char *name;
  uint32_t rank;
  int64_t sizes[2];
  hxp_tensor *place;
} slot;

bool shape_read(const char *folder, arena *memory, shape *out, failure *f);

/** Sizes of projection p: out rows, in columns. */
void projection_sizes(const shape *s, int p, int64_t *rows, int64_t *columns);

/** Every weight of the shape, the head only when untied; slots point into `m`, whose layers are made in the arena. */
slot *model_slots(model *m, arena *memory, int64_t *count);

/** Open the checkpoint of a folder and hold its names, shapes and, when tied, its stored head against the slots. Fills index[i], the
 *  entry of slot i. The scope owns the reader. */
bool model_open(const char *folder, model *m, const slot *slots, int64_t count, arena *memory, scope *s, hxp_context context,
                hxp_checkpoint *reader, uint64_t *index, failure *f);

/** Shape and weights on the context; the scope owns them. */
bool model_load(const char *folder, hxp_context context, arena *memory, scope *s, model *out, failure *f);

/** Compare a checkpoint's names and shapes with the slots: refused with counts and first names (status `checkpoint`). `optional` may be
 *  there or not. Fills index[i]. */
bool names_match(hxp_checkpoint reader, const char *where, const slot *slots, int64_t count, const char *optional, arena *memory,
                 uint64_t *index, failure *f);

#endif
