#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_config(const char *path, arena *memory, json *out, failure *f) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return fail(f, "checkpoint", path, "%s", strerror(errno));
  char *bytes = arena_get(memory, 1 << 20);
  size_t length = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  const char *problem;
  if (!json_read(memory, bytes, length, out, &problem)) return fail(f, "checkpoint", path, "%s", problem);
  return out->type == JSON_OBJECT ? true : fail(f, "checkpoint", path, "the configuration must be an object");
}

static bool size_of(const json *config, const char *key, const char *path, int64_t *out, failure *f) {
  const json *v = json_get(config, key);
  if (v == NULL || v->type == JSON_NULL) return fail(f, "checkpoint", path, "the key %s is missing; it is read, never derived", key);
  if (!json_integer(v, out) || *out < 1 || *out > 1 << 30) return fail(f, "checkpoint", path, "%s must be an integer from 1", key);
  return true;
}

static bool number_of(const json *config, const char *key, const char *path, double *out, failure *f) {
  const json *v = json_get(config, key), *rope = json_get(config, "rope_parameters");
  if (v == NULL && rope != NULL && rope->type == JSON_OBJECT) v = json_get(rope, key); /* where newer files keep the rope's theta */
  if (v == NULL || v->type != JSON_NUMBER || v->number <= 0) return fail(f, "checkpoint", path, "%s must be a number above 0", key);
  *out = v->number;
  return true;
}

static bool absent_or(const json *v, json_type type) { return v == NULL || v->type == JSON_NULL || v->type == type; }

static bool supported(const json *c, const char *path, failure *f) {
  const char *quantized = json_get(c, "quantization") ? "quantization" : json_get(c, "quantization_config") ? "quantization_config" : NULL;
  if (quantized) return fail(f, "checkpoint", path, "%s is set: packed weights are not float weights; give the unquantised model", quantized);
  if (!absent_or(json_get(c, "rope_scaling"), JSON_NULL)) return fail(f, "checkpoint", path, "rope_scaling is set; only plain rope is known");
  const json *rope = json_get(c, "rope_parameters"), *kind = rope && rope->type == JSON_OBJECT ? json_get(rope, "rope_type") : NULL;
  if (kind != NULL && !json_is(kind, "default")) return fail(f, "checkpoint", path, "rope_type is not default; only plain rope is known");
  if (!absent_or(json_get(c, "attention_bias"), JSON_FALSE) || !absent_or(json_get(c, "mlp_bias"), JSON_FALSE))
    return fail(f, "checkpoint", path, "the model has biases; none are known");
  const json *act = json_get(c, "hidden_act");
  if (act != NULL && !json_is(act, "silu")) return fail(f, "checkpoint", path, "hidden_act is not silu");
  return absent_or(json_get(c, "use_sliding_window"), JSON_FALSE) ? true
                                                                   : fail(f, "checkpoint", path, "use_sliding_window is set; it is not known");
}

bool shape_read(const char *folder, arena *memory, shape *out, failure *f) {
  const char *path = arena_format(memory, "%s/config.json", folder);
  json c;
  if (!read_config(path, memory, &c, f) || !supported(&c, path, f)) return false;
  *out = (shape){0};
  const json *kind = json_get(&c, "model_type"), *tied = json_get(&c, "tie_word_embeddings");
  out->qk_norm = kind != NULL && json_is(kind, "qwen3");
  if (!out->qk_norm && (kind == NULL || !json_is(kind, "llama"))) return fail(f, "checkpoint", path, "model_type must be qwen3 or llama");
  if (tied == NULL || (tied->type != JSON_TRUE && tied->type != JSON_FALSE))
    return fail(f, "checkpoint", path, "tie_word_embeddings must be true or false");
  out->tied = tied->type == JSON_TRUE;
  if (!size_of(&c, "num_hidden_layers", path, &out->layers, f) || !size_of(&c, "hidden_size", path, &out->hidden, f) ||
      !size_of(&c, "num_attention_heads", path, &out->heads, f) || !size_of(&c, "num_key_value_heads", path, &out->kv_heads, f) ||
      !size_of(&c, "head_dim", path, &out->head_width, f) || !size_of(&c, "intermediate_size", path, &out->intermediate, f) ||
      !size_of(&c, "vocab_size", path, &out->vocabulary, f) || !number_of(&c, "rms_norm_eps", path, &out->epsilon, f) ||
      !number_of(&c, "rope_theta", path, &out->theta, f))
    return false;
  return out->heads % out->kv_heads == 0
             ? true
             : fail(f, "checkpoint", path, "%lld query heads do not divide among %lld key heads", (long long)out->heads, (long long)out->kv_heads);
}

