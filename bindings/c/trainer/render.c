#include "render.h"

#include <string.h>

const char *const rejection_names[REJECTIONS] = {"accepted", "think", "empty", "joined", "no_label"};

bool renderer_open(const char *folder, bool chatml, int64_t length, arena *memory, scope *s, renderer *out, failure *f) {
  *out = (renderer){.chatml = chatml, .length = length};
  hxp_error error = no_error();
  if (!check(f, hxp_tokenizer_open(folder, &out->tokenizer, &error), &error, folder)) return false;
  scope_own(s, out->tokenizer, hxp_tokenizer_release);
  struct {
    const char *text;
    int32_t *id;
  } marks[] = {{"<|im_start|>", &out->start}, {"<|im_end|>", &out->end}, {"<think>", &out->think}, {"</think>", &out->end_think}};
  for (int i = 0; i < (chatml ? 2 : 4); i++)
    if (!check(f, hxp_tokenizer_id(out->tokenizer, marks[i].text, marks[i].id, &error), &error, marks[i].text)) return false;
  if (!check(f, hxp_tokenizer_added_count(out->tokenizer, &out->added_count, &error), &error, folder)) return false;
  out->added = arena_get(memory, out->added_count * sizeof *out->added + 1);
  for (uint64_t i = 0; i < out->added_count; i++) {
    hxp_added_token_init(&out->added[i]);
    if (!check(f, hxp_tokenizer_added(out->tokenizer, i, &out->added[i], &error), &error, folder)) return false;
  }
  return true;
}

/* A list of ids with their flags, in the arena. */
typedef struct list {
  int32_t *ids;
  unsigned char *flags;
  int64_t count, capacity;
} list;

static void reserve(list *l, int64_t more, arena *memory) {
  if (l->count + more <= l->capacity) return;
  int64_t capacity = 2 * (l->count + more);
  int32_t *ids = arena_get(memory, (size_t)capacity * sizeof *ids);
  unsigned char *flags = arena_get(memory, (size_t)capacity);
  if (l->count) memcpy(ids, l->ids, (size_t)l->count * sizeof *ids), memcpy(flags, l->flags, (size_t)l->count);
  *l = (list){ids, flags, l->count, capacity};
}

static void mark(list *l, int32_t id, bool flag, arena *memory) {
  reserve(l, 1, memory);
  l->ids[l->count] = id;
  l->flags[l->count++] = flag;
}

/* Append E(prefix + text); the ids from `first_label` on (counted in the piece) are labels. */
static bool piece(const renderer *r, list *l, const char *prefix, const char *text, size_t length, int64_t first_label, arena *memory,
                  failure *f) {
  size_t prefix_length = strlen(prefix);
  char *joined = arena_get(memory, prefix_length + length + 1);
  memcpy(joined, prefix, prefix_length);
  if (length) memcpy(joined + prefix_length, text, length);
  hxp_error error = no_error();
  uint64_t count = 0;
  if (!check(f, hxp_tokenizer_encode(r->tokenizer, joined, prefix_length + length, NULL, 0, &count, &error), &error, "encode"))
    return false;
  reserve(l, (int64_t)count, memory);
  if (!check(f, hxp_tokenizer_encode(r->tokenizer, joined, prefix_length + length, l->ids + l->count, count, &count, &error), &error,
             "encode"))
    return false;
  for (int64_t i = 0; i < (int64_t)count; i++) l->flags[l->count + i] = i >= first_label;
  l->count += (int64_t)count;
  return true;
}

static bool contains(const char *bytes, size_t length, const char *part, size_t part_length) {
  return part_length > 0 && bytes != NULL && memmem(bytes, length, part, part_length) != NULL;
}

static bool has_marker(const renderer *r, const record *one) {
  for (uint64_t i = 0; i < r->added_count; i++) {
    const char *t = r->added[i].text;
    size_t n = r->added[i].text_bytes;
    if (contains(one->system, one->system_length, t, n) || contains(one->question, one->question_length, t, n) ||
        contains(one->answer, one->answer_length, t, n))
      return true;
  }
  return false;
}

/* The answer's piece behind its prefix, then the mark of its end. Sets *joined when the piece does not begin with its prefix's ids. */
static bool answer_piece(const renderer *r, list *l, const char *answer, size_t length, bool *joined, arena *memory, failure *f) {
  const char *prefix = r->chatml ? "assistant\n" : "\n\n";
  list alone = {0};
  if (!piece(r, &alone, prefix, "", 0, INT64_MAX, memory, f)) return false;
  int64_t before = l->count;
  if (!piece(r, l, prefix, answer, length, alone.count, memory, f)) return false;
  *joined = l->count - before < alone.count || memcmp(l->ids + before, alone.ids, (size_t)alone.count * sizeof *alone.ids) != 0;
  mark(l, r->end, true, memory);
  return true;
}

static bool turn(const renderer *r, list *l, const char *role, const char *text, size_t length, arena *memory, failure *f) {
  mark(l, r->start, false, memory);
  if (!piece(r, l, role, text, length, INT64_MAX, memory, f)) return false;
  mark(l, r->end, false, memory);
  return piece(r, l, "\n", "", 0, INT64_MAX, memory, f);
}

static bool assemble(const renderer *r, const record *one, const char *answer, size_t answer_length, list *l, bool *joined,
                     arena *memory, failure *f) {
  if (one->system != NULL && !turn(r, l, "system\n", one->system, one->system_length, memory, f)) return false;
  if (!turn(r, l, "user\n", one->question, one->question_length, memory, f)) return false;
  mark(l, r->start, false, memory);
  if (!r->chatml) {
    if (!piece(r, l, "assistant\n", "", 0, INT64_MAX, memory, f)) return false;
    mark(l, r->think, false, memory);
    if (!piece(r, l, "\n\n", "", 0, INT64_MAX, memory, f)) return false;
    mark(l, r->end_think, false, memory);
  }
  return answer_piece(r, l, answer, answer_length, joined, memory, f) && piece(r, l, "\n", "", 0, INT64_MAX, memory, f);
}

bool render(const renderer *r, const record *one, arena *memory, rendered *out, tally *counts, failure *f) {
  *out = (rendered){0};
  counts->markers += has_marker(r, one);
  const char *answer = one->answer;
  size_t length = one->answer_length;
  if (contains(answer, length, "</think>", 8)) {
    counts->rejected[out->why = REJECTED_THINK]++;
    return true;
  }
  while (length > 0 && *answer == '\n') answer++, length--;
  if (length == 0) {
    counts->rejected[out->why = REJECTED_EMPTY]++;
    return true;
  }
  list l = {0};
  bool joined;
  if (!assemble(r, one, answer, length, &l, &joined, memory, f)) return false;
  out->ids = l.ids;
  out->flags = l.flags;
  out->length = l.count < r->length ? l.count : r->length;
  for (int64_t i = 0; i < out->length; i++) out->labels += l.flags[i];
  out->why = joined ? REJECTED_JOINED : out->labels == 0 ? REJECTED_NO_LABEL : ACCEPTED;
  if (out->why == ACCEPTED) counts->accepted++;
  else counts->rejected[out->why]++;
  return true;
}

void tally_write(event *e, const tally *counts) {
  const char *between = "{";
  event_key(e, "rejected");
  for (int i = 1; i < REJECTIONS; i++) {
    if (counts->rejected[i] == 0) continue;
    text_format(&e->line, "%s\"%s\":%lld", between, rejection_names[i], (long long)counts->rejected[i]);
    between = ",";
  }
  text_string(&e->line, *between == '{' ? "{}" : "}");
}
