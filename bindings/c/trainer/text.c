#include "text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void reserve(text *t, size_t more) {
  if (t->length + more <= t->capacity) return;
  size_t capacity = t->capacity ? t->capacity : 256;
  while (capacity < t->length + more) capacity *= 2;
  t->bytes = grow(t->bytes, capacity);
  t->capacity = capacity;
}

void text_add(text *t, const char *bytes, size_t length) {
  reserve(t, length);
  memcpy(t->bytes + t->length, bytes, length);
  t->length += length;
}

void text_string(text *t, const char *zero_ended) { text_add(t, zero_ended, strlen(zero_ended)); }

void text_format(text *t, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  reserve(t, (size_t)length + 1);
  vsnprintf(t->bytes + t->length, (size_t)length + 1, format, again);
  va_end(again);
  t->length += (size_t)length;
}

void text_json(text *t, const char *bytes, size_t length) {
  text_add(t, "\"", 1);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c == '"' || c == '\\') text_format(t, "\\%c", c);
    else if (c < 0x20 || c == 0x7f) text_format(t, "\\u%04x", c);
    else text_add(t, bytes + i, 1);
  }
  text_add(t, "\"", 1);
}

void text_number(text *t, double value) {
  if (isnan(value)) text_string(t, "\"NaN\"");
  else if (isinf(value)) text_string(t, value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  else text_format(t, "%.17g", value);
}

void text_bits(text *t, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  text_format(t, "\"0x%016" PRIx64 "\"", bits);
}

void text_end(text *t) {
  free(t->bytes);
  *t = (text){0};
}
