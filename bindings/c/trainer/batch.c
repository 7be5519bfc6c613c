#include "batch.h"

const uint64_t BATCH_DIGEST_START = 0xCBF29CE484222325u;

void batch_pack(const rendered *const *items, int64_t count, arena *memory, batch *out) {
  *out = (batch){.records = count};
  for (int64_t i = 0; i < count; i++) out->rows += items[i]->length, out->labels += items[i]->labels;
  out->ids = arena_get(memory, (size_t)out->rows * sizeof *out->ids + 1);
  out->positions = arena_get(memory, (size_t)out->rows * sizeof *out->positions + 1);
  out->starts = arena_get(memory, (size_t)(count + 1) * sizeof *out->starts);
  out->label_rows = arena_get(memory, (size_t)out->labels * sizeof *out->label_rows + 1);
  out->targets = arena_get(memory, (size_t)out->labels * sizeof *out->targets + 1);
  out->labels_of = arena_get(memory, (size_t)count * sizeof *out->labels_of + 1);
  int64_t row = 0, label = 0;
  for (int64_t i = 0; i < count; i++) {
    const rendered *one = items[i];
    out->starts[i] = (int32_t)row;
    out->labels_of[i] = one->labels;
    for (int64_t t = 0; t < one->length; t++, row++) {
      out->ids[row] = one->ids[t];
      out->positions[row] = (int32_t)t;
      if (!one->flags[t]) continue;
      out->label_rows[label] = (int32_t)(row - 1);
      out->targets[label++] = one->ids[t];
    }
  }
  out->starts[count] = (int32_t)row;
}

static uint64_t fold(uint64_t digest, unsigned byte) { return (digest ^ byte) * 0x100000001B3u; }

static uint64_t fold_u32(uint64_t digest, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) digest = fold(digest, value >> shift & 255);
  return digest;
}

uint64_t batch_digest(uint64_t digest, const rendered *one) {
  digest = fold_u32(digest, (uint32_t)one->length);
  for (int64_t i = 0; i < one->length; i++) digest = fold_u32(digest, (uint32_t)one->ids[i]);
  for (int64_t i = 0; i < one->length; i++) digest = fold(digest, one->flags[i]);
  return digest;
}
