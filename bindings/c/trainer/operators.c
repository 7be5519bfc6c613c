#include "operators.h"

#include <stdlib.h>
#include <string.h>

#include "operands.h"

/* Run an op on its operands; `out` is its one result. */
typedef bool (*op_function)(operation *o, hxp_tensor *out, failure *f);

#define INPUT(i) (o->inputs[i].tensor)

static bool made(operation *o, hxp_status status, const hxp_error *error, const hxp_tensor *out, failure *f) {
  if (!check(f, status, error, o->name)) return false;
  scope_tensor(o->s, *out);
  return true;
}

static bool op_embedding(operation *o, hxp_tensor *out, failure *f) {
  int32_t *ids;
  uint64_t count;
  hxp_error e = no_error();
  if (!operands_integers(o, "ids", &ids, &count, f)) return false;
  return made(o, hxp_embedding(o->tape, INPUT(0), ids, count, out, &e), &e, out, f);
}

static bool op_rms_norm(operation *o, hxp_tensor *out, failure *f) {
  double epsilon;
  hxp_error e = no_error();
  if (!operands_number(o, "epsilon", &epsilon, f)) return false;
  return made(o, hxp_rms_norm(o->tape, INPUT(0), INPUT(1), epsilon, out, &e), &e, out, f);
}

static bool op_linear(operation *o, hxp_tensor *out, failure *f) {
  hxp_error e = no_error();
  return made(o, hxp_linear(o->tape, INPUT(0), INPUT(1), out, &e), &e, out, f);
}

static bool op_lora_linear(operation *o, hxp_tensor *out, failure *f) {
  double scale;
  hxp_error e = no_error();
  if (!operands_number(o, "scale", &scale, f)) return false;
  return made(o, hxp_lora_linear(o->tape, INPUT(0), INPUT(1), INPUT(2), INPUT(3), scale, out, &e), &e, out, f);
}

static bool op_rope(operation *o, hxp_tensor *out, failure *f) {
  int32_t *positions;
  uint64_t count;
  double theta;
  hxp_error e = no_error();
  if (!operands_integers(o, "positions", &positions, &count, f) || !operands_number(o, "theta", &theta, f)) return false;
  return made(o, hxp_rope(o->tape, INPUT(0), positions, count, theta, out, &e), &e, out, f);
}

static bool op_attention(operation *o, hxp_tensor *out, failure *f) {
  int32_t *starts;
  uint64_t count;
  int64_t heads, kv_heads;
  hxp_error e = no_error();
  const json *causal = json_get(o->attributes, "causal");
  if (causal == NULL || (causal->type != JSON_TRUE && causal->type != JSON_FALSE))
    return fail(f, "request", "causal", "the attribute causal must be true or false");
  if (!operands_integers(o, "starts", &starts, &count, f) || !operands_integer(o, "heads", &heads, f) ||
      !operands_integer(o, "kv_heads", &kv_heads, f))
    return false;
  const int64_t expected[2] = {heads, kv_heads};
  for (int i = 0; i < 2; i++) {
    hxp_tensor_info info;
    hxp_tensor_info_init(&info);
    if (!check(f, hxp_tensor_describe(INPUT(i), &info, &e), &e, o->name)) return false;
    if (info.rank != 3 || info.shape[1] != expected[i])
      return fail(f, "request", o->name, "%s does not have %lld heads", o->inputs[i].name, (long long)expected[i]);
  }
  return made(o, hxp_attention(o->tape, INPUT(0), INPUT(1), INPUT(2), starts, count, causal->type == JSON_TRUE, out, &e), &e, out, f);
}

static bool op_swiglu(operation *o, hxp_tensor *out, failure *f) {
  hxp_error e = no_error();
  return made(o, hxp_swiglu(o->tape, INPUT(0), INPUT(1), out, &e), &e, out, f);
}

static bool op_add(operation *o, hxp_tensor *out, failure *f) {
  hxp_error e = no_error();
  return made(o, hxp_add(o->tape, INPUT(0), INPUT(1), out, &e), &e, out, f);
}

static bool op_scale(operation *o, hxp_tensor *out, failure *f) {
  double scale;
  hxp_error e = no_error();
  if (!operands_number(o, "scale", &scale, f)) return false;
  return made(o, hxp_scale(o->tape, INPUT(0), scale, out, &e), &e, out, f);
}

static bool op_linear_cross_entropy(operation *o, hxp_tensor *out, failure *f) {
  int32_t *rows, *targets;
  uint64_t row_count, target_count;
  hxp_error e = no_error();
  if (!operands_integers(o, "rows", &rows, &row_count, f) || !operands_integers(o, "targets", &targets, &target_count, f)) return false;
  if (row_count != target_count) return fail(f, "request", o->name, "rows and targets differ in length");
  return made(o, hxp_linear_cross_entropy(o->tape, INPUT(0), INPUT(1), rows, targets, row_count, out, &e), &e, out, f);
}

