/* A context: one device, its memory account, its workers and its ledger. */
#ifndef HEXAPLA_CONTEXT_H
#define HEXAPLA_CONTEXT_H

#include "hexapla/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t hxp_context;

enum {
  HXP_THREADS_OWNER = 1, /* only the thread that made the context may call it */
  HXP_SPILL = 2          /* past the limit, buffers go to host memory (really copied, slow) instead of failing */
};

/** Called before the context answers HXP_OUT_OF_MEMORY, on the calling thread, with no lock held.
 *
 *  payload      as given in the options.
 *  need_bytes   what the failing allocation asks for; live_bytes and limit_bytes as they stand.
 *  returns      not 0: memory may have come free, try again; 0: give up now.
 *  Inside it releases and memory queries on this context work; every other call from this thread answers HXP_BUSY. Nothing may be
 *  thrown or unwound out of it.
 */
typedef int32_t (*hxp_pressure_hook)(void *payload, uint64_t need_bytes, uint64_t live_bytes, uint64_t limit_bytes);

typedef struct hxp_context_options {
  uint32_t struct_size;
  uint32_t flags;            /* HXP_THREADS_OWNER, HXP_SPILL, or'ed; default 0 */
  uint32_t threads;          /* worker threads, 1 … 256; default 1; never changes a result */
  uint32_t pressure_retries; /* times the hook is called for one allocation; default 8 */
  uint64_t memory_limit;     /* bytes; 0 = none; default 0 */
  const char *ledger_path;   /* [borrowed] file to map as the ledger; NULL = none; default NULL */
  hxp_pressure_hook pressure_hook; /* NULL = none; default NULL; must outlive the context */
  void *pressure_payload;
} hxp_context_options;

/** A memory account: of one context, or of all contexts of the process. */
typedef struct hxp_memory {
  uint32_t struct_size;
  uint32_t threads;           /* worker threads */
  int64_t live_bytes;         /* device bytes in use now */
  int64_t peak_bytes;         /* the most so far, or since hxp_context_reset_peak */
  int64_t limit_bytes;        /* 0 = none */
  int64_t live_handles;       /* ids given out and not yet released, of every kind (the context's own ids included) */
  int64_t spilled_bytes;      /* of the live bytes, those now in host memory */
  int64_t allocations;        /* allocations made so far */
  int64_t pressure_calls;     /* calls of the pressure hook */
  int64_t pressure_rescues;   /* allocations that succeeded after one */
  int64_t stale_calls;        /* calls answered HXP_STALE_HANDLE; 0 in a context's own account, since a stale id names none */
  int64_t foreign_calls;      /* calls from another OS thread than the context's maker */
  int64_t injected_failures;  /* failures fired by hxp_context_fail_allocation and hxp_context_fail_next */
} hxp_memory;

/** Fill options with defaults and their size.
 *  options  [caller's]
 */
HXP_API void hxp_context_options_init(hxp_context_options *options);

/** Set a memory account's size and zero the rest.
 *  memory   [caller's]
 */
HXP_API void hxp_memory_init(hxp_memory *memory);

/** Make a context on a device.
 *
 *  device   [borrowed] "cpu:N" or "cuda:N", N from 0. Every cpu:N is an account of its own over the same processor.
 *  options  [borrowed] NULL = defaults.
 *  out      [owned]
 *  returns  HXP_OK, HXP_INVALID_ARGUMENT, HXP_DEVICE (no such device), HXP_IO (ledger), HXP_OUT_OF_MEMORY.
 */
HXP_API hxp_status hxp_context_create(const char *device, const hxp_context_options *options, hxp_context *out, hxp_error *error);

/** Take another share: a new id for the same context. out [owned]. */
HXP_API hxp_status hxp_context_retain(hxp_context context, hxp_context *out, hxp_error *error);

/** Give one share back. The context ends with its last share, its children's included. 0 does nothing. Never waits for a call. */
HXP_API hxp_status hxp_context_release(hxp_context context, hxp_error *error);

/** The device's name, as given to hxp_context_create.
 *  out      [caller's] out_bytes bytes; 32 are always enough.
 */
HXP_API hxp_status hxp_context_device(hxp_context context, char *out, uint64_t out_bytes, hxp_error *error);

/** The context's memory account. Never waits for a running call; works inside the pressure hook.
 *  out      [caller's] initialised by hxp_memory_init.
 */
HXP_API hxp_status hxp_context_memory(hxp_context context, hxp_memory *out, hxp_error *error);

/** The account of the whole process: sums over all contexts, and every live handle of every kind (gates, tokenizers and checkpoints
 *  belong to no context and are counted only here). peak_bytes is the most that all contexts together ever had live.
 *  out      [caller's] initialised by hxp_memory_init.
 */
HXP_API hxp_status hxp_process_memory(hxp_memory *out, hxp_error *error);

/** Let peak_bytes start again from live_bytes. */
HXP_API hxp_status hxp_context_reset_peak(hxp_context context, hxp_error *error);

/** Stamp the ledger: the records that follow belong to this update. A trainer calls it first in every update. */
HXP_API hxp_status hxp_context_mark(hxp_context context, uint64_t update, hxp_error *error);

/** Wait until everything queued on the device is done (on cpu nothing ever is queued). */
HXP_API hxp_status hxp_context_synchronize(hxp_context context, hxp_error *error);

/** For tests: make the nth allocation from now (1 = the next) fail with HXP_OUT_OF_MEMORY, pressure hook and all.
 *  nth         0 switches it off.
 *  persistent  not 0: every allocation from the nth on fails.
 */
HXP_API hxp_status hxp_context_fail_allocation(hxp_context context, uint64_t nth, int32_t persistent, hxp_error *error);

/** For tests: let the next call on this context (releases, queries and this one apart) answer `status` with the text
 *  "injected <its name>" and do nothing else.
 *  status   any but HXP_OK.
 */
HXP_API hxp_status hxp_context_fail_next(hxp_context context, hxp_status status, hxp_error *error);

#ifdef __cplusplus
}
#endif

#endif
