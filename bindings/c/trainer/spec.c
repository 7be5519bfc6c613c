#include "spec.h"

#include <math.h>
#include <string.h>

const char *const projection_names[PROJECTIONS] = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};

static bool integer(const json *object, const char *key, int64_t low, int64_t high, int64_t *out, failure *f) {
  const json *v = json_get(object, key);
  if (!json_integer(v, out)) return fail(f, "spec", key, "%s must be an integer", key);
  if (*out < low || *out > high)
    return fail(f, "spec", key, "%s is %lld; it must lie within %lld … %lld", key, (long long)*out, (long long)low, (long long)high);
  return true;
}

typedef enum range { ABOVE_ZERO, FROM_ZERO, BELOW_ONE, UP_TO_ONE } range;

static bool number(const json *object, const char *key, range allowed, double *out, failure *f) {
  static const char *const words[] = {"above 0", "0 or more", "at least 0 and below 1", "within 0 … 1"};
  const json *v = json_get(object, key);
  if (v->type != JSON_NUMBER) return fail(f, "spec", key, "%s must be a number", key);
  double x = *out = v->number;
  bool inside = allowed == ABOVE_ZERO  ? x > 0
                : allowed == FROM_ZERO ? x >= 0
                : allowed == BELOW_ONE ? x >= 0 && x < 1
                                       : x >= 0 && x <= 1;
  return inside ? true : fail(f, "spec", key, "%s is %.17g; it must be %s", key, x, words[allowed]);
}

static bool targets(const json *object, spec *out, failure *f) {
  const json *list = json_get(object, "targets");
  if (list->type != JSON_ARRAY) return fail(f, "spec", "targets", "targets must be a list of names");
  for (size_t i = 0; i < list->length; i++) {
    int found = -1;
    for (int p = 0; p < PROJECTIONS; p++)
      if (json_is(&list->items[i], projection_names[p])) found = p;
    if (found < 0)
      return fail(f, "spec", "targets", "targets names %s, which is no projection of the model",
                  list->items[i].type == JSON_STRING ? list->items[i].bytes : "something");
    if (out->target[found]) return fail(f, "spec", "targets", "targets names %s twice", projection_names[found]);
    out->target[found] = true;
  }
  return list->length ? true : fail(f, "spec", "targets", "targets is empty");
}

bool template_read(const json *name, bool *chatml) {
  *chatml = json_is(name, "chatml");
  return *chatml || json_is(name, "qwen3");
}

static bool keys_known(const json *object, failure *f) {
  static const char *const keys[] = {"seed",         "updates",     "batch",  "micro_batch", "length",  "learning_rate",
                                     "warmup_updates", "decay",     "decay_floor", "beta1",  "beta2",   "epsilon",
                                     "weight_decay", "clip_norm",   "rank",   "alpha",       "targets", "evaluate_every",
                                     "save_every",   "template",    "precision"};
  size_t count = sizeof keys / sizeof *keys;
  if (object->type != JSON_OBJECT) return fail(f, "spec", "spec", "the spec must be an object");
  for (size_t i = 0; i < count; i++)
    if (json_get(object, keys[i]) == NULL) return fail(f, "spec", keys[i], "the key %s is missing", keys[i]);
  for (size_t i = 0; i < object->length; i++) {
    bool known = false;
    for (size_t k = 0; k < count; k++) known = known || json_is(&object->keys[i], keys[k]);
    if (!known) return fail(f, "spec", object->keys[i].bytes, "the key %.100s is unknown", object->keys[i].bytes);
  }
  return true;
}

bool spec_read(const json *o, spec *out, failure *f) {
  const int64_t any = ((int64_t)1 << 53) - 1;
  *out = (spec){0};
  if (!keys_known(o, f)) return false;
  bool good = integer(o, "seed", 0, 2147483647, &out->seed, f) && integer(o, "updates", 1, any, &out->updates, f) &&
              integer(o, "batch", 1, any, &out->batch, f) && integer(o, "micro_batch", 1, out->batch, &out->micro_batch, f) &&
              integer(o, "length", 2, any, &out->length, f) &&
              integer(o, "warmup_updates", 0, out->updates, &out->warmup_updates, f) && integer(o, "rank", 1, any, &out->rank, f) &&
              integer(o, "evaluate_every", 1, any, &out->evaluate_every, f) && integer(o, "save_every", 1, any, &out->save_every, f) &&
              number(o, "learning_rate", ABOVE_ZERO, &out->learning_rate, f) && number(o, "decay_floor", UP_TO_ONE, &out->decay_floor, f) &&
              number(o, "beta1", BELOW_ONE, &out->beta1, f) && number(o, "beta2", BELOW_ONE, &out->beta2, f) &&
              number(o, "epsilon", ABOVE_ZERO, &out->epsilon, f) && number(o, "weight_decay", FROM_ZERO, &out->weight_decay, f) &&
              number(o, "clip_norm", ABOVE_ZERO, &out->clip_norm, f) && number(o, "alpha", ABOVE_ZERO, &out->alpha, f) && targets(o, out, f);
  if (!good) return false;
  const json *decay = json_get(o, "decay");
  out->linear_decay = json_is(decay, "linear");
  if (!out->linear_decay && !json_is(decay, "cosine")) return fail(f, "spec", "decay", "decay must be cosine or linear");
  if (!template_read(json_get(o, "template"), &out->chatml)) return fail(f, "spec", "template", "template must be qwen3 or chatml");
  return json_is(json_get(o, "precision"), "f32") ? true : fail(f, "spec", "precision", "precision must be f32");
}

double spec_learning_rate(const spec *s, int64_t k) {
  double factor, floor = s->decay_floor;
  int64_t warmup = s->warmup_updates, total = s->updates;
  if (k <= warmup) factor = (double)k / (double)warmup;
  else if (s->linear_decay) factor = floor + (1 - floor) * (double)(total - k) / (double)(total - warmup);
  else factor = floor + (1 - floor) * (1 + cos(M_PI * (double)(k - warmup) / (double)(total - warmup))) / 2;
  return (double)(float)(s->learning_rate * factor);
}
