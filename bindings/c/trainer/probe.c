#include "probe.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name;
  scenario play;    /* NULL: not for this language */
  const char *reason;
} scenarios[] = {
    {"device_of_context", probe_device_of_context, NULL},
    {"error_text", probe_error_text, NULL},
    {"two_contexts", probe_two_contexts, NULL},
    {"drop_in_loop", probe_drop_in_loop, NULL},
    {"cycles", NULL, "C has no collector, so no cycle to collect"},
    {"caught_errors", probe_caught_errors, NULL},
    {"scope", probe_scope, NULL},
    {"accessors", probe_accessors, NULL},
    {"copies", probe_copies, NULL},
    {"drop_orders", probe_drop_orders, NULL},
    {"double_release", probe_double_release, NULL},
    {"use_after_release", probe_use_after_release, NULL},
    {"release_elsewhere", probe_release_elsewhere, NULL},
    {"close_race", probe_close_race, NULL},
    {"finaliser_race", NULL, "C has no finalisers"},
    {"status", probe_status, NULL},
    {"callback_throws", NULL, "a C callback cannot throw"},
    {"fail_allocation", probe_fail_allocation, NULL},
    {"write_fails", probe_write_fails, NULL},
};

enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static void seen_key(probe *p, const char *key) { text_format(&p->seen, "%s\"%s\":", p->seen.length ? "," : "", key); }

void seen_integer(probe *p, const char *key, int64_t value) {
  seen_key(p, key);
  text_format(&p->seen, "%lld", (long long)value);
}

void seen_text(probe *p, const char *key, const char *value) {
  seen_key(p, key);
  text_json(&p->seen, value, strlen(value));
}

bool parameter(const probe *p, const char *key, int64_t low, int64_t *out, failure *f) {
  const json *v = json_get(p->parameters, key);
  if (v == NULL || !json_integer(v, out) || *out < low)
    return fail(f, "request", "parameters", "%s must be an integer of at least %lld", key, (long long)low);
  return true;
}

const json *parameter_train(const probe *p, failure *f) {
  const json *v = json_get(p->parameters, "train");
  return request_keys(v, "parameters.train", TRAIN_KEYS, f) ? v : NULL;
}

bool probe_context(const probe *p, hxp_context *out, failure *f) {
  hxp_error error = no_error();
  return check(f, hxp_context_create(p->device, &p->options, out, &error), &error, "context");
}

balance balance_now(void) {
  hxp_memory account;
  hxp_memory_init(&account);
  hxp_process_memory(&account, NULL);
  return (balance){account.live_handles, account.live_bytes};
}

const char *status_text(hxp_status status) {
  const char *name = hxp_status_name(status);
  return name ? name : "unknown";
}

void status_add(status_list *l, hxp_status status) {
  for (int i = 0; i < l->count; i++)
    if (l->seen[i] == status) return;
  if (l->count < 16) l->seen[l->count++] = status;
}

void seen_statuses(probe *p, const char *key, const status_list *l) {
  text names = {0};
  for (int i = 0; i < l->count; i++) text_format(&names, "%s%s", i ? "," : "", status_text(l->seen[i]));
  text_add(&names, "", 1);
  seen_text(p, key, names.bytes);
  text_end(&names);
}

bool tensor_of(hxp_context context, int64_t count, double value, hxp_tensor *out, failure *f) {
  hxp_error error = no_error();
  if (!check(f, hxp_tensor_create(context, HXP_DTYPE_F32, 1, &count, out, &error), &error, "tensor")) return false;
  if (value == 0 || check(f, hxp_tensor_fill(*out, value, &error), &error, "tensor")) return true;
  hxp_tensor_release(*out, NULL);
  return false;
}

void probe_capabilities(text *t) {
  for (int i = 0; i < SCENARIOS; i++)
    if (scenarios[i].play != NULL) text_format(t, ",\"probe.%s\"", scenarios[i].name);
}

bool handle_probe(const request *r, const char **skipped, failure *f) {
  if (!request_keys(r->body, "request", "protocol:i id:s request:s context:o scenario:s parameters:o", f)) return false;
  const json *name = json_get(r->body, "scenario");
  int found = 0;
  while (found < SCENARIOS && !json_is(name, scenarios[found].name)) found++;
  if (found == SCENARIOS || scenarios[found].play == NULL) {
    *skipped = found == SCENARIOS ? "the scenario is unknown" : scenarios[found].reason;
    return true;
  }
  probe p = {.r = r, .parameters = json_get(r->body, "parameters")};
  if (!request_context_options(json_get(r->body, "context"), &p.options, &p.device, f)) return false;
  bool good = scenarios[found].play(&p, f);
  if (good) {
    event e = event_begin(r->id, r->id_length, "probe");
    event_string(&e, "scenario", scenarios[found].name);
    event_key(&e, "seen");
    text_string(&e.line, "{");
    text_add(&e.line, p.seen.bytes ? p.seen.bytes : "", p.seen.length);
    text_string(&e.line, "}");
    event_send(&e);
    event done = event_begin(r->id, r->id_length, "done");
    event_send(&done);
  }
  text_end(&p.seen);
  return good;
}
