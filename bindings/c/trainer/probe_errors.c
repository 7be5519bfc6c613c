/* Probes of the errors axis: every status provoked, and a save that runs out of room. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "probe.h"

static const int64_t ONE = 1;

/* What a provocation works on; it answers the status and fills the error. */
typedef struct provocation {
  const probe *p;
  hxp_context context;
  hxp_tensor tensor; /* of shape (1) */
  hxp_error error;
  failure *f;    /* why there was nothing to provoke with: the request's failure, no status of core's */
  bool hindered; /* f is set */
} provocation;

static hxp_status one_more(provocation *v) {
  hxp_tensor made = 0;
  hxp_status status = hxp_tensor_create(v->context, HXP_DTYPE_F32, 1, &ONE, &made, &v->error);
  hxp_tensor_release(made, NULL);
  return status;
}

static hxp_status provoke_invalid(provocation *v) {
  const int64_t negative = -1;
  hxp_tensor made = 0;
  return hxp_tensor_create(v->context, HXP_DTYPE_F32, 1, &negative, &made, &v->error);
}

static hxp_status provoke_memory(provocation *v) {
  const int64_t count = 524288;
  hxp_tensor made = 0;
  hxp_status status = hxp_tensor_create(v->context, HXP_DTYPE_F32, 1, &count, &made, &v->error);
  hxp_tensor_release(made, NULL);
  return status;
}

static hxp_status provoke_stale(provocation *v) {
  float value;
  hxp_tensor gone = 0;
  hxp_tensor_retain(v->tensor, &gone, NULL);
  hxp_tensor_release(gone, NULL);
  return hxp_tensor_read(gone, &value, sizeof value, &v->error);
}

static hxp_status provoke_kind(provocation *v) {
  char device[32];
  return hxp_context_device(v->tensor, device, sizeof device, &v->error);
}

typedef struct elsewhere {
  provocation *v;
  hxp_status status;
} elsewhere;

static void *make_there(void *argument) {
  elsewhere *e = argument;
  e->status = one_more(e->v);
  return NULL;
}

static hxp_status provoke_thread(provocation *v) {
  elsewhere e = {v, HXP_OK};
  pthread_t thread;
  if (pthread_create(&thread, NULL, make_there, &e) == 0) pthread_join(thread, NULL);
  return e.status;
}

/* The pressure hook of HXP_BUSY: asks for a tensor and keeps the answer. */
typedef struct busy {
  provocation *v;
  hxp_status status;
  hxp_error error;
} busy;

static int32_t ask_inside(void *payload, uint64_t need, uint64_t live, uint64_t limit) {
  (void)need, (void)live, (void)limit;
  busy *b = payload;
  hxp_tensor made = 0;
  b->error = no_error();
  b->status = hxp_tensor_create(b->v->context, HXP_DTYPE_F32, 1, &ONE, &made, &b->error);
  return 0;
}

static hxp_status provoke_device(provocation *v) {
  hxp_context made = 0;
  return hxp_context_create("cuda:255", &v->p->options, &made, &v->error);
}

static hxp_status provoke_gradient(provocation *v) {
  hxp_tape tape = 0;
  hxp_tape_create(v->context, &tape, NULL);
  hxp_status status = hxp_tape_backward(tape, v->tensor, 0, &v->error);
  hxp_tape_release(tape, NULL);
  return status;
}

static hxp_status open_and_close(const char *path, hxp_error *error) {
  hxp_checkpoint reader = 0;
  hxp_status status = hxp_checkpoint_open(path, &reader, error);
  hxp_checkpoint_release(reader, NULL);
  return status;
}

static hxp_status provoke_io(provocation *v) { return open_and_close("/nonexistent/hexapla", &v->error); }

/* Always HXP_OK; errno says why. */
static hxp_status hinder(provocation *v, const char *path, const char *doing) {
  v->hindered = true;
  fail(v->f, "io", path, "cannot %s: %s", doing, strerror(errno));
  return HXP_OK;
}

static bool write_zeros(const char *path, size_t count) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return false;
  bool written = true;
  while (written && count-- > 0) written = fputc(0, file) != EOF;
  return fclose(file) == 0 && written;
}

static hxp_status provoke_format(provocation *v) {
  const char *base = getenv("TMPDIR");
  char folder[PATH_MAX], path[PATH_MAX + 32];
  snprintf(folder, sizeof folder, "%s/hexapla-XXXXXX", base != NULL ? base : "/tmp");
  if (mkdtemp(folder) == NULL) return hinder(v, folder, "make a folder");
  snprintf(path, sizeof path, "%s/bad.safetensors", folder);
  hxp_status status = write_zeros(path, 7) ? open_and_close(path, &v->error) : hinder(v, path, "write");
  unlink(path);
  rmdir(folder);
  return status;
}

static hxp_status provoke_not_found(provocation *v) {
  hxp_context_fail_next(v->context, HXP_NOT_FOUND, NULL);
  return one_more(v);
}

