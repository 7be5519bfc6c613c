/* Evaluation: all accepted held-out records in file order, nothing recorded, nothing changed. */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "forward.h"

typedef struct evaluation {
  double loss, total;
  int64_t labels;
  double *record_nll; /* one for each record */
  int64_t records;
} evaluation;

/** `leak`: temporaries are forgotten, not released (`release: collector`). */
bool evaluate(const model *m, const adapter *a, const rendered *items, int64_t count, int64_t micro_batch, bool leak, arena *memory,
              evaluation *out, failure *f);

/** Send the event `evaluation`; `digest` is NULL without an adapter. */
void evaluation_send(const request *r, int64_t step, const evaluation *e, const char *digest);

/** Render a file and keep what is accepted; a file with none is an error. */
bool render_file(const renderer *r, const char *path, arena *memory, rendered **items, int64_t *count, tally *counts, failure *f);

/** The request `evaluate`. */
bool handle_evaluate(const request *r, failure *f);

#endif
