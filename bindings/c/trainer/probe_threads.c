/* Probes of the thread axis. C's task is a POSIX thread. */
#include <ctype.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

enum { TASKS_MAX = 512 };

/* Run `count` tasks over an array of arguments and wait for all. */
static bool run_tasks(void *(*body)(void *), void *arguments, size_t argument_bytes, int64_t count, failure *f) {
  pthread_t threads[TASKS_MAX];
  int64_t started = 0;
  if (count > TASKS_MAX) return fail(f, "request", "parameters", "%lld tasks are more than %d", (long long)count, TASKS_MAX);
  while (started < count && pthread_create(&threads[started], NULL, body, (char *)arguments + (size_t)started * argument_bytes) == 0) started++;
  for (int64_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
  return started == count ? true : fail(f, "internal", "tasks", "only %lld of %lld threads could be made", (long long)started, (long long)count);
}

typedef struct chooser {
  const probe *p;
  int64_t number, rounds, right, wrong, errors;
} chooser;

static void *choose_devices(void *argument) {
  chooser *c = argument;
  char device[32], seen[32];
  snprintf(device, sizeof device, "cpu:%d", (int)(c->number % 2));
  const int64_t sixteen = 16;
  for (int64_t i = 0; i < c->rounds; i++) {
    hxp_context context = 0;
    hxp_tensor tensor = 0;
    bool good = hxp_context_create(device, &c->p->options, &context, NULL) == HXP_OK;
    sched_yield();
    good = good && hxp_tensor_create(context, HXP_DTYPE_F32, 1, &sixteen, &tensor, NULL) == HXP_OK;
    sched_yield();
    good = good && hxp_tensor_device(tensor, seen, sizeof seen, NULL) == HXP_OK;
    if (!good) c->errors++;
    else if (strcmp(seen, device) == 0) c->right++;
    else c->wrong++;
    hxp_tensor_release(tensor, NULL);
    hxp_context_release(context, NULL);
  }
  return NULL;
}

static void *wait_at_gate(void *argument) {
  hxp_gate_wait(*(hxp_gate *)argument, NULL);
  return NULL;
}

bool probe_device_of_context(probe *p, failure *f) {
  int64_t workers, rounds, blocked, right = 0, wrong = 0, errors = 0, waiting = 0;
  if (!parameter(p, "workers", 1, &workers, f) || !parameter(p, "rounds", 1, &rounds, f) || !parameter(p, "blocked", 0, &blocked, f)) return false;
  if (blocked > TASKS_MAX) return fail(f, "request", "parameters", "blocked must be at most %d", TASKS_MAX);
  hxp_gate gate;
  hxp_error error = no_error();
  pthread_t waiters[TASKS_MAX];
  if (!check(f, hxp_gate_create(&gate, &error), &error, "gate")) return false;
  while (waiting < blocked && pthread_create(&waiters[waiting], NULL, wait_at_gate, &gate) == 0) waiting++;
  chooser *all = arena_get(p->r->memory, (size_t)workers * sizeof *all);
  for (int64_t i = 0; i < workers; i++) all[i] = (chooser){.p = p, .number = i, .rounds = rounds};
  bool good = run_tasks(choose_devices, all, sizeof *all, workers, f);
  hxp_gate_open(gate, NULL);
  for (int64_t i = 0; i < waiting; i++) pthread_join(waiters[i], NULL);
  hxp_gate_release(gate, NULL);
  if (good && waiting < blocked) good = fail(f, "internal", "tasks", "only %lld waiting threads could be made", (long long)waiting);
  for (int64_t i = 0; i < workers; i++) right += all[i].right, wrong += all[i].wrong, errors += all[i].errors;
  seen_integer(p, "right", right);
  seen_integer(p, "wrong", wrong);
  seen_integer(p, "errors", errors);
  return good;
}

typedef struct asker {
  hxp_context context;
  int64_t number, calls, own, foreign, empty;
} asker;

/* Does the text hold this number, not as a part of a longer one? */
static bool holds_number(const char *text, int64_t number) {
  char digits[32];
  snprintf(digits, sizeof digits, "%lld", (long long)number);
  for (const char *at = text; (at = strstr(at, digits)) != NULL; at++)
    if (!isdigit((unsigned char)at[strlen(digits)])) return true;
  return false;
}

static void *ask_for_nonsense(void *argument) {
  asker *a = argument;
  for (int64_t i = 0; i < a->calls; i++) {
    int64_t size = -(1000 * a->number + i + 1);
    hxp_error error = no_error();
    hxp_tensor tensor = 0;
    hxp_tensor_create(a->context, HXP_DTYPE_F32, 1, &size, &tensor, &error);
    sched_yield();
    if (error.message[0] == 0) a->empty++;
    else if (holds_number(error.message, size)) a->own++;
    else a->foreign++;
  }
  return NULL;
}

bool probe_error_text(probe *p, failure *f) {
  int64_t workers, calls, own = 0, foreign = 0, empty = 0;
  hxp_context context;
  if (!parameter(p, "workers", 1, &workers, f) || !parameter(p, "calls", 1, &calls, f) || !probe_context(p, &context, f)) return false;
  asker *all = arena_get(p->r->memory, (size_t)workers * sizeof *all);
  for (int64_t i = 0; i < workers; i++) all[i] = (asker){.context = context, .number = i, .calls = calls};
  bool good = run_tasks(ask_for_nonsense, all, sizeof *all, workers, f);
  hxp_context_release(context, NULL);
  for (int64_t i = 0; i < workers; i++) own += all[i].own, foreign += all[i].foreign, empty += all[i].empty;
  seen_integer(p, "own", own);
  seen_integer(p, "foreign", foreign);
  seen_integer(p, "empty", empty);
  return good;
}

typedef struct contestant {
  const probe *p;
  const json *train;
  int64_t updates;
  bool good;
  failure f;
  text outcome; /* bits of losses and norms, then the adapter's digest */
} contestant;

static bool compete(contestant *c, scope *s, arena *memory) {
  hxp_context context;
  session run;
  char digest[65];
  if (!probe_context(c->p, &context, &c->f)) return false;
  scope_own(s, context, hxp_context_release);
  if (!session_open(c->train, context, memory, s, &run, &c->f)) return false;
  for (int64_t k = 1; k <= c->updates; k++) {
    int64_t size, epoch;
    step done = {0};
    const rendered **items = update_records(&run.r.plan, run.train, run.train_count, k, memory, &size, &epoch);
    if (!update(&run.r, items, size, k, &done, &c->f)) return false;
    text_bits(&c->outcome, done.loss);
    text_bits(&c->outcome, done.gradient_norm);
  }
  if (!adapter_digest(&run.r.st, digest, &c->f)) return false;
  text_string(&c->outcome, digest);
  return true;
}

static void *compete_main(void *argument) {
  contestant *c = argument;
  scope s = {0};
  arena memory = {0};
  c->good = compete(c, &s, &memory);
  scope_end(&s);
  arena_end(&memory);
  return NULL;
}

bool probe_two_contexts(probe *p, failure *f) {
  int64_t updates;
  const json *train = parameter_train(p, f);
  if (train == NULL || !parameter(p, "updates", 1, &updates, f)) return false;
  contestant all[3];
  for (int i = 0; i < 3; i++) all[i] = (contestant){.p = p, .train = train, .updates = updates};
  compete_main(&all[0]);
  bool good = run_tasks(compete_main, &all[1], sizeof *all, 2, f), equal = true;
  for (int i = 0; i < 3; i++) {
    if (good && !all[i].good) *f = all[i].f, good = false;
    equal = equal && all[i].outcome.length == all[0].outcome.length &&
            memcmp(all[i].outcome.bytes, all[0].outcome.bytes, all[0].outcome.length) == 0;
    if (i > 0) text_end(&all[i].outcome);
  }
  text_end(&all[0].outcome);
  seen_integer(p, "equal", equal);
  return good;
}

typedef struct racer {
  hxp_tensor tensor;
  hxp_status status;
  bool right;
} racer;

static void *release_there(void *argument) {
  racer *r = argument;
  r->status = hxp_tensor_release(r->tensor, NULL);
  return NULL;
}

bool probe_release_elsewhere(probe *p, failure *f) {
  hxp_context context;
  racer r = {0};
  if (!probe_context(p, &context, f) || !tensor_of(context, 4, 0, &r.tensor, f)) return false;
  bool good = run_tasks(release_there, &r, sizeof r, 1, f);
  hxp_context_release(context, NULL);
  seen_text(p, "status", status_text(r.status));
  return good;
}

static void *read_ones(void *argument) {
  racer *r = argument;
  float values[1024] = {0};
  r->status = hxp_tensor_read(r->tensor, values, sizeof values, NULL);
  r->right = r->status == HXP_OK || r->status == HXP_STALE_HANDLE;
  for (int i = 0; r->status == HXP_OK && i < 1024; i++) r->right = r->right && values[i] == 1;
  return NULL;
}

bool probe_close_race(probe *p, failure *f) {
  int64_t rounds, wrong = 0;
  hxp_context context;
  status_list statuses = {0};
  bool good = true;
  if (!parameter(p, "rounds", 1, &rounds, f) || !probe_context(p, &context, f)) return false;
  for (int64_t i = 0; good && i < rounds; i++) {
    racer r = {0};
    pthread_t thread;
    if (!tensor_of(context, 1024, 1, &r.tensor, f)) return false;
    if (pthread_create(&thread, NULL, read_ones, &r) != 0) return fail(f, "internal", "tasks", "a thread could not be made");
    if (i % 2) sched_yield();
    hxp_tensor_release(r.tensor, NULL);
    pthread_join(thread, NULL);
    wrong += !r.right;
    status_add(&statuses, r.status);
  }
  hxp_context_release(context, NULL);
  seen_integer(p, "rounds", rounds);
  seen_integer(p, "wrong", wrong);
  seen_statuses(p, "statuses", &statuses);
  return good;
}
