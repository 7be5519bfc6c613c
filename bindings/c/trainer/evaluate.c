#include "evaluate.h"

#include <math.h>

bool evaluate(const model *m, const adapter *a, const rendered *items, int64_t count, int64_t micro_batch, bool leak, arena *memory,
              evaluation *out, failure *f) {
  *out = (evaluation){.records = count, .record_nll = arena_get(memory, (size_t)count * sizeof(double) + 1)};
  scope temporaries = {0};
  arena host = {0};
  bool good = true;
  for (int64_t first = 0; good && first < count; first += micro_batch) {
    int64_t size = count - first < micro_batch ? count - first : micro_batch;
    const rendered **chosen = arena_get(&host, (size_t)size * sizeof *chosen);
    for (int64_t i = 0; i < size; i++) chosen[i] = &items[first + i];
    batch b;
    hxp_tensor nll;
    batch_pack(chosen, size, &host, &b);
    good = forward(m, a, &b, 0, &temporaries, &nll, f) && record_losses(&b, nll, &host, out->record_nll + first, f);
    out->labels += b.labels;
    if (leak) scope_leak(&temporaries);
    scope_close(&temporaries);
    arena_end(&host);
  }
  scope_end(&temporaries);
  for (int64_t i = 0; i < count; i++) out->total += out->record_nll[i];
  out->loss = out->total / (double)out->labels;
  return good;
}

void evaluation_send(const request *r, int64_t step, const evaluation *e, const char *digest) {
  event v = event_begin(r->id, r->id_length, "evaluation");
  event_integer(&v, "step", step);
  event_boolean(&v, "adapter", digest != NULL);
  event_number_bits(&v, "loss", e->loss);
  event_number_bits(&v, "total", e->total);
  event_integer(&v, "labels", e->labels);
  event_key(&v, "record_nll");
  for (int64_t i = 0; i < e->records; i++) {
    text_string(&v.line, i ? "," : "[");
    text_number(&v.line, e->record_nll[i]);
  }
  text_string(&v.line, "]");
  if (digest != NULL) event_string(&v, "adapter_digest", digest);
  else event_null(&v, "adapter_digest");
  event_send(&v);
}

bool render_file(const renderer *r, const char *path, arena *memory, rendered **items, int64_t *count, tally *counts, failure *f) {
  records all;
  if (!records_read(path, memory, &all, f)) return false;
  *items = arena_get(memory, (size_t)all.count * sizeof **items + 1);
  *count = 0;
  for (int64_t i = 0; i < all.count; i++) {
    rendered *one = &(*items)[*count];
    if (!render(r, &all.items[i], memory, one, counts, f)) return false;
    if (one->why == ACCEPTED) ++*count;
  }
  return *count > 0 ? true : fail(f, "record", path, "of %lld records none is accepted", (long long)all.count);
}

static bool run(const request *r, scope *s, failure *f) {
  spec plan;
  if (!request_keys(r->body, "request", "protocol:i id:s request:s context:o spec:o model:s tokenizer:s heldout:s adapter:s?", f)) return false;
  if (!spec_read(json_get(r->body, "spec"), &plan, f)) return false;
  hxp_context context;
  model m;
  renderer marks;
  rendered *items;
  int64_t count;
  tally counts = {0};
  const char *folder = request_text(r, "adapter");
  if (!request_context(r, s, &context, f)) return false;
  if (!renderer_open(request_text(r, "tokenizer"), plan.chatml, plan.length, r->memory, s, &marks, f)) return false;
  if (!render_file(&marks, request_text(r, "heldout"), r->memory, &items, &count, &counts, f)) return false;
  if (!model_load(request_text(r, "model"), context, r->memory, s, &m, f)) return false;
  adapter a;
  char digest[65] = "";
  if (folder != NULL) {
    adapter_plan(&m.shape, &plan, r->memory, &a);
    if (!adapter_config_check(folder, &plan, r->memory, f) || !adapter_load(folder, context, r->memory, s, &a, f)) return false;
    hxp_error error = no_error();
    if (!check(f, hxp_tensor_digest(a.tensors, (uint64_t)a.count, digest, sizeof digest, &error), &error, "adapter")) return false;
  }
  evaluation e;
  if (!evaluate(&m, folder ? &a : NULL, items, count, plan.micro_batch, false, r->memory, &e, f)) return false;
  evaluation_send(r, 0, &e, folder ? digest : NULL);
  return isfinite(e.total) ? true : fail(f, "non_finite", "update 0", "the held-out loss is not finite");
}

bool handle_evaluate(const request *r, failure *f) {
  scope s = {0};
  bool good = run(r, &s, f);
  scope_end(&s);
  if (!good) return false;
  event done = event_begin(r->id, r->id_length, "done");
  event_send(&done);
  return true;
}
