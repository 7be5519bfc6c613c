#include "forward.h"

typedef struct pass {
  const model *m;
  const adapter *a;
  const batch *b;
  hxp_tape tape;
  scope *s;
  failure *f;
} pass;

/* Give a new tensor to the scope, or pass the failure on. */
static bool keep(pass *p, hxp_status status, const hxp_error *error, const hxp_tensor *out, const char *where) {
  if (!check(p->f, status, error, where)) return false;
  scope_tensor(p->s, *out);
  return true;
}

/* x (rows, in) → (rows, out), through the adapter where projection `which` is a target. */
static bool project(pass *p, int64_t layer_number, int which, hxp_tensor x, hxp_tensor *out) {
  hxp_error error = no_error();
  hxp_tensor w = p->m->layers[layer_number].projection[which];
  int64_t at = p->a != NULL ? p->a->at[layer_number][which] : -1;
  hxp_status status = at < 0 ? hxp_linear(p->tape, x, w, out, &error)
                             : hxp_lora_linear(p->tape, x, w, p->a->tensors[at], p->a->tensors[at + 1], p->a->scale, out, &error);
  return keep(p, status, &error, out, projection_names[which]);
}

static bool norm(pass *p, hxp_tensor x, hxp_tensor gain, hxp_tensor *out) {
  hxp_error error = no_error();
  return keep(p, hxp_rms_norm(p->tape, x, gain, p->m->shape.epsilon, out, &error), &error, out, "rms_norm");
}

static bool add(pass *p, hxp_tensor a, hxp_tensor b, hxp_tensor *out) {
  hxp_error error = no_error();
  return keep(p, hxp_add(p->tape, a, b, out, &error), &error, out, "add");
}

/* (rows, heads · width) → (rows, heads, width) */
static bool split(pass *p, hxp_tensor *x, int64_t heads) {
  hxp_error error = no_error();
  const int64_t sizes[3] = {p->b->rows, heads, p->m->shape.head_width};
  hxp_tensor out = 0;
  bool good = keep(p, hxp_reshape(p->tape, *x, 3, sizes, &out, &error), &error, &out, "reshape");
  *x = out;
  return good;
}

static bool rotate(pass *p, hxp_tensor *x) {
  hxp_error error = no_error();
  hxp_tensor out = 0;
  hxp_status status = hxp_rope(p->tape, *x, p->b->positions, (uint64_t)p->b->rows, p->m->shape.theta, &out, &error);
  *x = out;
  return keep(p, status, &error, &out, "rope");
}

/* x (rows, hidden) → its attention part (rows, hidden) */
static bool attend(pass *p, int64_t i, hxp_tensor x, hxp_tensor *out) {
  const shape *shape = &p->m->shape;
  const layer *l = &p->m->layers[i];
  hxp_tensor h, q, k, v, mixed = 0, flat = 0;
  if (!norm(p, x, l->input_norm, &h)) return false;
  if (!project(p, i, 0, h, &q) || !project(p, i, 1, h, &k) || !project(p, i, 2, h, &v)) return false;
  if (!split(p, &q, shape->heads) || !split(p, &k, shape->kv_heads) || !split(p, &v, shape->kv_heads)) return false;
  if (shape->qk_norm && (!norm(p, q, l->q_norm, &q) || !norm(p, k, l->k_norm, &k))) return false;
  if (!rotate(p, &q) || !rotate(p, &k)) return false;
  hxp_error error = no_error();
  hxp_status status = hxp_attention(p->tape, q, k, v, p->b->starts, (uint64_t)p->b->records + 1, 1, &mixed, &error);
  if (!keep(p, status, &error, &mixed, "attention")) return false;
  const int64_t sizes[2] = {p->b->rows, shape->heads * shape->head_width};
  if (!keep(p, hxp_reshape(p->tape, mixed, 2, sizes, &flat, &error), &error, &flat, "reshape")) return false;
  return project(p, i, 3, flat, out);
}

/* x (rows, hidden) → its feed-forward part (rows, hidden) */
static bool feed(pass *p, int64_t i, hxp_tensor x, hxp_tensor *out) {
  hxp_tensor h, gate, up, mixed = 0;
  if (!norm(p, x, p->m->layers[i].post_norm, &h)) return false;
  if (!project(p, i, 4, h, &gate) || !project(p, i, 5, h, &up)) return false;
  hxp_error error = no_error();
  if (!keep(p, hxp_swiglu(p->tape, gate, up, &mixed, &error), &error, &mixed, "swiglu")) return false;
  return project(p, i, 6, mixed, out);
}

bool forward(const model *m, const adapter *a, const batch *b, hxp_tape tape, scope *s, hxp_tensor *nll, failure *f) {
  pass p = {m, a, b, tape, s, f};
  hxp_error error = no_error();
  hxp_tensor x = 0, part, h;
  *nll = 0;
  if (!keep(&p, hxp_embedding(tape, m->embedding, b->ids, (uint64_t)b->rows, &x, &error), &error, &x, "embedding")) return false;
  for (int64_t i = 0; i < m->shape.layers; i++) {
    if (!attend(&p, i, x, &part) || !add(&p, x, part, &x)) return false;
    if (!feed(&p, i, x, &part) || !add(&p, x, part, &x)) return false;
  }
  if (!norm(&p, x, m->norm, &h)) return false;
  hxp_status status =
      hxp_linear_cross_entropy(tape, h, m->head, b->label_rows, b->targets, (uint64_t)b->labels, nll, &error);
  return keep(&p, status, &error, nll, "linear_cross_entropy");
}

bool record_losses(const batch *b, hxp_tensor nll, arena *memory, double *record_nll, failure *f) {
  float *values = arena_get(memory, (size_t)b->labels * sizeof *values + 1);
  hxp_error error = no_error();
  if (!check(f, hxp_tensor_read(nll, values, (uint64_t)b->labels * sizeof *values, &error), &error, "label losses")) return false;
  for (int64_t i = 0, label = 0; i < b->records; i++) {
    record_nll[i] = 0;
    for (int64_t t = 0; t < b->labels_of[i]; t++) record_nll[i] += (double)values[label++];
  }
  return true;
}
