#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NESTING_MAX = 64 };

typedef struct reader {
  arena *a;
  const char *at, *end;
  const char *problem;
  int depth;
} reader;

static bool value(reader *r, json *out);

static bool refuse(reader *r, const char *problem) {
  if (r->problem == NULL) r->problem = problem;
  return false;
}

static void skip_space(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')) r->at++;
}

static bool is_utf8(const unsigned char *at, const unsigned char *end) {
  while (at < end) {
    unsigned char c = *at++;
    if (c < 0x80) continue;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
    if (c < 0xc2 || c > 0xf4 || end - at < more) return false;
    unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80, high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (at[0] < low || at[0] > high) return false;
    for (int i = 1; i < more; i++)
      if ((at[i] & 0xc0) != 0x80) return false;
    at += more;
  }
  return true;
}

static bool hex4(reader *r, unsigned *out) {
  if (r->end - r->at < 4) return refuse(r, "a \\u escape is cut short");
  *out = 0;
  for (int i = 0; i < 4; i++) {
    char c = *r->at++;
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0) return refuse(r, "a \\u escape holds something that is no hex digit");
    *out = *out * 16 + (unsigned)digit;
  }
  return true;
}

static size_t put_utf8(char *out, unsigned code) {
  if (code < 0x80) return out[0] = (char)code, 1;
  if (code < 0x800) return out[0] = (char)(0xc0 | code >> 6), out[1] = (char)(0x80 | (code & 63)), 2;
  if (code < 0x10000)
    return out[0] = (char)(0xe0 | code >> 12), out[1] = (char)(0x80 | (code >> 6 & 63)), out[2] = (char)(0x80 | (code & 63)), 3;
  out[0] = (char)(0xf0 | code >> 18), out[1] = (char)(0x80 | (code >> 12 & 63)), out[2] = (char)(0x80 | (code >> 6 & 63));
  return out[3] = (char)(0x80 | (code & 63)), 4;
}

