/* One update: forward, backward, norm, clip, AdamW (docs/spec.md, "Update k"). */
#ifndef UPDATE_H
#define UPDATE_H

#include "checkpoint.h"
#include "forward.h"

/** Everything that a run holds between updates. */
typedef struct run {
  spec plan;
  hxp_context context;
  model m;
  state st;
  hxp_tensor *gradients; /* (st.a.count) */
  hxp_tape tape;
  bool leak; /* `release: collector` in a language without one */
} run;

typedef struct step {
  int64_t number, epoch, records, tokens, labels;
  double loss, gradient_norm, learning_rate, milliseconds;
  bool clipped;
  uint64_t digest;
} step;

/** Gradients of zero and a tape that watches the adapter; the scope owns them. */
bool run_prepare(run *r, arena *memory, scope *s, failure *f);

/** Which records update k takes: `items` of the arena, their count and epoch. */
const rendered **update_records(const spec *plan, const rendered *train, int64_t count, int64_t k, arena *memory, int64_t *size,
                                int64_t *epoch);

/** Do update k on these records. A loss or norm that is not finite is a failure `non_finite`, parameters untouched. */
bool update(run *r, const rendered *const *items, int64_t count, int64_t k, step *out, failure *f);

#endif
