/* The request `probe`: small scenarios of threads, memory, ownership and errors, step by step in docs/probes.md. One file an axis. */
#ifndef PROBE_H
#define PROBE_H

#include "train.h"

/** What a scenario gets, and the `seen` object that it fills. */
typedef struct probe {
  const request *r;
  const json *parameters;
  hxp_context_options options; /* as the request's context gives them */
  const char *device;
  text seen; /* members of the object, comma-separated */
} probe;

typedef bool (*scenario)(probe *p, failure *f);

void seen_integer(probe *p, const char *key, int64_t value);
void seen_text(probe *p, const char *key, const char *value);

/** An integer parameter of at least `low`. */
bool parameter(const probe *p, const char *key, int64_t low, int64_t *out, failure *f);

/** The `train` object among the parameters, its keys checked; its stop_after, schedule and release are as given. */
const json *parameter_train(const probe *p, failure *f);

/** A context as the request asks for. */
bool probe_context(const probe *p, hxp_context *out, failure *f);

/** Live handles and bytes of the process. */
typedef struct balance {
  int64_t handles, bytes;
} balance;
balance balance_now(void);

/** Distinct status names in order of first appearance, comma-separated. */
typedef struct status_list {
  hxp_status seen[16];
  int count;
} status_list;
void status_add(status_list *l, hxp_status status);
void seen_statuses(probe *p, const char *key, const status_list *l);

/** The name of a status; never NULL. */
const char *status_text(hxp_status status);

/** A tensor of `count` elements that hold `value` (count ≥ 1). */
bool tensor_of(hxp_context context, int64_t count, double value, hxp_tensor *out, failure *f);

bool probe_device_of_context(probe *p, failure *f);
bool probe_error_text(probe *p, failure *f);
bool probe_two_contexts(probe *p, failure *f);
bool probe_release_elsewhere(probe *p, failure *f);
bool probe_close_race(probe *p, failure *f);

bool probe_drop_in_loop(probe *p, failure *f);
bool probe_caught_errors(probe *p, failure *f);
bool probe_scope(probe *p, failure *f);
bool probe_fail_allocation(probe *p, failure *f);

bool probe_accessors(probe *p, failure *f);
bool probe_copies(probe *p, failure *f);
bool probe_drop_orders(probe *p, failure *f);
bool probe_double_release(probe *p, failure *f);
bool probe_use_after_release(probe *p, failure *f);

bool probe_status(probe *p, failure *f);
bool probe_write_fails(probe *p, failure *f);

/** The scenarios this trainer plays, comma-separated as JSON strings "probe.<scenario>", for `hello`. */
void probe_capabilities(text *t);

/** Sets *skipped to a reason when the scenario is not for C. */
bool handle_probe(const request *r, const char **skipped, failure *f);

#endif
