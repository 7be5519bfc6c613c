#include "records.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_file(const char *path, arena *memory, char **bytes, size_t *length, failure *f) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return fail(f, "io", path, "%s", strerror(errno));
  size_t capacity = 1 << 16, used = 0;
  char *buffer = grow(NULL, capacity);
  for (size_t got; (got = fread(buffer + used, 1, capacity - used, file)) > 0;) {
    used += got;
    if (used == capacity) buffer = grow(buffer, capacity *= 2);
  }
  int broken = ferror(file) ? errno : 0;
  fclose(file);
  *bytes = arena_copy(memory, buffer, used);
  *length = used;
  free(buffer);
  return broken ? fail(f, "io", path, "%s", strerror(broken)) : true;
}

static bool take(const json *object, const char *key, bool required, const char **bytes, size_t *length, const char *where, failure *f) {
  const json *v = json_get(object, key);
  if (v == NULL && !required) return true;
  if (v == NULL) return fail(f, "record", where, "the key %s is missing", key);
  if (v->type != JSON_STRING) return fail(f, "record", where, "%s must be a string", key);
  *bytes = v->bytes;
  *length = v->length;
  return true;
}

static bool read_line(const char *line, size_t length, const char *where, arena *memory, record *out, failure *f) {
  json object;
  const char *problem;
  if (!json_read(memory, line, length, &object, &problem)) return fail(f, "record", where, "%s", problem);
  if (object.type != JSON_OBJECT) return fail(f, "record", where, "a record must be an object");
  return take(&object, "id", true, &out->id, &out->id_length, where, f) &&
         take(&object, "system", false, &out->system, &out->system_length, where, f) &&
         take(&object, "question", true, &out->question, &out->question_length, where, f) &&
         take(&object, "answer", true, &out->answer, &out->answer_length, where, f);
}

typedef struct named {
  const record *r;
  int64_t line;
} named;

static int by_id(const void *a, const void *b) {
  const record *x = ((const named *)a)->r, *y = ((const named *)b)->r;
  int order = memcmp(x->id, y->id, x->id_length < y->id_length ? x->id_length : y->id_length);
  if (order == 0) order = (x->id_length > y->id_length) - (x->id_length < y->id_length);
  return order ? order : (((const named *)a)->line > ((const named *)b)->line) * 2 - 1;
}

static bool ids_distinct(const char *path, const records *all, arena *memory, failure *f) {
  named *sorted = arena_get(memory, (size_t)all->count * sizeof *sorted + 1);
  for (int64_t i = 0; i < all->count; i++) sorted[i] = (named){&all->items[i], i + 1};
  qsort(sorted, (size_t)all->count, sizeof *sorted, by_id);
  for (int64_t i = 1; i < all->count; i++) {
    const record *a = sorted[i - 1].r, *b = sorted[i].r;
    if (a->id_length == b->id_length && memcmp(a->id, b->id, a->id_length) == 0)
      return fail(f, "record", arena_format(memory, "%s:%lld", path, (long long)sorted[i].line), "the id %.200s stands in line %lld too",
                  b->id, (long long)sorted[i - 1].line);
  }
  return true;
}

bool records_read(const char *path, arena *memory, records *out, failure *f) {
  char *bytes = NULL;
  size_t length = 0;
  if (!read_file(path, memory, &bytes, &length, f)) return false;
  int64_t lines = length > 0 && bytes[length - 1] != '\n';
  for (size_t i = 0; i < length; i++) lines += bytes[i] == '\n';
  *out = (records){arena_get(memory, (size_t)lines * sizeof(record) + 1), lines};
  const char *at = bytes, *end = bytes + length;
  for (int64_t i = 0; i < lines; i++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
    if (!read_line(at, (size_t)(stop - at), arena_format(memory, "%s:%lld", path, (long long)(i + 1)), memory, &out->items[i], f))
      return false;
    at = stop + 1;
  }
  return ids_distinct(path, out, memory, f);
}
