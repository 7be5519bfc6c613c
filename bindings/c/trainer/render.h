/* From records to token ids and label flags (docs/spec.md, "Rendering", "Labels", "Rejected"). */
#ifndef RENDER_H
#define RENDER_H

#include "events.h"
#include "records.h"
#include "scope.h"

typedef enum rejection { ACCEPTED, REJECTED_THINK, REJECTED_EMPTY, REJECTED_JOINED, REJECTED_NO_LABEL, REJECTIONS } rejection;

extern const char *const rejection_names[REJECTIONS];

typedef struct rendered {
  int32_t *ids;
  unsigned char *flags; /* 1: a label */
  int64_t length;       /* after the cut */
  int64_t labels;
  rejection why;
} rendered;

typedef struct renderer {
  hxp_tokenizer tokenizer;
  bool chatml;
  int64_t length;
  int32_t start, end, think, end_think; /* ids of the marks */
  hxp_added_token *added;
  uint64_t added_count;
} renderer;

/** Counts over files. */
typedef struct tally {
  int64_t accepted, rejected[REJECTIONS], markers;
} tally;

/** Open the tokenizer of a folder; the scope owns it. */
bool renderer_open(const char *folder, bool chatml, int64_t length, arena *memory, scope *s, renderer *out, failure *f);

/** Render one record into memory of the arena and count it. */
bool render(const renderer *r, const record *one, arena *memory, rendered *out, tally *counts, failure *f);

/** The key `rejected`: counts by reason, reasons with no record left out. */
void tally_write(event *e, const tally *counts);

#endif
