/* A strict reader for one line of JSON (docs/protocol.md, "Lines"): what it refuses is said in one short text. Strings carry their length,
 * since U+0000 is data. Everything lives in the arena that the line was read into. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

typedef enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_type;

typedef struct json {
  json_type type;
  double number;
  const char *bytes; /* of a string, with a zero byte behind it */
  size_t length;     /* bytes of a string, children of an array or object */
  struct json *items;
  struct json *keys; /* strings, one for each item of an object */
} json;

/** Read one value from a line without its '\n'. On failure returns false and `problem` says why (static text). */
bool json_read(arena *a, const char *line, size_t length, json *out, const char **problem);

/** The value under a key, or NULL. */
const json *json_get(const json *object, const char *key);

/** True if the value is a number without fraction and |i| < 2^53. */
bool json_integer(const json *value, int64_t *out);

bool json_is(const json *string, const char *zero_ended);

#endif
