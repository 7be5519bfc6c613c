/* A growing text, for building the JSON lines that the trainer sends. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct text {
  char *bytes;
  size_t length, capacity;
} text;

void text_add(text *t, const char *bytes, size_t length);
void text_string(text *t, const char *zero_ended);
void text_format(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** A JSON string literal; the bytes must be UTF-8. */
void text_json(text *t, const char *bytes, size_t length);

/** A number that reads back to the same f64, or "NaN", "Infinity", "-Infinity". */
void text_number(text *t, double value);

/** "0x" and the 16 hex digits of the f64, as a JSON string. */
void text_bits(text *t, double value);

void text_end(text *t);

#endif
