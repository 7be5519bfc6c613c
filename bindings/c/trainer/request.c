#include "request.h"

#include <stdio.h>
#include <string.h>

static bool has_type(const json *v, char type) {
  int64_t ignored;
  switch (type) {
    case 's': return v->type == JSON_STRING && strlen(v->bytes) == v->length;
    case 'i': return json_integer(v, &ignored);
    case 'f': return v->type == JSON_NUMBER;
    case 'b': return v->type == JSON_TRUE || v->type == JSON_FALSE;
    case 'a': return v->type == JSON_ARRAY;
    default: return v->type == JSON_OBJECT;
  }
}

static const char *type_name(char type) {
  switch (type) {
    case 's': return "a string without U+0000";
    case 'i': return "an integer";
    case 'f': return "a number";
    case 'b': return "true or false";
    case 'a': return "an array";
    default: return "an object";
  }
}

/* The length of the key at `at`, which ends in ':'. */
static size_t key_length(const char *at) { return (size_t)(strchr(at, ':') - at); }

static bool is_listed(const json *key, const char *keys) {
  for (const char *at = keys; *at;) {
    size_t length = key_length(at);
    if (length == key->length && memcmp(at, key->bytes, length) == 0) return true;
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
  return false;
}

bool request_keys(const json *object, const char *where, const char *keys, failure *f) {
  if (object == NULL || object->type != JSON_OBJECT) return fail(f, "request", where, "%s must be an object", where);
  for (const char *at = keys; *at;) {
    size_t length = key_length(at);
    char name[64], type = at[length + 1], spot[160];
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    snprintf(spot, sizeof spot, "%s.%s", where, name);
    const json *v = json_get(object, name);
    if (v == NULL) return fail(f, "request", spot, "the key %s is missing", name);
    bool null_allowed = at[length + 2] == '?';
    if (!(v->type == JSON_NULL && null_allowed) && !has_type(v, type))
      return fail(f, "request", spot, "the key %s must be %s%s", name, type_name(type), null_allowed ? " or null" : "");
    at += strcspn(at, " ");
    at += strspn(at, " ");
  }
  for (size_t i = 0; i < object->length; i++)
    if (!is_listed(&object->keys[i], keys))
      return fail(f, "request", where, "the key %.100s is unknown", object->keys[i].bytes);
  return true;
}

const char *request_text(const request *r, const char *key) {
  const json *v = json_get(r->body, key);
  return v->type == JSON_NULL ? NULL : v->bytes;
}

bool request_context_options(const json *context, hxp_context_options *options, const char **device, failure *f) {
  if (!request_keys(context, "context", "device:s threads:i memory_limit:i spill:b ledger:s?", f)) return false;
  int64_t threads, limit;
  json_integer(json_get(context, "threads"), &threads);
  json_integer(json_get(context, "memory_limit"), &limit);
  if (threads < 1 || threads > 256) return fail(f, "request", "context.threads", "%lld is not within 1 … 256", (long long)threads);
  if (limit < 0) return fail(f, "request", "context.memory_limit", "%lld is negative", (long long)limit);
  hxp_context_options_init(options);
  options->threads = (uint32_t)threads;
  options->memory_limit = (uint64_t)limit;
  if (json_get(context, "spill")->type == JSON_TRUE) options->flags |= HXP_SPILL;
  const json *ledger = json_get(context, "ledger");
  if (ledger->type == JSON_STRING) options->ledger_path = ledger->bytes;
  *device = json_get(context, "device")->bytes;
  return true;
}

bool request_context(const request *r, scope *s, hxp_context *out, failure *f) {
  hxp_context_options options;
  const char *device;
  if (!request_context_options(json_get(r->body, "context"), &options, &device, f)) return false;
  hxp_error error = no_error();
  if (!check(f, hxp_context_create(device, &options, out, &error), &error, "context")) return false;
  scope_own(s, *out, hxp_context_release);
  return true;
}
