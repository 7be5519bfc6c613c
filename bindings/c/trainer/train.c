#include "train.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MIGRATION_LAG = 8 };

static const char *string_of(const json *body, const char *key) {
  const json *v = json_get(body, key);
  return v->type == JSON_STRING ? v->bytes : NULL;
}

bool session_open(const json *body, hxp_context context, arena *memory, scope *s, session *out, failure *f) {
  *out = (session){.output = string_of(body, "output"), .initial = string_of(body, "adapter"), .spec_digest = string_of(body, "spec_digest")};
  run *r = &out->r;
  r->context = context;
  if (!spec_read(json_get(body, "spec"), &r->plan, f)) return false;
  renderer marks;
  if (!renderer_open(string_of(body, "tokenizer"), r->plan.chatml, r->plan.length, memory, s, &marks, f)) return false;
  if (!render_file(&marks, string_of(body, "train"), memory, &out->train, &out->train_count, &out->counts, f)) return false;
  if (!render_file(&marks, string_of(body, "heldout"), memory, &out->heldout, &out->heldout_count, &out->counts, f)) return false;
  if (!adapter_config_check(out->initial, &r->plan, memory, f)) return false;
  if (!model_load(string_of(body, "model"), context, memory, s, &r->m, f)) return false;
  adapter_plan(&r->m.shape, &r->plan, memory, &r->st.a);
  const char *from = string_of(body, "resume_from");
  if (from != NULL) {
    if (!state_resume(&r->st, from, out->spec_digest, context, memory, s, &out->start, f)) return false;
  } else if (!adapter_load(out->initial, context, memory, s, &r->st.a, f) || !state_start(&r->st, context, memory, s, f)) {
    return false;
  }
  return run_prepare(r, memory, s, f);
}

typedef struct course {
  const request *r;
  session *run;
  int64_t stop; /* the last update to do */
  bool migrating;
} course;

static bool saves(const course *c, int64_t k) { return k % c->run->r.plan.save_every == 0 || k == c->run->r.plan.updates || k == c->stop; }

static bool prepare_output(const course *c, failure *f) {
  const session *run = c->run;
  if (!output_make(run->output, c->r->memory, f)) return false;
  for (int64_t k = run->start + 1; k <= c->stop; k++) {
    if (!saves(c, k)) continue;
    arena host = {0};
    bool free_path = checkpoint_free(checkpoint_path(run->output, k, &host), f);
    arena_end(&host);
    if (!free_path) return false;
  }
  return true;
}

static void send_data(const request *r, const session *run) {
  event e = event_begin(r->id, r->id_length, "data");
  event_integer(&e, "train", run->train_count);
  event_integer(&e, "heldout", run->heldout_count);
  tally_write(&e, &run->counts);
  event_integer(&e, "markers", run->counts.markers);
  event_send(&e);
}

static void send_step(const request *r, const step *s) {
  event e = event_begin(r->id, r->id_length, "step");
  event_integer(&e, "step", s->number);
  event_integer(&e, "epoch", s->epoch);
  event_integer(&e, "records", s->records);
  event_integer(&e, "tokens", s->tokens);
  event_integer(&e, "labels", s->labels);
  event_number_bits(&e, "loss", s->loss);
  event_number_bits(&e, "gradient_norm", s->gradient_norm);
  event_boolean(&e, "clipped", s->clipped);
  event_number_bits(&e, "learning_rate", s->learning_rate);
  char digest[17];
  snprintf(digest, sizeof digest, "%016llx", (unsigned long long)s->digest);
  event_string(&e, "batch_digest", digest);
  event_number(&e, "milliseconds", s->milliseconds);
  event_send(&e);
}

static bool do_evaluation(const course *c, int64_t k, failure *f) {
  session *run = c->run;
  arena host = {0};
  evaluation e;
  char digest[65], where[48];
  bool good = evaluate(&run->r.m, &run->r.st.a, run->heldout, run->heldout_count, run->r.plan.micro_batch, run->r.leak, &host, &e, f) &&
              adapter_digest(&run->r.st, digest, f);
  if (good) {
    evaluation_send(c->r, k, &e, digest);
    snprintf(where, sizeof where, "update %lld", (long long)k);
    if (!isfinite(e.total)) good = fail(f, "non_finite", where, "the held-out loss is not finite");
  }
  arena_end(&host);
  return good;
}

static bool do_checkpoint(const course *c, int64_t k, arena *host, failure *f) {
  session *run = c->run;
  const char *path = checkpoint_path(run->output, k, host);
  char adapter[65], optimizer[65];
  if (!checkpoint_save(&run->r.st, path, run->initial, run->spec_digest, k, host, f)) return false;
  if (!adapter_digest(&run->r.st, adapter, f) || !optimizer_digest(&run->r.st, host, optimizer, f)) return false;
  event e = event_begin(c->r->id, c->r->id_length, "checkpoint");
  event_integer(&e, "step", k);
  event_string(&e, "path", path);
  event_string(&e, "adapter_digest", adapter);
  event_string(&e, "optimizer_digest", optimizer);
  event_send(&e);
  return true;
}

/* Update k with all that is due behind it. */
static bool one_update(const course *c, int64_t k, failure *f) {
  session *run = c->run;
  const spec *plan = &run->r.plan;
  arena host = {0};
  step s = {0};
  int64_t size;
  const rendered **items = update_records(plan, run->train, run->train_count, k, &host, &size, &s.epoch);
  bool good = update(&run->r, items, size, k, &s, f);
  if (good) send_step(c->r, &s);
  if (good && (k % plan->evaluate_every == 0 || k == plan->updates)) good = do_evaluation(c, k, f);
  if (good && saves(c, k)) good = do_checkpoint(c, k, &host, f);
  arena_end(&host);
  return good;
}