void projection_sizes(const shape *s, int p, int64_t *rows, int64_t *columns) {
  int64_t q = s->heads * s->head_width, kv = s->kv_heads * s->head_width;
  const int64_t row[PROJECTIONS] = {q, kv, kv, s->hidden, s->intermediate, s->intermediate, s->hidden};
  const int64_t column[PROJECTIONS] = {s->hidden, s->hidden, s->hidden, q, s->hidden, s->hidden, s->intermediate};
  *rows = row[p];
  *columns = column[p];
}

slot *model_slots(model *m, arena *memory, int64_t *count) {
  const shape *s = &m->shape;
  m->layers = arena_get(memory, (size_t)s->layers * sizeof *m->layers);
  slot *slots = arena_get(memory, (size_t)(s->layers * 11 + 3) * sizeof *slots);
  int64_t n = 0;
  slots[n++] = (slot){"model.embed_tokens.weight", 2, {s->vocabulary, s->hidden}, &m->embedding};
  slots[n++] = (slot){"model.norm.weight", 1, {s->hidden, 0}, &m->norm};
  if (!s->tied) slots[n++] = (slot){"lm_head.weight", 2, {s->vocabulary, s->hidden}, &m->head};
  for (int64_t i = 0; i < s->layers; i++) {
    layer *l = &m->layers[i];
    long long number = (long long)i;
    slots[n++] = (slot){arena_format(memory, "model.layers.%lld.input_layernorm.weight", number), 1, {s->hidden, 0}, &l->input_norm};
    slots[n++] = (slot){arena_format(memory, "model.layers.%lld.post_attention_layernorm.weight", number), 1, {s->hidden, 0}, &l->post_norm};
    if (s->qk_norm) {
      slots[n++] = (slot){arena_format(memory, "model.layers.%lld.self_attn.q_norm.weight", number), 1, {s->head_width, 0}, &l->q_norm};
      slots[n++] = (slot){arena_format(memory, "model.layers.%lld.self_attn.k_norm.weight", number), 1, {s->head_width, 0}, &l->k_norm};
    }
    for (int p = 0; p < PROJECTIONS; p++) {
      slot *one = &slots[n++];
      *one = (slot){arena_format(memory, "model.layers.%lld.%s.%s.weight", number, p < 4 ? "self_attn" : "mlp", projection_names[p]), 2,
                    {0, 0}, &l->projection[p]};
      projection_sizes(s, p, &one->sizes[0], &one->sizes[1]);
    }
  }
  *count = n;
  return slots;
}

static const char *sizes_text(arena *memory, uint32_t rank, const int64_t *sizes) {
  text t = {0};
  for (uint32_t i = 0; i < rank; i++) text_format(&t, "%s%lld", i ? ", " : "[", (long long)sizes[i]);
  text_string(&t, rank ? "]" : "[]");
  char *copy = arena_copy(memory, t.bytes, t.length);
  text_end(&t);
  return copy;
}

static int slot_by_name(const void *a, const void *b) { return strcmp(((const slot *)a)->name, ((const slot *)b)->name); }

/* How many of the checkpoint's names no slot asks for, and the first of them. */
static bool unexpected(hxp_checkpoint reader, const char *where, const slot *slots, int64_t count, const char *optional, arena *memory,
                       int64_t *number, const char **first, failure *f) {
  slot *sorted = arena_get(memory, (size_t)count * sizeof *sorted);
  memcpy(sorted, slots, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, slot_by_name);
  hxp_error error = no_error();
  uint64_t entries;
  if (!check(f, hxp_checkpoint_count(reader, &entries, &error), &error, where)) return false;
  for (uint64_t i = 0; i < entries; i++) {
    hxp_checkpoint_entry entry;
    hxp_checkpoint_entry_init(&entry);
    if (!check(f, hxp_checkpoint_describe(reader, i, &entry, &error), &error, where)) return false;
    slot key = {.name = entry.name};
    if (bsearch(&key, sorted, (size_t)count, sizeof *sorted, slot_by_name) || (optional && strcmp(optional, entry.name) == 0)) continue;
    if ((*number)++ == 0) *first = arena_copy(memory, entry.name, strlen(entry.name));
  }
  return true;
}

