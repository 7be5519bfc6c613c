/* A file of records, read and checked line by line. */
#ifndef RECORDS_H
#define RECORDS_H

#include "failure.h"
#include "json.h"

typedef struct record {
  const char *id, *system, *question, *answer; /* system is NULL when not given */
  size_t id_length, system_length, question_length, answer_length;
} record;

typedef struct records {
  record *items;
  int64_t count;
} records;

/** Failures have status `record` and where = file:line, or `io`. */
bool records_read(const char *path, arena *memory, records *out, failure *f);

#endif