/* One update on a thread of its own, which then stays in hxp_gate_wait (`schedule: migrating`). */
typedef struct task {
  const course *c;
  int64_t k;
  hxp_gate gate;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool begun, ended, good;
  failure f;
} task;

static void *task_main(void *argument) {
  task *t = argument;
  bool good = one_update(t->c, t->k, &t->f);
  pthread_mutex_lock(&t->lock);
  t->ended = true;
  t->good = good;
  pthread_cond_signal(&t->changed);
  pthread_mutex_unlock(&t->lock);
  hxp_gate_wait(t->gate, NULL);
  return NULL;
}

static void task_finish(task *t) {
  if (!t->begun) return;
  hxp_gate_open(t->gate, NULL);
  pthread_join(t->thread, NULL);
  hxp_gate_release(t->gate, NULL);
  pthread_mutex_destroy(&t->lock);
  pthread_cond_destroy(&t->changed);
  t->begun = false;
}

static bool task_run(task *t, failure *f) {
  hxp_error error = no_error();
  if (!check(f, hxp_gate_create(&t->gate, &error), &error, "gate")) return false;
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->changed, NULL);
  if (pthread_create(&t->thread, NULL, task_main, t) != 0) {
    hxp_gate_release(t->gate, NULL);
    return fail(f, "internal", "migrating", "a thread could not be made");
  }
  t->begun = true;
  pthread_mutex_lock(&t->lock);
  while (!t->ended) pthread_cond_wait(&t->changed, &t->lock);
  pthread_mutex_unlock(&t->lock);
  if (!t->good) *f = t->f;
  return t->good;
}

/* Updates start+1 … stop. Sets *last to the last one done. */
static bool all_updates(const course *c, int64_t *last, failure *f) {
  task ring[MIGRATION_LAG + 1] = {0};
  bool good = true;
  for (int64_t k = c->run->start + 1; good && k <= c->stop && !input_ended(c->r->in); k++) {
    task *t = &ring[k % (MIGRATION_LAG + 1)];
    if (c->migrating) {
      task_finish(&ring[(k + 1) % (MIGRATION_LAG + 1)]); /* update k − 8: update k begins now */
      *t = (task){.c = c, .k = k};
      good = task_run(t, f);
    } else {
      good = one_update(c, k, f);
    }
    if (good) *last = k;
  }
  for (int i = 0; i <= MIGRATION_LAG; i++) task_finish(&ring[i]);
  return good;
}

static bool choose(const request *r, session *run, course *c, failure *f) {
  const json *schedule = json_get(r->body, "schedule"), *release = json_get(r->body, "release"), *stop = json_get(r->body, "stop_after");
  *c = (course){.r = r, .run = run, .stop = run->r.plan.updates, .migrating = json_is(schedule, "migrating")};
  run->r.leak = json_is(release, "collector");
  if (!c->migrating && !json_is(schedule, "pinned")) return fail(f, "request", "schedule", "schedule must be pinned or migrating");
  if (!run->r.leak && !json_is(release, "explicit")) return fail(f, "request", "release", "release must be explicit or collector");
  if (run->start >= run->r.plan.updates) return fail(f, "request", "resume_from", "the checkpoint is at the last update already");
  if (stop->type != JSON_NULL && (!json_integer(stop, &c->stop) || c->stop <= run->start || c->stop > run->r.plan.updates))
    return fail(f, "request", "stop_after", "stop_after must lie above %lld and not above %lld", (long long)run->start,
                (long long)run->r.plan.updates);
  return true;
}

static bool train(const request *r, scope *s, int64_t *last, bool *stopped, int64_t *peak, failure *f) {
  hxp_context context;
  session run;
  course c;
  if (!request_keys(r->body, "request", "protocol:i id:s request:s context:o " TRAIN_KEYS, f)) return false;
  if (!request_context(r, s, &context, f) || !session_open(r->body, context, r->memory, s, &run, f)) return false;
  if (!choose(r, &run, &c, f) || !prepare_output(&c, f)) return false;
  send_data(r, &run);
  if (run.start == 0 && !do_evaluation(&c, 0, f)) return false;
  *last = run.start;
  if (!all_updates(&c, last, f)) return false;
  *stopped = *last < run.r.plan.updates;
  hxp_memory account;
  hxp_error error = no_error();
  hxp_memory_init(&account);
  if (!check(f, hxp_context_memory(context, &account, &error), &error, "memory")) return false;
  *peak = account.peak_bytes;
  return true;
}

bool handle_train(const request *r, failure *f) {
  scope s = {0};
  int64_t last = 0, peak = 0;
  bool stopped = false, good = train(r, &s, &last, &stopped, &peak, f);
  scope_end(&s);
  if (!good) return false;
  hxp_memory process;
  hxp_error error = no_error();
  hxp_memory_init(&process);
  if (!check(f, hxp_process_memory(&process, &error), &error, "memory")) return false;
  event done = event_begin(r->id, r->id_length, "done");
  event_integer(&done, "step", last);
  event_boolean(&done, "stopped", stopped);
  event_integer(&done, "device_bytes_peak", peak);
  event_integer(&done, "handles_live", process.live_handles);
  event_send(&done);
  return true;
}