bool names_match(hxp_checkpoint reader, const char *where, const slot *slots, int64_t count, const char *optional, arena *memory,
                 uint64_t *index, failure *f) {
  int64_t missing = 0, extra = 0, misshapen = 0;
  const char *first_missing = "", *first_extra = "", *first_shape = "";
  for (int64_t i = 0; i < count; i++) {
    hxp_error error = no_error();
    hxp_status status = hxp_checkpoint_find(reader, slots[i].name, &index[i], &error);
    if (status == HXP_NOT_FOUND) {
      if (missing++ == 0) first_missing = slots[i].name;
      continue;
    }
    hxp_checkpoint_entry entry;
    hxp_checkpoint_entry_init(&entry);
    if (!check(f, status, &error, where) || !check(f, hxp_checkpoint_describe(reader, index[i], &entry, &error), &error, where)) return false;
    if (entry.rank == slots[i].rank && memcmp(entry.shape, slots[i].sizes, entry.rank * sizeof(int64_t)) == 0) continue;
    if (misshapen++ == 0)
      first_shape = arena_format(memory, "%s is %s, not %s", slots[i].name, sizes_text(memory, entry.rank, entry.shape),
                                 sizes_text(memory, slots[i].rank, slots[i].sizes));
  }
  if (!unexpected(reader, where, slots, count, optional, memory, &extra, &first_extra, f)) return false;
  if (missing == 0 && extra == 0 && misshapen == 0) return true;
  return fail(f, "checkpoint", where, "of %lld tensors %lld are missing%s%s, %lld unexpected%s%s, %lld of another shape%s%s", (long long)count,
              (long long)missing, missing ? ", first " : "", first_missing, (long long)extra, extra ? ", first " : "", first_extra,
              (long long)misshapen, misshapen ? ": " : "", first_shape);
}

/* A tied model that stores a head too must store the embedding's values. */
static bool head_equals(hxp_checkpoint reader, uint64_t embedding, const char *folder, hxp_context context, failure *f) {
  hxp_error error = no_error();
  uint64_t head;
  hxp_status status = hxp_checkpoint_find(reader, "lm_head.weight", &head, &error);
  if (status == HXP_NOT_FOUND) return true;
  if (!check(f, status, &error, folder)) return false;
  char digest[2][65];
  const uint64_t index[2] = {embedding, head};
  for (int i = 0; i < 2; i++) {
    hxp_tensor tensor;
    if (!check(f, hxp_checkpoint_read(reader, index[i], context, &tensor, &error), &error, folder)) return false;
    status = hxp_tensor_digest(&tensor, 1, digest[i], sizeof digest[i], &error);
    hxp_tensor_release(tensor, NULL);
    if (!check(f, status, &error, folder)) return false;
  }
  return strcmp(digest[0], digest[1]) == 0
             ? true
             : fail(f, "checkpoint", folder, "lm_head.weight differs from model.embed_tokens.weight though tie_word_embeddings is true");
}

bool model_open(const char *folder, model *m, const slot *slots, int64_t count, arena *memory, scope *s, hxp_context context,
                hxp_checkpoint *reader, uint64_t *index, failure *f) {
  hxp_error error = no_error();
  if (!check(f, hxp_checkpoint_open(folder, reader, &error), &error, folder)) return false;
  scope_own(s, *reader, hxp_checkpoint_release);
  return names_match(*reader, folder, slots, count, m->shape.tied ? "lm_head.weight" : NULL, memory, index, f) &&
         (!m->shape.tied || head_equals(*reader, index[0], folder, context, f));
}

bool model_load(const char *folder, hxp_context context, arena *memory, scope *s, model *out, failure *f) {
  *out = (model){0};
  if (!shape_read(folder, memory, &out->shape, f)) return false;
  int64_t count;
  slot *slots = model_slots(out, memory, &count);
  uint64_t *index = arena_get(memory, (size_t)count * sizeof *index);
  scope files = {0};
  hxp_checkpoint reader;
  bool good = model_open(folder, out, slots, count, memory, &files, context, &reader, index, f);
  for (int64_t i = 0; good && i < count; i++) {
    hxp_error error = no_error();
    good = check(f, hxp_checkpoint_read(reader, index[i], context, slots[i].place, &error), &error, slots[i].name);
    if (good) scope_tensor(s, *slots[i].place);
  }
  scope_end(&files);
  if (out->shape.tied) out->head = out->embedding;
  return good;
}
