#include "checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool state_start(state *st, hxp_context context, arena *memory, scope *s, failure *f) {
  st->exp_avg = arena_get(memory, (size_t)st->a.count * sizeof *st->exp_avg);
  st->exp_avg_sq = arena_get(memory, (size_t)st->a.count * sizeof *st->exp_avg_sq);
  return adapter_zeros(&st->a, context, s, st->exp_avg, f) && adapter_zeros(&st->a, context, s, st->exp_avg_sq, f);
}

/* Names of the optimizer's tensors, exp_avg and exp_avg_sq of each, and the slots they go to. */
static slot *optimizer_slots(const state *st, arena *memory) {
  slot *slots = arena_get(memory, (size_t)st->a.count * 2 * sizeof *slots);
  for (int64_t i = 0; i < st->a.count; i++) {
    slots[2 * i] = slots[2 * i + 1] = st->a.slots[i];
    slots[2 * i].name = arena_format(memory, "exp_avg.%s", st->a.names[i]);
    slots[2 * i].place = &st->exp_avg[i];
    slots[2 * i + 1].name = arena_format(memory, "exp_avg_sq.%s", st->a.names[i]);
    slots[2 * i + 1].place = &st->exp_avg_sq[i];
  }
  return slots;
}

static bool metadata(hxp_checkpoint reader, const char *path, const char *key, char *out, size_t size, failure *f) {
  hxp_error error = no_error();
  hxp_status status = hxp_checkpoint_metadata(reader, key, out, size, &error);
  return status == HXP_NOT_FOUND ? fail(f, "checkpoint", path, "the metadata %s is missing", key) : check(f, status, &error, path);
}

static bool check_metadata(hxp_checkpoint reader, const char *path, const char *spec_digest, int64_t *update, failure *f) {
  char number[32], digest[256], *end;
  if (!metadata(reader, path, "update", number, sizeof number, f) || !metadata(reader, path, "spec_digest", digest, sizeof digest, f))
    return false;
  *update = strtoll(number, &end, 10);
  if (*end != 0 || end == number || *update < 1) return fail(f, "checkpoint", path, "the metadata update is %s, not a number from 1", number);
  if (strcmp(digest, spec_digest) != 0)
    return fail(f, "checkpoint", path, "it was made by the spec %s, this run has %s", digest, spec_digest);
  return true;
}

bool state_resume(state *st, const char *folder, const char *spec_digest, hxp_context context, arena *memory, scope *s, int64_t *update,
                  failure *f) {
  st->exp_avg = arena_get(memory, (size_t)st->a.count * sizeof *st->exp_avg);
  st->exp_avg_sq = arena_get(memory, (size_t)st->a.count * sizeof *st->exp_avg_sq);
  const char *path = arena_format(memory, "%s/optimizer.safetensors", folder);
  hxp_checkpoint reader;
  if (!adapter_load(folder, context, memory, s, &st->a, f)) return false;
  if (!tensors_load(path, optimizer_slots(st, memory), 2 * st->a.count, context, memory, s, &reader, f)) return false;
  bool good = check_metadata(reader, path, spec_digest, update, f);
  hxp_checkpoint_release(reader, NULL);
  return good;
}

bool adapter_digest(const state *st, char out[65], failure *f) {
  hxp_error error = no_error();
  return check(f, hxp_tensor_digest(st->a.tensors, (uint64_t)st->a.count, out, 65, &error), &error, "adapter");
}

static hxp_tensor *optimizer_tensors(const state *st, arena *memory) {
  hxp_tensor *all = arena_get(memory, (size_t)st->a.count * 2 * sizeof *all);
  for (int64_t i = 0; i < st->a.count; i++) all[2 * i] = st->exp_avg[i], all[2 * i + 1] = st->exp_avg_sq[i];
  return all;
}

bool optimizer_digest(const state *st, arena *memory, char out[65], failure *f) {
  hxp_error error = no_error();
  return check(f, hxp_tensor_digest(optimizer_tensors(st, memory), (uint64_t)st->a.count * 2, out, 65, &error), &error, "optimizer");
}

