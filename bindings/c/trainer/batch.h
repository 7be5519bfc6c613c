/* A micro-batch: records laid end to end, with the host arrays that the forward pass needs. */
#ifndef BATCH_H
#define BATCH_H

#include "render.h"

typedef struct batch {
  int64_t rows;   /* ids in all */
  int32_t *ids;       /* (rows) */
  int32_t *positions; /* (rows), from 0 in each record */
  int32_t *starts;    /* (records + 1) */
  int64_t records;
  int64_t labels;
  int32_t *label_rows; /* (labels): the row before each flagged id */
  int32_t *targets;    /* (labels): the flagged ids */
  int64_t *labels_of;  /* (records) */
} batch;

/** Lay out `count` records; memory comes from the arena. */
void batch_pack(const rendered *const *items, int64_t count, arena *memory, batch *out);

/** FNV-1a 64 over records: id count, ids, flags (docs/spec.md, "Digests"). */
uint64_t batch_digest(uint64_t so_far, const rendered *one);

extern const uint64_t BATCH_DIGEST_START;

#endif
