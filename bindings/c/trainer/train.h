/* The request `train`: data, updates, evaluations, checkpoints, in the order of docs/protocol.md. */
#ifndef TRAIN_H
#define TRAIN_H

#include "evaluate.h"
#include "update.h"

/** A run ready for its first update, as the keys of a `train` request (without context) ask: records rendered, model, adapter and moments
 *  loaded. Probes start from here too. */
typedef struct session {
  run r;
  rendered *train, *heldout;
  int64_t train_count, heldout_count, start; /* start: the update resumed from, or 0 */
  tally counts;
  const char *output, *initial, *spec_digest;
} session;

/** The keys of a `train` request, its context apart. */
#define TRAIN_KEYS                                                                                                                 \
  "spec:o spec_digest:s model:s tokenizer:s train:s heldout:s adapter:s output:s resume_from:s? stop_after:i? schedule:s release:s"

/** Load everything that `body` names onto the context; the scope owns it. Data are read before weights: a fault in them shows first. */
bool session_open(const json *body, hxp_context context, arena *memory, scope *s, session *out, failure *f);

bool handle_train(const request *r, failure *f);

#endif