static bool op_matmul(operation *o, hxp_tensor *out, failure *f) {
  hxp_error e = no_error();
  return made(o, hxp_matmul(o->tape, INPUT(0), INPUT(1), out, &e), &e, out, f);
}

static bool op_softmax(operation *o, hxp_tensor *out, failure *f) {
  hxp_error e = no_error();
  return made(o, hxp_softmax(o->tape, INPUT(0), out, &e), &e, out, f);
}

static bool op_transpose(operation *o, hxp_tensor *out, failure *f) {
  hxp_error e = no_error();
  return made(o, hxp_transpose(o->tape, INPUT(0), out, &e), &e, out, f);
}

static bool op_reshape(operation *o, hxp_tensor *out, failure *f) {
  int32_t *sizes;
  int64_t shape[HXP_RANK_MAX];
  uint64_t count;
  hxp_error e = no_error();
  if (!operands_integers(o, "shape", &sizes, &count, f)) return false;
  if (count > HXP_RANK_MAX) return fail(f, "request", "shape", "shape has more than 8 sizes");
  for (uint64_t i = 0; i < count; i++) shape[i] = sizes[i];
  return made(o, hxp_reshape(o->tape, INPUT(0), (uint32_t)count, shape, out, &e), &e, out, f);
}

static bool op_reduce_sum(operation *o, hxp_tensor *out, failure *f) {
  int64_t axis;
  hxp_error e = no_error();
  if (!operands_integer(o, "axis", &axis, f)) return false;
  if (axis < 0) return fail(f, "request", "axis", "axis is negative");
  return made(o, hxp_reduce_sum(o->tape, INPUT(0), (uint32_t)axis, out, &e), &e, out, f);
}

/* The three that change their operands: `inputs` are gradients, or p, g, m, v. */

static void list_inputs(operation *o, hxp_tensor *list) {
  for (int64_t i = 0; i < o->count; i++) list[i] = INPUT(i);
}

static bool put_number(operation *o, const char *name, double value, failure *f) {
  const int64_t one = 1;
  hxp_tensor tensor;
  hxp_error e = no_error();
  if (!check(f, hxp_tensor_create(o->context, HXP_DTYPE_F32, 1, &one, &tensor, &e), &e, o->name)) return false;
  scope_tensor(o->s, tensor);
  return check(f, hxp_tensor_fill(tensor, value, &e), &e, o->name) && operands_result(o, name, tensor, f);
}

static bool run_gradient_norm(operation *o, failure *f) {
  hxp_tensor list[INPUTS_MAX];
  double norm;
  hxp_error e = no_error();
  list_inputs(o, list);
  return check(f, hxp_gradient_norm(list, (uint64_t)o->count, &norm, &e), &e, o->name) && put_number(o, "output", norm, f);
}

static bool run_clip(operation *o, failure *f) {
  hxp_tensor list[INPUTS_MAX];
  double norm, clip_norm;
  hxp_error e = no_error();
  list_inputs(o, list);
  if (!operands_number(o, "clip_norm", &clip_norm, f)) return false;
  if (!check(f, hxp_gradient_norm(list, (uint64_t)o->count, &norm, &e), &e, o->name)) return false;
  if (!check(f, hxp_gradient_clip(list, (uint64_t)o->count, norm, clip_norm, NULL, &e), &e, o->name)) return false;
  if (!put_number(o, "output.norm", norm, f)) return false;
  for (int64_t i = 0; i < o->count; i++)
    if (!operands_result(o, arena_format(o->memory, "output.%s", o->inputs[i].name), list[i], f)) return false;
  return true;
}

static bool run_adamw(operation *o, failure *f) {
  hxp_adamw_options options;
  hxp_adamw_options_init(&options);
  int64_t step;
  if (!operands_number(o, "learning_rate", &options.learning_rate, f) || !operands_number(o, "beta1", &options.beta1, f) ||
      !operands_number(o, "beta2", &options.beta2, f) || !operands_number(o, "epsilon", &options.epsilon, f) ||
      !operands_number(o, "weight_decay", &options.weight_decay, f) || !operands_integer(o, "step", &step, f))
    return false;
  options.step = (uint64_t)step;
  hxp_error e = no_error();
  hxp_tensor p = INPUT(0), g = INPUT(1), m = INPUT(2), v = INPUT(3);
  return check(f, hxp_adamw_step(&options, &p, &g, &m, &v, 1, &e), &e, o->name) && operands_result(o, "output.p", p, f) &&
         operands_result(o, "output.m", m, f) && operands_result(o, "output.v", v, f);
}

