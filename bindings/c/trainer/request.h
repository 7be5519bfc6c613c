/* A request, checked: every key that its kind requires is there with its type, and no other. */
#ifndef REQUEST_H
#define REQUEST_H

#include "events.h"
#include "input.h"
#include "json.h"
#include "scope.h"

/** What a handler gets: the request's JSON, an arena that ends with the request, and stdin (training watches for its end). */
typedef struct request {
  const json *body;
  const char *id;
  size_t id_length;
  arena *memory;
  input *in;
} request;

typedef bool (*request_handler)(const request *r, failure *f);

/** Read "name:type" pairs, one space apart: s string, i integer, f number, b boolean, a array, o object; a '?' behind the type allows
 *  null. `where` names the object in messages. Refuses missing, unknown and wrongly typed keys, naming the key. */
bool request_keys(const json *object, const char *where, const char *keys, failure *f);

/** A string's bytes, zero-ended; NULL when the value is null. A string with a zero byte inside is no path: see request_keys. */
const char *request_text(const request *r, const char *key);

/** The context that the request asks for, owned by the scope. The hook may be NULL. */
bool request_context(const request *r, scope *s, hxp_context *out, failure *f);

/** Options as the request's `context` object gives them; `device` gets its device. */
bool request_context_options(const json *context, hxp_context_options *options, const char **device, failure *f);

#endif
