#include "operands.h"

#include <stdlib.h>
#include <string.h>

bool operands_number(operation *o, const char *key, double *out, failure *f) {
  const json *v = json_get(o->attributes, key);
  if (v == NULL || v->type != JSON_NUMBER) return fail(f, "request", key, "the attribute %s must be a number", key);
  *out = v->number;
  return true;
}

bool operands_integer(operation *o, const char *key, int64_t *out, failure *f) {
  const json *v = json_get(o->attributes, key);
  return v != NULL && json_integer(v, out) ? true : fail(f, "request", key, "the attribute %s must be an integer", key);
}

static bool sizes_of(const json *v, const char *key, int64_t *out, uint32_t *count, failure *f) {
  if (v == NULL || v->type != JSON_ARRAY || v->length > HXP_RANK_MAX) return fail(f, "request", key, "%s must be a list of at most 8 integers", key);
  for (size_t i = 0; i < v->length; i++)
    if (!json_integer(&v->items[i], &out[i])) return fail(f, "request", key, "%s must hold integers", key);
  *count = (uint32_t)v->length;
  return true;
}

bool operands_integers(operation *o, const char *key, int32_t **out, uint64_t *count, failure *f) {
  const json *v = json_get(o->attributes, key);
  if (v == NULL || v->type != JSON_ARRAY) return fail(f, "request", key, "the attribute %s must be a list of integers", key);
  *out = arena_get(o->memory, v->length * sizeof **out + 1);
  *count = v->length;
  for (size_t i = 0; i < v->length; i++) {
    int64_t number;
    if (!json_integer(&v->items[i], &number) || number < INT32_MIN || number > INT32_MAX)
      return fail(f, "request", key, "the attribute %s must hold integers of 32 bits", key);
    (*out)[i] = (int32_t)number;
  }
  return true;
}

bool operands_tensor(operation *o, const char *name, hxp_tensor *out, failure *f) {
  const char *full = arena_format(o->memory, "%s.%s", o->name, name);
  hxp_error error = no_error();
  uint64_t index;
  if (!check(f, hxp_checkpoint_find(o->file, full, &index, &error), &error, full)) return false;
  if (!check(f, hxp_checkpoint_read(o->file, index, o->context, out, &error), &error, full)) return false;
  scope_tensor(o->s, *out);
  return true;
}

/* The strided view that the attributes describe for `name`, or the buffer itself. */
static bool view_of(operation *o, const char *name, hxp_tape tape, hxp_tensor buffer, hxp_tensor *out, failure *f) {
  const json *all = json_get(o->attributes, "strides"), *strides = all && all->type == JSON_OBJECT ? json_get(all, name) : NULL;
  *out = buffer;
  if (strides == NULL) return true;
  const json *views = json_get(o->attributes, "view"), *offsets = json_get(o->attributes, "offset");
  const json *shape = views && views->type == JSON_OBJECT ? json_get(views, name) : NULL;
  const json *from = offsets && offsets->type == JSON_OBJECT ? json_get(offsets, name) : NULL;
  int64_t sizes[HXP_RANK_MAX], steps[HXP_RANK_MAX], offset = 0;
  uint32_t rank, step_count;
  if (!sizes_of(shape, "view", sizes, &rank, f) || !sizes_of(strides, "strides", steps, &step_count, f)) return false;
  if (rank != step_count) return fail(f, "request", "strides", "%s has %u sizes and %u strides", name, rank, step_count);
  if (from != NULL && !json_integer(from, &offset)) return fail(f, "request", "offset", "offset must hold integers");
  hxp_error error = no_error();
  if (!check(f, hxp_as_strided(tape, buffer, rank, sizes, steps, offset, out, &error), &error, name)) return false;
  scope_tensor(o->s, *out);
  return true;
}

static bool wants_gradient(const json *body, const char *name) {
  const json *list = json_get(body, "gradients");
  for (size_t i = 0; i < list->length; i++)
    if (json_is(&list->items[i], name)) return true;
  return false;
}

bool operands_read(operation *o, failure *f) {
  const json *names = json_get(o->body, "inputs");
  if (names->length > INPUTS_MAX) return fail(f, "request", "inputs", "%zu inputs are more than %d", names->length, INPUTS_MAX);
  for (size_t i = 0; i < names->length; i++) {
    operand *one = &o->inputs[o->count++];
    if (names->items[i].type != JSON_STRING) return fail(f, "request", "inputs", "inputs must be names");
    one->name = names->items[i].bytes;
    if (!operands_tensor(o, one->name, &one->buffer, f)) return false;
    hxp_error error = no_error();
    if (wants_gradient(o->body, one->name)) {
      if (!check(f, hxp_tape_watch(o->tape, one->buffer, 0, &error), &error, one->name)) return false;
      if (!check(f, hxp_tape_gradient(o->tape, one->buffer, &one->gradient, &error), &error, one->name)) return false;
      scope_tensor(o->s, one->gradient);
    }
    if (!view_of(o, one->name, o->tape, one->buffer, &one->tensor, f)) return false;
  }
  return true;
}

bool operands_incoming(operation *o, hxp_tensor *out, failure *f) {
  hxp_tensor buffer;
  return operands_tensor(o, "incoming", &buffer, f) && view_of(o, "incoming", 0, buffer, out, f);
}

bool operands_result(operation *o, const char *name, hxp_tensor tensor, failure *f) {
  hxp_tensor share;
  hxp_error error = no_error();
  if (!check(f, hxp_tensor_retain(tensor, &share, &error), &error, name)) return false;
  scope_tensor(o->kept, share);
  results *r = o->out;
  if (r->count == r->capacity) {
    r->capacity = r->capacity ? 2 * r->capacity : 64;
    r->names = grow(r->names, (size_t)r->capacity * sizeof *r->names);
    r->tensors = grow(r->tensors, (size_t)r->capacity * sizeof *r->tensors);
  }
  r->names[r->count] = arena_format(o->memory, "%s.%s", o->name, name);
  r->tensors[r->count++] = share;
  return true;
}