static hxp_status provoke_unsupported(provocation *v) {
  hxp_tensor made = 0;
  return hxp_tensor_create(v->context, HXP_DTYPE_F16, 1, &ONE, &made, &v->error);
}

static hxp_status provoke_internal(provocation *v) {
  hxp_context_fail_next(v->context, HXP_INTERNAL, NULL);
  return one_more(v);
}

static hxp_status (*const provocations[])(provocation *v) = {
    [HXP_OK] = one_more,
    [HXP_INVALID_ARGUMENT] = provoke_invalid,
    [HXP_OUT_OF_MEMORY] = provoke_memory,
    [HXP_STALE_HANDLE] = provoke_stale,
    [HXP_WRONG_KIND] = provoke_kind,
    [HXP_WRONG_THREAD] = provoke_thread,
    [HXP_BUSY] = provoke_memory,
    [HXP_DEVICE] = provoke_device,
    [HXP_NO_GRADIENT] = provoke_gradient,
    [HXP_IO] = provoke_io,
    [HXP_FORMAT] = provoke_format,
    [HXP_NOT_FOUND] = provoke_not_found,
    [HXP_UNSUPPORTED] = provoke_unsupported,
    [HXP_INTERNAL] = provoke_internal,
};

bool probe_status(probe *p, failure *f) {
  const json *name = json_get(p->parameters, "status");
  hxp_status wanted = 0, known = sizeof provocations / sizeof *provocations;
  while (wanted < known && (name == NULL || !json_is(name, status_text(wanted)))) wanted++;
  if (wanted == known) return fail(f, "request", "parameters", "status must be the name of a status");
  provocation v = {.p = p, .error = no_error(), .f = f};
  busy b = {.v = &v};
  hxp_context_options options = p->options;
  if (wanted == HXP_OUT_OF_MEMORY || wanted == HXP_BUSY) options.memory_limit = 1048576;
  if (wanted == HXP_WRONG_THREAD) options.flags |= HXP_THREADS_OWNER;
  if (wanted == HXP_BUSY) options.pressure_hook = ask_inside, options.pressure_payload = &b;
  hxp_error error = no_error();
  if (!check(f, hxp_context_create(p->device, &options, &v.context, &error), &error, "context")) return false;
  bool works_on_one = wanted == HXP_STALE_HANDLE || wanted == HXP_WRONG_KIND || wanted == HXP_NO_GRADIENT;
  bool good = !works_on_one || tensor_of(v.context, 1, 0, &v.tensor, f);
  if (good) {
    hxp_status status = provocations[wanted](&v);
    good = !v.hindered;
    if (wanted == HXP_BUSY) {
      status = b.status;
      v.error = b.error;
    }
    seen_text(p, "status", status_text(status));
    seen_text(p, "message", v.error.message);
    seen_text(p, "error_type", status == HXP_OK ? "" : status_text(status)); /* C has no other type of errors */
  }
  hxp_tensor_release(v.tensor, NULL);
  hxp_context_release(v.context, NULL);
  return good;
}

static bool save_update(session *run, int64_t k, arena *memory, failure *f) {
  int64_t size, epoch;
  step done = {0};
  const rendered **items = update_records(&run->r.plan, run->train, run->train_count, k, memory, &size, &epoch);
  return update(&run->r, items, size, k, &done, f) &&
         checkpoint_save(&run->r.st, checkpoint_path(run->output, k, memory), run->initial, run->spec_digest, k, memory, f);
}

bool probe_write_fails(probe *p, failure *f) {
  int64_t limit, update_number = 0;
  const json *train = parameter_train(p, f);
  hxp_context context;
  session run;
  scope s = {0}, again = {0};
  if (train == NULL || !parameter(p, "limit_bytes", 1, &limit, f) || !probe_context(p, &context, f)) return false;
  bool good = session_open(train, context, p->r->memory, &s, &run, f) && output_make(run.output, p->r->memory, f);
  if (good && save_update(&run, 1, p->r->memory, f)) {
    struct rlimit before, tight;
    failure caught = {.status = "HXP_OK"};
    getrlimit(RLIMIT_FSIZE, &before);
    tight = (struct rlimit){(rlim_t)limit, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &tight);
    save_update(&run, 2, p->r->memory, &caught);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    state loaded = {0};
    failure ignored;
    adapter_plan(&run.r.m.shape, &run.r.plan, p->r->memory, &loaded.a);
    bool loads = state_resume(&loaded, checkpoint_path(run.output, 1, p->r->memory), run.spec_digest, context, p->r->memory, &again,
                              &update_number, &ignored);
    seen_text(p, "status", caught.status);
    seen_integer(p, "previous_loads", loads && update_number == 1);
  } else {
    good = false;
  }
  scope_end(&again);
  scope_end(&s);
  hxp_context_release(context, NULL);
  return good;
}