static const struct {
  const char *name;
  int inputs; /* −1: any number from 1 */
  op_function forward;
  bool (*whole)(operation *o, failure *f);
} ops[] = {
    {"embedding", 1, op_embedding, NULL}, {"rms_norm", 2, op_rms_norm, NULL},   {"linear", 2, op_linear, NULL},
    {"lora_linear", 4, op_lora_linear, NULL}, {"rope", 1, op_rope, NULL},       {"attention", 3, op_attention, NULL},
    {"swiglu", 2, op_swiglu, NULL},       {"add", 2, op_add, NULL},             {"scale", 1, op_scale, NULL},
    {"linear_cross_entropy", 2, op_linear_cross_entropy, NULL},                 {"matmul", 2, op_matmul, NULL},
    {"softmax", 1, op_softmax, NULL},     {"transpose", 1, op_transpose, NULL}, {"reshape", 1, op_reshape, NULL},
    {"reduce_sum", 1, op_reduce_sum, NULL}, {"gradient_norm", -1, NULL, run_gradient_norm}, {"clip", -1, NULL, run_clip},
    {"adamw", 4, NULL, run_adamw},
};

static bool backward(operation *o, hxp_tensor output, failure *f) {
  const json *gradients = json_get(o->body, "gradients");
  hxp_error error = no_error();
  hxp_tensor incoming;
  if (gradients->length == 0) return true;
  if (!operands_incoming(o, &incoming, f)) return false;
  if (!check(f, hxp_tape_backward(o->tape, output, incoming, &error), &error, o->name)) return false;
  for (int64_t i = 0; i < o->count; i++)
    if (o->inputs[i].gradient != 0 &&
        !operands_result(o, arena_format(o->memory, "gradient.%s", o->inputs[i].name), o->inputs[i].gradient, f))
      return false;
  return true;
}

static bool run_case(operation *o, failure *f) {
  const json *name = json_get(o->body, "op");
  size_t found = 0, known = sizeof ops / sizeof *ops;
  while (found < known && !json_is(name, ops[found].name)) found++;
  if (found == known) return fail(f, "request", o->name, "the op %.60s is unknown", name->bytes);
  hxp_error error = no_error();
  if (!check(f, hxp_tape_create(o->context, &o->tape, &error), &error, o->name)) return false;
  scope_own(o->s, o->tape, hxp_tape_release);
  if (!operands_read(o, f)) return false;
  if (ops[found].inputs >= 0 ? o->count != ops[found].inputs : o->count < 1)
    return fail(f, "request", o->name, "%s got %lld inputs", ops[found].name, (long long)o->count);
  if (ops[found].whole != NULL) return ops[found].whole(o, f);
  hxp_tensor output;
  return ops[found].forward(o, &output, f) && operands_result(o, "output", output, f) && backward(o, output, f);
}

static void send_case(const request *r, const char *name, bool ok, const char *message) {
  event e = event_begin(r->id, r->id_length, "case");
  event_string(&e, "case", name);
  event_boolean(&e, "ok", ok);
  event_string(&e, "message", message);
  event_send(&e);
}

static bool all_cases(const request *r, scope *kept, results *out, failure *f) {
  if (!request_keys(r->body, "request", "protocol:i id:s request:s context:o cases:a file:s output:s", f)) return false;
  hxp_context context;
  hxp_checkpoint file;
  hxp_error error = no_error();
  if (!request_context(r, kept, &context, f)) return false;
  if (!check(f, hxp_checkpoint_open(request_text(r, "file"), &file, &error), &error, request_text(r, "file"))) return false;
  scope_own(kept, file, hxp_checkpoint_release);
  const json *cases = json_get(r->body, "cases");
  for (size_t i = 0; i < cases->length; i++) {
    const json *body = &cases->items[i];
    if (!request_keys(body, "case", "case:s op:s attributes:o inputs:a gradients:a", f)) return false;
    scope s = {0};
    failure one = {0};
    operation o = {.body = body, .attributes = json_get(body, "attributes"), .name = json_get(body, "case")->bytes, .file = file,
                   .context = context, .s = &s, .kept = kept, .memory = r->memory, .out = out};
    bool ok = run_case(&o, &one);
    scope_end(&s);
    send_case(r, o.name, ok, one.message);
  }
  const char *path = request_text(r, "output");
  return check(f, hxp_checkpoint_write(path, out->names, out->tensors, (uint64_t)out->count, NULL, NULL, 0, &error), &error, path);
}

bool handle_operators(const request *r, failure *f) {
  scope kept = {0};
  results out = {0};
  bool good = all_cases(r, &kept, &out, f);
  scope_end(&kept);
  free(out.names);
  free(out.tensors);
  if (!good) return false;
  event done = event_begin(r->id, r->id_length, "done");
  event_integer(&done, "cases", (int64_t)json_get(r->body, "cases")->length);
  event_send(&done);
  return true;
}
