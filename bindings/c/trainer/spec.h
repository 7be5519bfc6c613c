/* The training specification of a request: every key read, checked against its range, none defaulted. */
#ifndef SPEC_H
#define SPEC_H

#include "request.h"

enum { PROJECTIONS = 7 };

/** In adapter order. */
extern const char *const projection_names[PROJECTIONS];

typedef struct spec {
  int64_t seed, updates, batch, micro_batch, length, warmup_updates, rank, evaluate_every, save_every;
  double learning_rate, decay_floor, beta1, beta2, epsilon, weight_decay, clip_norm, alpha;
  bool linear_decay;
  bool chatml;
  bool target[PROJECTIONS];
} spec;

/** Failures have status `spec` and name the key. */
bool spec_read(const json *object, spec *out, failure *f);

/** Is this the name of a template? Sets *chatml. */
bool template_read(const json *name, bool *chatml);

/** The learning rate of update k, from 1: f32 rounding of an f64 computation, as f64. */
double spec_learning_rate(const spec *s, int64_t k);

#endif
