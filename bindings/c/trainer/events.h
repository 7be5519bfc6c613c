/* The events that the trainer sends: one JSON object a line on stdout, flushed line by line. An event is begun, filled and sent; the id
 * is the request's. */
#ifndef EVENTS_H
#define EVENTS_H

#include "failure.h"
#include "text.h"

typedef struct event {
  text line;
} event;

/** Begin an event; `id` is the request's id with its length. */
event event_begin(const char *id, size_t id_length, const char *name);

void event_string(event *e, const char *key, const char *zero_ended);
void event_bytes(event *e, const char *key, const char *bytes, size_t length);
void event_integer(event *e, const char *key, int64_t value);
void event_boolean(event *e, const char *key, bool value);
void event_number(event *e, const char *key, double value);
void event_null(event *e, const char *key);

/** `key`: the number, and `key`_bits: its bits. */
void event_number_bits(event *e, const char *key, double value);

/** A key whose value the caller writes into e->line as JSON. */
void event_key(event *e, const char *key);

/** Write the line and free it. Ends the program when nobody reads stdout any more. */
void event_send(event *e);

void send_error(const char *id, size_t id_length, const failure *f);
void send_skipped(const char *id, size_t id_length, const char *reason);

#endif
