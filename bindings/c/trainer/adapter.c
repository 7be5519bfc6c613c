#include "adapter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void adapter_plan(const shape *shape, const spec *spec, arena *memory, adapter *out) {
  size_t most = (size_t)shape->layers * PROJECTIONS * 2;
  *out = (adapter){0, arena_get(memory, most * sizeof *out->names), arena_get(memory, most * sizeof *out->tensors),
                   arena_get(memory, most * sizeof *out->slots), arena_get(memory, (size_t)shape->layers * sizeof *out->at),
                   spec->alpha / (double)spec->rank};
  for (int64_t i = 0; i < shape->layers; i++)
    for (int p = 0; p < PROJECTIONS; p++) {
      out->at[i][p] = -1;
      if (!spec->target[p]) continue;
      int64_t rows, columns, n = out->count;
      projection_sizes(shape, p, &rows, &columns);
      out->at[i][p] = n;
      for (int b = 0; b < 2; b++)
        out->names[n + b] = arena_format(memory, "base_model.model.model.layers.%lld.%s.%s.lora_%c.weight", (long long)i,
                                         p < 4 ? "self_attn" : "mlp", projection_names[p], b ? 'B' : 'A');
      out->slots[n] = (slot){out->names[n], 2, {spec->rank, columns}, &out->tensors[n]};
      out->slots[n + 1] = (slot){out->names[n + 1], 2, {rows, spec->rank}, &out->tensors[n + 1]};
      out->count += 2;
    }
}

bool adapter_config_check(const char *folder, const spec *spec, arena *memory, failure *f) {
  const char *path = arena_format(memory, "%s/adapter_config.json", folder);
  FILE *file = fopen(path, "rb");
  if (file == NULL) return fail(f, "checkpoint", path, "%s", strerror(errno));
  char *bytes = arena_get(memory, 1 << 20);
  size_t length = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  json config;
  const char *problem;
  if (!json_read(memory, bytes, length, &config, &problem)) return fail(f, "checkpoint", path, "%s", problem);
  if (config.type != JSON_OBJECT) return fail(f, "checkpoint", path, "the configuration must be an object");
  const json *r = json_get(&config, "r"), *alpha = json_get(&config, "lora_alpha");
  if (r == NULL || r->type != JSON_NUMBER || r->number != (double)spec->rank)
    return fail(f, "checkpoint", path, "r must be the spec's rank, %lld", (long long)spec->rank);
  if (alpha == NULL || alpha->type != JSON_NUMBER || alpha->number != spec->alpha)
    return fail(f, "checkpoint", path, "lora_alpha must be the spec's alpha, %.17g", spec->alpha);
  return true;
}

bool tensors_load(const char *path, const slot *slots, int64_t count, hxp_context context, arena *memory, scope *s,
                  hxp_checkpoint *reader_out, failure *f) {
  hxp_error error = no_error();
  hxp_checkpoint reader;
  if (!check(f, hxp_checkpoint_open(path, &reader, &error), &error, path)) return false;
  uint64_t *index = arena_get(memory, (size_t)count * sizeof *index + 1);
  bool good = names_match(reader, path, slots, count, NULL, memory, index, f);
  for (int64_t i = 0; good && i < count; i++) {
    good = check(f, hxp_checkpoint_read(reader, index[i], context, slots[i].place, &error), &error, slots[i].name);
    if (good) scope_tensor(s, *slots[i].place);
  }
  if (good && reader_out != NULL) *reader_out = reader;
  else hxp_checkpoint_release(reader, NULL);
  return good;
}

bool adapter_load(const char *folder, hxp_context context, arena *memory, scope *s, adapter *a, failure *f) {
  return tensors_load(arena_format(memory, "%s/adapter_model.safetensors", folder), a->slots, a->count, context, memory, s, NULL, f);
}

bool adapter_zeros(const adapter *a, hxp_context context, scope *s, hxp_tensor *places, failure *f) {
  for (int64_t i = 0; i < a->count; i++) {
    hxp_error error = no_error();
    hxp_status status = hxp_tensor_create(context, HXP_DTYPE_F32, 2, a->slots[i].sizes, &places[i], &error);
    if (!check(f, status, &error, a->names[i])) return false;
    scope_tensor(s, places[i]);
  }
  return true;
}
