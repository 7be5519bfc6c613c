#include "events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

event event_begin(const char *id, size_t id_length, const char *name) {
  event e = {0};
  text_string(&e.line, "{\"id\":");
  text_json(&e.line, id, id_length);
  event_string(&e, "event", name);
  return e;
}

void event_key(event *e, const char *key) { text_format(&e->line, ",\"%s\":", key); }

void event_bytes(event *e, const char *key, const char *bytes, size_t length) {
  event_key(e, key);
  text_json(&e->line, bytes, length);
}

void event_string(event *e, const char *key, const char *zero_ended) { event_bytes(e, key, zero_ended, strlen(zero_ended)); }

void event_integer(event *e, const char *key, int64_t value) { text_format(&e->line, ",\"%s\":%" PRId64, key, value); }

void event_boolean(event *e, const char *key, bool value) { text_format(&e->line, ",\"%s\":%s", key, value ? "true" : "false"); }

void event_number(event *e, const char *key, double value) {
  event_key(e, key);
  text_number(&e->line, value);
}

void event_null(event *e, const char *key) { text_format(&e->line, ",\"%s\":null", key); }

void event_number_bits(event *e, const char *key, double value) {
  event_number(e, key, value);
  text_format(&e->line, ",\"%s_bits\":", key);
  text_bits(&e->line, value);
}

void event_send(event *e) {
  text_string(&e->line, "}\n");
  bool sent = fwrite(e->line.bytes, 1, e->line.length, stdout) == e->line.length && fflush(stdout) == 0;
  text_end(&e->line);
  if (!sent) {
    perror("stdout refused an event");
    exit(1);
  }
}

void send_error(const char *id, size_t id_length, const failure *f) {
  event e = event_begin(id, id_length, "error");
  event_string(&e, "status", f->status);
  event_string(&e, "message", f->message);
  event_string(&e, "where", f->where);
  event_send(&e);
}

void send_skipped(const char *id, size_t id_length, const char *reason) {
  event e = event_begin(id, id_length, "skipped");
  event_string(&e, "reason", reason);
  event_send(&e);
}
