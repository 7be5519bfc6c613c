/* The C trainer: reads requests as JSON Lines on stdin and answers each with events on stdout (docs/protocol.md). This file is the loop
 * and the exit status; every kind of request has a file of its own. */
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "evaluate.h"
#include "load.h"
#include "operators.h"
#include "probe.h"
#include "train.h"

enum { EXIT_FINE = 0, EXIT_ERROR = 1, EXIT_UNREADABLE = 2, EXIT_HANDLES = 3 };

static bool handle_hello(const request *r, failure *f) {
  if (!request_keys(r->body, "request", "protocol:i id:s request:s", f)) return false;
  event e = event_begin(r->id, r->id_length, "hello");
  event_integer(&e, "protocol", 1);
  event_string(&e, "implementation", "c");
  event_string(&e, "language", "C");
  event_string(&e, "runtime", "C17, " __VERSION__);
  event_string(&e, "stack", "core");
  event_string(&e, "core", hxp_build_info());
  event_key(&e, "faults");
  const char *at = hxp_build_faults();
  text_string(&e.line, "[");
  while (*at) {
    size_t length = strcspn(at, ",");
    text_json(&e.line, at, length);
    at += length;
    if (*at == ',') text_string(&e.line, ","), at++;
  }
  text_string(&e.line, "]");
  event_key(&e, "capabilities");
  text_string(&e.line,
              "[\"hello\",\"abi\",\"operators\",\"load\",\"render\",\"evaluate\",\"train\",\"probe\",\"bye\","
              "\"migrating\",\"collector\",\"spill\",\"memory_limit\",\"ledger\"");
  probe_capabilities(&e.line);
  text_string(&e.line, "]");
  event_send(&e);
  event done = event_begin(r->id, r->id_length, "done");
  event_send(&done);
  return true;
}

static const struct {
  const char *name;
  request_handler handle;
} handlers[] = {
    {"hello", handle_hello}, {"abi", handle_abi},           {"operators", handle_operators}, {"load", handle_load},
    {"render", handle_render}, {"evaluate", handle_evaluate}, {"train", handle_train},
};

static bool dispatch(const request *r, failure *f) {
  const json *kind = json_get(r->body, "request");
  const char *skipped = NULL;
  for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
    if (json_is(kind, handlers[i].name)) return handlers[i].handle(r, f);
  if (json_is(kind, "probe")) {
    if (!handle_probe(r, &skipped, f)) return false;
  } else {
    skipped = "the request is unknown";
  }
  if (skipped != NULL) send_skipped(r->id, r->id_length, skipped);
  return true;
}

/* What every request has. */
static bool envelope(const json *body, failure *f) {
  int64_t protocol;
  if (body->type != JSON_OBJECT) return fail(f, "request", "request", "a request must be an object");
  const json *version = json_get(body, "protocol"), *id = json_get(body, "id"), *kind = json_get(body, "request");
  if (version == NULL || !json_integer(version, &protocol)) return fail(f, "request", "protocol", "the key protocol must be an integer");
  if (id == NULL || id->type != JSON_STRING) return fail(f, "request", "id", "the key id must be a string");
  if (kind == NULL || kind->type != JSON_STRING) return fail(f, "request", "request", "the key request must be a string");
  if (protocol != 1) return fail(f, "request", "protocol", "protocol %lld is not 1, the only one known", (long long)protocol);
  return true;
}

static hxp_memory process_account(void) {
  hxp_memory account;
  hxp_memory_init(&account);
  hxp_process_memory(&account, NULL);
  return account;
}

static int say_bye(const char *id, size_t id_length, int worst) {
  hxp_memory account = process_account();
  event e = event_begin(id, id_length, "bye");
  event_integer(&e, "handles_live", account.live_handles);
  event_integer(&e, "bytes_live", account.live_bytes);
  event_send(&e);
  return account.live_handles > 0 ? EXIT_HANDLES : worst;
}

/* One line: answered here. Returns the exit status that it asks for; sets *bye with the id to say it under. */
static int answer(const char *line, size_t length, long long number, arena *memory, input *in, request *bye, failure *f) {
  json body;
  const char *problem;
  char where[48];
  snprintf(where, sizeof where, "stdin:%lld", number);
  request r = {.body = &body, .id = "", .memory = memory, .in = in};
  if (line == NULL || !json_read(memory, line, length, &body, &problem)) {
    fail(f, "request", where, "%s", line == NULL ? "a line of more than 16 MiB" : problem);
    send_error("", 0, f);
    return EXIT_UNREADABLE;
  }
  if (body.type == JSON_OBJECT) {
    const json *id = json_get(&body, "id");
    if (id != NULL && id->type == JSON_STRING) r.id = id->bytes, r.id_length = id->length;
  }
  if (!envelope(&body, f)) {
    send_error(r.id, r.id_length, f);
    return r.id_length ? EXIT_ERROR : EXIT_UNREADABLE;
  }
  if (json_is(json_get(&body, "request"), "bye")) {
    if (request_keys(&body, "request", "protocol:i id:s request:s", f)) return *bye = r, EXIT_FINE;
  } else if (dispatch(&r, f)) {
    return EXIT_FINE;
  }
  send_error(r.id, r.id_length, f);
  return EXIT_ERROR;
}

int main(void) {
  input in = {0};
  int worst = EXIT_FINE, status = -1;
  if (hxp_abi_version() != HXP_ABI_VERSION) {
    fprintf(stderr, "the library speaks ABI %u, this trainer was built for %d\n", hxp_abi_version(), HXP_ABI_VERSION);
    return EXIT_ERROR;
  }
  for (long long number = 1; status < 0; number++) {
    const char *line;
    size_t length;
    arena memory = {0};
    failure f = {0};
    request bye = {0};
    line_state state = input_line(&in, &line, &length);
    if (state == LINE_END) {
      status = say_bye("", 0, worst);
    } else {
      /* The line is copied: reading on for the end of stdin moves the input's buffer. */
      char *copy = state == LINE_READ ? arena_copy(&memory, line, length) : NULL;
      int outcome = answer(copy, length, number, &memory, &in, &bye, &f);
      worst = outcome > worst ? outcome : worst;
      if (bye.id != NULL) status = say_bye(bye.id, bye.id_length, worst);
    }
    arena_end(&memory);
  }
  input_end(&in);
  return status;
}
