#include "load.h"

#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "render.h"

static int by_name(const void *a, const void *b) { return strcmp(((const slot *)a)->name, ((const slot *)b)->name); }

/* Read one weight, say its digest, let it go. */
static bool send_weight(const request *r, hxp_checkpoint reader, uint64_t index, hxp_context context, int64_t *parameters, failure *f) {
  hxp_error error = no_error();
  hxp_checkpoint_entry entry;
  hxp_checkpoint_entry_init(&entry);
  hxp_tensor tensor;
  char digest[65];
  if (!check(f, hxp_checkpoint_describe(reader, index, &entry, &error), &error, "load")) return false;
  if (!check(f, hxp_checkpoint_read(reader, index, context, &tensor, &error), &error, entry.name)) return false;
  hxp_status status = hxp_tensor_digest(&tensor, 1, digest, sizeof digest, &error);
  hxp_tensor_release(tensor, NULL);
  if (!check(f, status, &error, entry.name)) return false;
  *parameters += (int64_t)entry.elements;
  event e = event_begin(r->id, r->id_length, "tensor");
  event_string(&e, "name", entry.name);
  event_key(&e, "shape");
  for (uint32_t i = 0; i < entry.rank; i++) text_format(&e.line, "%s%lld", i ? "," : "[", (long long)entry.shape[i]);
  text_string(&e.line, entry.rank ? "]" : "[]");
  event_string(&e, "dtype", entry.dtype);
  event_string(&e, "digest", digest);
  event_send(&e);
  return true;
}

static bool load(const request *r, scope *s, int64_t *tensors, int64_t *parameters, failure *f) {
  if (!request_keys(r->body, "request", "protocol:i id:s request:s context:o model:s", f)) return false;
  hxp_context context;
  hxp_checkpoint reader;
  model m = {0};
  const char *folder = request_text(r, "model");
  if (!request_context(r, s, &context, f) || !shape_read(folder, r->memory, &m.shape, f)) return false;
  slot *slots = model_slots(&m, r->memory, tensors);
  uint64_t *index = arena_get(r->memory, (size_t)*tensors * sizeof *index);
  if (!model_open(folder, &m, slots, *tensors, r->memory, s, context, &reader, index, f)) return false;
  qsort(slots, (size_t)*tensors, sizeof *slots, by_name);
  hxp_error error = no_error();
  for (int64_t i = 0; i < *tensors; i++) {
    uint64_t at;
    if (!check(f, hxp_checkpoint_find(reader, slots[i].name, &at, &error), &error, slots[i].name)) return false;
    if (!send_weight(r, reader, at, context, parameters, f)) return false;
  }
  return true;
}

bool handle_load(const request *r, failure *f) {
  scope s = {0};
  int64_t tensors = 0, parameters = 0;
  bool good = load(r, &s, &tensors, &parameters, f);
  scope_end(&s);
  if (!good) return false;
  event done = event_begin(r->id, r->id_length, "done");
  event_integer(&done, "tensors", tensors);
  event_integer(&done, "parameters", parameters);
  event_send(&done);
  return true;
}

static void send_record(const request *r, const record *one, const rendered *seen) {
  event e = event_begin(r->id, r->id_length, "record");
  event_bytes(&e, "record", one->id, one->id_length);
  if (seen->why != ACCEPTED) {
    event_string(&e, "rejected", rejection_names[seen->why]);
  } else {
    event_key(&e, "ids");
    for (int64_t i = 0; i < seen->length; i++) text_format(&e.line, "%s%d", i ? "," : "[", (int)seen->ids[i]);
    text_string(&e.line, "]");
    event_key(&e, "labels");
    text_string(&e.line, "\"");
    for (int64_t i = 0; i < seen->length; i++) text_string(&e.line, seen->flags[i] ? "1" : "0");
    text_string(&e.line, "\"");
  }
  event_send(&e);
}

static bool render_all(const request *r, scope *s, tally *counts, failure *f) {
  if (!request_keys(r->body, "request", "protocol:i id:s request:s tokenizer:s records:s template:s length:i", f)) return false;
  int64_t length;
  bool chatml;
  json_integer(json_get(r->body, "length"), &length);
  if (length < 2) return fail(f, "request", "length", "%lld is below 2", (long long)length);
  if (!template_read(json_get(r->body, "template"), &chatml)) return fail(f, "request", "template", "template must be qwen3 or chatml");
  renderer marks;
  records all;
  if (!renderer_open(request_text(r, "tokenizer"), chatml, length, r->memory, s, &marks, f)) return false;
  if (!records_read(request_text(r, "records"), r->memory, &all, f)) return false;
  for (int64_t i = 0; i < all.count; i++) {
    arena host = {0};
    rendered seen;
    bool good = render(&marks, &all.items[i], &host, &seen, counts, f);
    if (good) send_record(r, &all.items[i], &seen);
    arena_end(&host);
    if (!good) return false;
  }
  return true;
}

bool handle_render(const request *r, failure *f) {
  scope s = {0};
  tally counts = {0};
  bool good = render_all(r, &s, &counts, f);
  scope_end(&s);
  if (!good) return false;
  event done = event_begin(r->id, r->id_length, "done");
  event_integer(&done, "accepted", counts.accepted);
  tally_write(&done, &counts);
  event_integer(&done, "markers", counts.markers);
  event_send(&done);
  return true;
}
