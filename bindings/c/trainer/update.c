#include "update.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "order.h"

bool run_prepare(run *r, arena *memory, scope *s, failure *f) {
  int64_t count = r->st.a.count;
  r->gradients = arena_get(memory, (size_t)count * sizeof *r->gradients);
  if (!adapter_zeros(&r->st.a, r->context, s, r->gradients, f)) return false;
  hxp_error error = no_error();
  if (!check(f, hxp_tape_create(r->context, &r->tape, &error), &error, "tape")) return false;
  scope_own(s, r->tape, hxp_tape_release);
  for (int64_t i = 0; i < count; i++)
    if (!check(f, hxp_tape_watch(r->tape, r->st.a.tensors[i], r->gradients[i], &error), &error, r->st.a.names[i])) return false;
  return true;
}

const rendered **update_records(const spec *plan, const rendered *train, int64_t count, int64_t k, arena *memory, int64_t *size,
                                int64_t *epoch) {
  int64_t per_epoch = (count + plan->batch - 1) / plan->batch, first = (k - 1) % per_epoch * plan->batch;
  *epoch = (k - 1) / per_epoch;
  *size = count - first < plan->batch ? count - first : plan->batch;
  int64_t *order = arena_get(memory, (size_t)count * sizeof *order);
  order_epoch(plan->seed, *epoch, count, order);
  const rendered **items = arena_get(memory, (size_t)*size * sizeof *items);
  for (int64_t i = 0; i < *size; i++) items[i] = &train[order[first + i]];
  return items;
}

/* Forward and backward of one micro-batch; adds its losses to *loss, record by record. */
static bool micro_batch(run *r, const rendered *const *items, int64_t count, int64_t labels, scope *s, arena *host, double *loss,
                        failure *f) {
  batch b;
  hxp_tensor nll, weight;
  batch_pack(items, count, host, &b);
  double *record_nll = arena_get(host, (size_t)count * sizeof *record_nll);
  if (!forward(&r->m, &r->st.a, &b, r->tape, s, &nll, f) || !record_losses(&b, nll, host, record_nll, f)) return false;
  for (int64_t i = 0; i < count; i++) *loss += record_nll[i];
  hxp_error error = no_error();
  if (!check(f, hxp_tensor_create(r->context, HXP_DTYPE_F32, 1, &b.labels, &weight, &error), &error, "label weights")) return false;
  scope_tensor(s, weight);
  return check(f, hxp_tensor_fill(weight, (double)(float)(1.0 / (double)labels), &error), &error, "label weights") &&
         check(f, hxp_tape_backward(r->tape, nll, weight, &error), &error, "backward");
}

static bool accumulate(run *r, const rendered *const *items, int64_t count, step *out, failure *f) {
  hxp_error error = no_error();
  scope temporaries = {0};
  arena host = {0};
  bool good = true;
  for (int64_t i = 0; good && i < r->st.a.count; i++)
    good = check(f, hxp_tensor_fill(r->gradients[i], 0, &error), &error, r->st.a.names[i]);
  for (int64_t first = 0; good && first < count; first += r->plan.micro_batch) {
    int64_t size = count - first < r->plan.micro_batch ? count - first : r->plan.micro_batch;
    good = micro_batch(r, items + first, size, out->labels, &temporaries, &host, &out->loss, f);
    if (!good) hxp_tape_reset(r->tape, NULL);
    if (good && r->leak) scope_leak(&temporaries);
    scope_close(&temporaries);
    arena_end(&host);
  }
  scope_end(&temporaries);
  out->loss /= (double)out->labels;
  return good;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool apply(run *r, step *out, failure *f) {
  hxp_error error = no_error();
  uint64_t count = (uint64_t)r->st.a.count;
  int32_t clipped = 0;
  if (!check(f, hxp_gradient_norm(r->gradients, count, &out->gradient_norm, &error), &error, "gradient norm")) return false;
  if (!isfinite(out->loss) || !isfinite(out->gradient_norm)) {
    char where[48];
    snprintf(where, sizeof where, "update %lld", (long long)out->number);
    return fail(f, "non_finite", where, "the loss is %.17g, the gradient norm %.17g", out->loss, out->gradient_norm);
  }
  hxp_status status = hxp_gradient_clip(r->gradients, count, out->gradient_norm, r->plan.clip_norm, &clipped, &error);
  if (!check(f, status, &error, "clip")) return false;
  out->clipped = clipped != 0;
  hxp_adamw_options options;
  hxp_adamw_options_init(&options);
  options.step = (uint64_t)out->number;
  options.learning_rate = out->learning_rate;
  options.beta1 = r->plan.beta1;
  options.beta2 = r->plan.beta2;
  options.epsilon = r->plan.epsilon;
  options.weight_decay = r->plan.weight_decay;
  status = hxp_adamw_step(&options, r->st.a.tensors, r->gradients, r->st.exp_avg, r->st.exp_avg_sq, count, &error);
  return check(f, status, &error, "adamw") && check(f, hxp_context_synchronize(r->context, &error), &error, "adamw");
}

bool update(run *r, const rendered *const *items, int64_t count, int64_t k, step *out, failure *f) {
  double start = now_ms();
  hxp_error error = no_error();
  if (!check(f, hxp_context_mark(r->context, (uint64_t)k, &error), &error, "mark")) return false;
  out->number = k;
  out->records = count;
  out->learning_rate = spec_learning_rate(&r->plan, k);
  out->digest = BATCH_DIGEST_START;
  for (int64_t i = 0; i < count; i++) {
    out->tokens += items[i]->length;
    out->labels += items[i]->labels;
    out->digest = batch_digest(out->digest, items[i]);
  }
  if (!accumulate(r, items, count, out, f) || !apply(r, out, f)) return false;
  out->milliseconds = now_ms() - start;
  return true;
}
