/* Probes of the memory axis: tensors lost in a loop, errors caught inside backward, state that ends with its scope. */
#include <stdlib.h>
#include <string.h>

#include "probe.h"

bool probe_drop_in_loop(probe *p, failure *f) {
  int64_t bytes, turns, close, done = 0, failed = 0;
  hxp_context context;
  hxp_memory account;
  scope lost = {0};
  if (!parameter(p, "bytes", 4, &bytes, f) || !parameter(p, "turns", 1, &turns, f) || !parameter(p, "close", 0, &close, f)) return false;
  if (!probe_context(p, &context, f)) return false;
  const int64_t count = bytes / 4;
  while (done < turns && failed == 0) {
    hxp_tensor tensor;
    if (hxp_tensor_create(context, HXP_DTYPE_F32, 1, &count, &tensor, NULL) != HXP_OK) {
      failed = done + 1;
      break;
    }
    done++;
    if (close) hxp_tensor_release(tensor, NULL);
    else scope_tensor(&lost, tensor);
  }
  hxp_memory_init(&account);
  hxp_context_memory(context, &account, NULL);
  scope_end(&lost);
  hxp_context_release(context, NULL);
  seen_integer(p, "turns", done);
  seen_integer(p, "failed_turn", failed);
  seen_integer(p, "pressure_calls", account.pressure_calls);
  seen_text(p, "collections", "not available");
  seen_text(p, "collector_ms", "not available");
  return true;
}

static int64_t live_bytes(hxp_context context) {
  hxp_memory account;
  hxp_memory_init(&account);
  hxp_context_memory(context, &account, NULL);
  return account.live_bytes;
}

static int64_t larger(int64_t a, int64_t b) { return llabs(b) > llabs(a) ? b : a; }

/* Forward of update 1's first micro-batch, then a backward whose first allocation fails. *fired: it did fail. */
static bool failing_turn(session *run, bool *fired, failure *f) {
  scope s = {0};
  arena host = {0};
  int64_t size, epoch, width = run->r.plan.micro_batch;
  const rendered **items = update_records(&run->r.plan, run->train, run->train_count, 1, &host, &size, &epoch);
  batch b;
  hxp_tensor nll;
  batch_pack(items, size < width ? size : width, &host, &b);
  bool good = forward(&run->r.m, &run->r.st.a, &b, run->r.tape, &s, &nll, f);
  if (good) {
    hxp_error error = no_error();
    hxp_context_fail_allocation(run->r.context, 1, 0, NULL);
    hxp_status status = hxp_tape_backward(run->r.tape, nll, 0, &error);
    hxp_context_fail_allocation(run->r.context, 0, 0, NULL);
    *fired = status == HXP_OUT_OF_MEMORY;
    good = status == HXP_OK || *fired ? true : check(f, status, &error, "backward");
  }
  hxp_tape_reset(run->r.tape, NULL);
  scope_end(&s);
  arena_end(&host);
  return good;
}

bool probe_caught_errors(probe *p, failure *f) {
  int64_t turns, done = 0, failed = 0, difference = 0;
  const json *train = parameter_train(p, f);
  hxp_context context;
  session run;
  scope s = {0};
  if (train == NULL || !parameter(p, "turns", 1, &turns, f) || !probe_context(p, &context, f)) return false;
  bool good = session_open(train, context, p->r->memory, &s, &run, f);
  while (good && done < turns && failed == 0) {
    bool fired = false;
    int64_t before = live_bytes(context);
    good = failing_turn(&run, &fired, f);
    difference = larger(difference, live_bytes(context) - before);
    if (fired) done++;
    else failed = done + 1;
  }
  scope_end(&s);
  hxp_context_release(context, NULL);
  seen_integer(p, "turns", done);
  seen_integer(p, "failed_turn", failed);
  seen_integer(p, "difference_bytes", difference);
  return good;
}

/* Adapter, moments, gradients and one update, all in a scope that ends here. */
static bool scoped_turn(const json *train, hxp_context context, const session *loaded, failure *f) {
  scope s = {0};
  arena memory = {0};
  session run = *loaded;
  int64_t size, epoch;
  step done = {0};
  adapter_plan(&run.r.m.shape, &run.r.plan, &memory, &run.r.st.a);
  bool good = adapter_load(json_get(train, "adapter")->bytes, context, &memory, &s, &run.r.st.a, f) &&
              state_start(&run.r.st, context, &memory, &s, f) && run_prepare(&run.r, &memory, &s, f);
  if (good) {
    const rendered **items = update_records(&run.r.plan, run.train, run.train_count, 1, &memory, &size, &epoch);
    good = update(&run.r, items, size, 1, &done, f);
  }
  scope_end(&s);
  arena_end(&memory);
  return good;
}

bool probe_scope(probe *p, failure *f) {
  int64_t turns, done = 0, failed = 0, difference = 0;
  const json *train = parameter_train(p, f);
  hxp_context context;
  session run;
  scope s = {0};
  if (train == NULL || !parameter(p, "turns", 1, &turns, f) || !probe_context(p, &context, f)) return false;
  bool good = session_open(train, context, p->r->memory, &s, &run, f);
  while (good && done < turns) {
    int64_t before = live_bytes(context);
    good = scoped_turn(train, context, &run, f);
    difference = larger(difference, live_bytes(context) - before);
    if (good) done++;
    else failed = done + 1;
  }
  scope_end(&s);
  hxp_context_release(context, NULL);
  seen_integer(p, "turns", done);
  seen_integer(p, "failed_turn", failed);
  seen_integer(p, "difference_bytes", difference);
  return good;
}

bool probe_fail_allocation(probe *p, failure *f) {
  int64_t nth, persistent, size, epoch;
  const json *train = parameter_train(p, f);
  hxp_context context;
  session run;
  scope s = {0};
  if (train == NULL || !parameter(p, "nth", 1, &nth, f) || !parameter(p, "persistent", 0, &persistent, f)) return false;
  if (!probe_context(p, &context, f)) return false;
  bool good = session_open(train, context, p->r->memory, &s, &run, f);
  if (good) {
    step done = {0};
    failure caught = {.status = "HXP_OK"};
    const rendered **items = update_records(&run.r.plan, run.train, run.train_count, 1, p->r->memory, &size, &epoch);
    int64_t before = live_bytes(context);
    hxp_context_fail_allocation(context, (uint64_t)nth, persistent != 0, NULL);
    update(&run.r, items, size, 1, &done, &caught);
    hxp_context_fail_allocation(context, 0, 0, NULL);
    hxp_memory account;
    hxp_memory_init(&account);
    hxp_context_memory(context, &account, NULL);
    seen_integer(p, "fired", account.injected_failures);
    seen_text(p, "status", caught.status);
    seen_integer(p, "live_difference", account.live_bytes - before);
  }
  scope_end(&s);
  hxp_context_release(context, NULL);
  return good;
}