static bool unicode_escape(reader *r, char *out, size_t *length) {
  unsigned code, low;
  if (!hex4(r, &code)) return false;
  if (code >= 0xdc00 && code <= 0xdfff) return refuse(r, "a lone surrogate");
  if (code >= 0xd800 && code <= 0xdbff) {
    if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u') return refuse(r, "a lone surrogate");
    r->at += 2;
    if (!hex4(r, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return refuse(r, "a lone surrogate");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  *length += put_utf8(out + *length, code);
  return true;
}

static bool string(reader *r, json *out) {
  const char *start = ++r->at, *close = start;
  while (close < r->end && *close != '"') close += *close == '\\' ? 2 : 1;
  if (close >= r->end) return refuse(r, "a string does not end");
  char *bytes = arena_get(r->a, (size_t)(close - start) + 1);
  size_t length = 0;
  while (*r->at != '"') {
    unsigned char c = (unsigned char)*r->at++;
    if (c < 0x20) return refuse(r, "a bare control character in a string");
    if (c != '\\') {
      bytes[length++] = (char)c;
      continue;
    }
    char escape = *r->at++;
    const char *plain = strchr("\"\\/bfnrt", escape);
    if (escape == 'u') {
      if (!unicode_escape(r, bytes, &length)) return false;
    } else if (escape != 0 && plain != NULL) {
      bytes[length++] = "\"\\/\b\f\n\r\t"[plain - "\"\\/bfnrt"];
    } else {
      return refuse(r, "an unknown escape in a string");
    }
  }
  r->at++;
  *out = (json){.type = JSON_STRING, .bytes = bytes, .length = length};
  return true;
}

static const char *digits(const char *at, const char *end) {
  while (at < end && *at >= '0' && *at <= '9') at++;
  return at;
}

static bool number(reader *r, json *out) {
  const char *start = r->at, *at = start, *after;
  if (at < r->end && *at == '-') at++;
  after = digits(at, r->end);
  if (after == at || (*at == '0' && after > at + 1)) return refuse(r, "not a JSON value");
  at = after;
  if (at < r->end && *at == '.') {
    after = digits(at + 1, r->end);
    if (after == at + 1) return refuse(r, "a number ends in its point");
    at = after;
  }
  if (at < r->end && (*at == 'e' || *at == 'E')) {
    const char *power = at + 1;
    if (power < r->end && (*power == '+' || *power == '-')) power++;
    after = digits(power, r->end);
    if (after == power) return refuse(r, "a number ends in its exponent");
    at = after;
  }
  char *copy = arena_copy(r->a, start, (size_t)(at - start));
  *out = (json){.type = JSON_NUMBER, .number = strtod(copy, NULL)};
  r->at = at;
  return isfinite(out->number) ? true : refuse(r, "a number that is not finite in f64");
}

static void append(reader *r, json *list, size_t *capacity, const json *item, const json *key) {
  if (list->length == *capacity) {
    size_t more = *capacity ? 2 * *capacity : 8;
    json *items = arena_get(r->a, more * sizeof *items), *keys = key ? arena_get(r->a, more * sizeof *keys) : NULL;
    if (list->length) memcpy(items, list->items, list->length * sizeof *items);
    if (list->length && key) memcpy(keys, list->keys, list->length * sizeof *keys);
    list->items = items, list->keys = keys, *capacity = more;
  }
  if (key) list->keys[list->length] = *key;
  list->items[list->length++] = *item;
}

static int by_bytes(const void *a, const void *b) {
  const json *x = a, *y = b;
  size_t shorter = x->length < y->length ? x->length : y->length;
  int order = memcmp(x->bytes, y->bytes, shorter);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static bool keys_distinct(reader *r, const json *object) {
  json *sorted = arena_get(r->a, object->length * sizeof *sorted);
  if (object->length) memcpy(sorted, object->keys, object->length * sizeof *sorted);
  qsort(sorted, object->length, sizeof *sorted, by_bytes);
  for (size_t i = 1; i < object->length; i++)
    if (by_bytes(&sorted[i - 1], &sorted[i]) == 0) return refuse(r, "a duplicate key");
  return true;
}

static bool container(reader *r, json *out, json_type type, char close) {
  *out = (json){.type = type};
  size_t capacity = 0;
  if (++r->depth > NESTING_MAX) return refuse(r, "nesting past 64");
  r->at++;
  skip_space(r);
  if (r->at < r->end && *r->at == close) return r->at++, r->depth--, true;
  for (;;) {
    json key = {0}, item;
    skip_space(r);
    if (type == JSON_OBJECT) {
      if (r->at >= r->end || *r->at != '"') return refuse(r, "a key must be a string");
      if (!string(r, &key)) return false;
      skip_space(r);
      if (r->at >= r->end || *r->at++ != ':') return refuse(r, "a ':' is missing behind a key");
    }
    if (!value(r, &item)) return false;
    append(r, out, &capacity, &item, type == JSON_OBJECT ? &key : NULL);
    skip_space(r);
    if (r->at >= r->end) return refuse(r, "the line ends inside a value");
    char next = *r->at++;
    if (next == close) break;
    if (next != ',') return refuse(r, "a ',' is missing");
  }
  r->depth--;
  return type == JSON_OBJECT ? keys_distinct(r, out) : true;
}

static bool word(reader *r, json *out, const char *name, json_type type) {
  size_t length = strlen(name);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, name, length) != 0) return refuse(r, "not a JSON value");
  r->at += length;
  *out = (json){.type = type};
  return true;
}

static bool value(reader *r, json *out) {
  skip_space(r);
  if (r->at >= r->end) return refuse(r, "a value is missing");
  switch (*r->at) {
    case '{': return container(r, out, JSON_OBJECT, '}');
    case '[': return container(r, out, JSON_ARRAY, ']');
    case '"': return string(r, out);
    case 'n': return word(r, out, "null", JSON_NULL);
    case 't': return word(r, out, "true", JSON_TRUE);
    case 'f': return word(r, out, "false", JSON_FALSE);
    default: return number(r, out);
  }
}

bool json_read(arena *a, const char *line, size_t length, json *out, const char **problem) {
  reader r = {.a = a, .at = line, .end = line + length};
  *problem = NULL;
  bool read = false;
  if (!is_utf8((const unsigned char *)line, (const unsigned char *)line + length)) refuse(&r, "bytes that are not UTF-8");
  else if (length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) refuse(&r, "a byte-order mark");
  else if (skip_space(&r), r.at == r.end) refuse(&r, "an empty line");
  else if (value(&r, out)) read = (skip_space(&r), r.at == r.end) ? true : refuse(&r, "text behind the value");
  *problem = r.problem;
  return read;
}

const json *json_get(const json *object, const char *key) {
  for (size_t i = 0; i < object->length; i++)
    if (json_is(&object->keys[i], key)) return &object->items[i];
  return NULL;
}

bool json_integer(const json *v, int64_t *out) {
  if (v->type != JSON_NUMBER || v->number != floor(v->number) || fabs(v->number) >= 9007199254740992.0) return false;
  *out = (int64_t)v->number;
  return true;
}

bool json_is(const json *s, const char *zero_ended) {
  return s->type == JSON_STRING && s->length == strlen(zero_ended) && memcmp(s->bytes, zero_ended, s->length) == 0;
}