bool output_make(const char *path, arena *memory, failure *f) {
  char *copy = arena_copy(memory, path, strlen(path));
  for (char *at = copy + 1;; at++) {
    char kept = *at;
    if (kept != '/' && kept != 0) continue;
    *at = 0;
    if (mkdir(copy, 0777) != 0 && errno != EEXIST) return fail(f, "io", copy, "%s", strerror(errno));
    *at = kept;
    if (kept == 0) return true;
  }
}

const char *checkpoint_path(const char *output, int64_t update, arena *memory) {
  return arena_format(memory, "%s/checkpoint-%06lld", output, (long long)update);
}

bool checkpoint_free(const char *path, failure *f) {
  struct stat there;
  return lstat(path, &there) == 0 ? fail(f, "io", path, "it exists already; name another output folder") : true;
}

/* Remove a left-over `.partial`: a folder of plain files. */
static bool remove_partial(const char *path, arena *memory, failure *f) {
  DIR *folder = opendir(path);
  if (folder == NULL) return errno == ENOENT ? true : fail(f, "io", path, "%s", strerror(errno));
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlink(arena_format(memory, "%s/%s", path, entry->d_name));
  closedir(folder);
  return rmdir(path) == 0 ? true : fail(f, "io", path, "%s", strerror(errno));
}

static bool copy_file(const char *from, const char *to, failure *f) {
  char bytes[4096];
  FILE *in = fopen(from, "rb");
  if (in == NULL) return fail(f, "io", from, "%s", strerror(errno));
  FILE *out = fopen(to, "wb");
  if (out == NULL) {
    fclose(in);
    return fail(f, "io", to, "%s", strerror(errno));
  }
  bool good = true;
  for (size_t got; good && (got = fread(bytes, 1, sizeof bytes, in)) > 0;) good = fwrite(bytes, 1, got, out) == got;
  good = good && !ferror(in);
  if (fclose(out) != 0) good = false;
  fclose(in);
  return good ? true : fail(f, "io", to, "%s", strerror(errno));
}

static bool write_files(const state *st, const char *partial, const char *initial, const char *spec_digest, int64_t update,
                        arena *memory, failure *f) {
  hxp_error error = no_error();
  const char *path = arena_format(memory, "%s/adapter_model.safetensors", partial);
  hxp_status status = hxp_checkpoint_write(path, st->a.names, st->a.tensors, (uint64_t)st->a.count, NULL, NULL, 0, &error);
  if (!check(f, status, &error, path)) return false;
  if (!copy_file(arena_format(memory, "%s/adapter_config.json", initial), arena_format(memory, "%s/adapter_config.json", partial), f))
    return false;
  slot *slots = optimizer_slots(st, memory);
  const char **names = arena_get(memory, (size_t)st->a.count * 2 * sizeof *names);
  for (int64_t i = 0; i < 2 * st->a.count; i++) names[i] = slots[i].name;
  const char *keys[] = {"update", "spec_digest"}, *values[] = {arena_format(memory, "%lld", (long long)update), spec_digest};
  path = arena_format(memory, "%s/optimizer.safetensors", partial);
  status = hxp_checkpoint_write(path, names, optimizer_tensors(st, memory), (uint64_t)st->a.count * 2, keys, values, 2, &error);
  return check(f, status, &error, path);
}

bool checkpoint_save(const state *st, const char *path, const char *initial, const char *spec_digest, int64_t update, arena *memory,
                     failure *f) {
  const char *partial = arena_format(memory, "%s.partial", path);
  if (!remove_partial(partial, memory, f)) return false;
  if (mkdir(partial, 0777) != 0) return fail(f, "io", partial, "%s", strerror(errno));
  if (!write_files(st, partial, initial, spec_digest, update, memory, f)) return false;
  hxp_error error = no_error();
  return check(f, hxp_checkpoint_commit(partial, path, &error), &error, path);
}
