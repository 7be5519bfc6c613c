/* The ledger: a file that a context maps and writes one record into per call, read by others from outside, live or after a crash.
 * Little-endian. The file is a header of HXP_LEDGER_HEADER_BYTES, then a ring of `capacity` records; record n (from 0) lies in slot
 * n mod capacity. Contexts of one process with the same path share the file; a new process truncates it. */
#ifndef HEXAPLA_LEDGER_H
#define HEXAPLA_LEDGER_H

#include "hexapla/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  HXP_LEDGER_VERSION = 1,
  HXP_LEDGER_HEADER_BYTES = 4096,
  HXP_LEDGER_RECORD_BYTES = 64,
  HXP_LEDGER_CAPACITY = 1048576
};

/** The first bytes of the file; the rest of the header is zero. */
typedef struct hxp_ledger_header {
  char magic[4]; /* "HXPL" */
  uint32_t version;
  uint32_t record_bytes;
  uint32_t capacity;
  uint64_t written; /* records so far; never wraps */
  int64_t live_bytes;
  int64_t peak_bytes;
  int64_t limit_bytes; /* of the context made last; 0 = none */
  int64_t live_handles;
} hxp_ledger_header;

/** One call. */
typedef struct hxp_ledger_record {
  uint64_t time_ns;   /* CLOCK_MONOTONIC when the call ended */
  uint64_t handle;    /* the id that the call made, used first, or released; with HXP_STALE_HANDLE the id that was released before */
  int64_t bytes;      /* device bytes taken (> 0) or given back (< 0) by the call */
  int64_t live_bytes; /* after it */
  uint64_t update;    /* as stamped by hxp_context_mark */
  uint64_t context;   /* number of the context, counted from 1 in the process */
  uint32_t thread;    /* gettid of the caller */
  uint16_t operation; /* HXP_OPERATION_… */
  uint16_t status;
  uint64_t sequence; /* 1 + number of the record; written last, so that a torn record shows */
} hxp_ledger_record;

/** Operations as the ledger numbers them. Calls that work on no context (gates, tokenizers, opening checkpoints) are not recorded; a call with a
 * stale id is recorded in the context in which that id lived, while it lives and among the last few ten thousand ids released. */
enum {
  HXP_OPERATION_CONTEXT_CREATE = 1,
  HXP_OPERATION_CONTEXT_RETAIN = 2,
  HXP_OPERATION_CONTEXT_RELEASE = 3,
  HXP_OPERATION_CONTEXT_MARK = 4,
  HXP_OPERATION_CONTEXT_SYNCHRONIZE = 5,
  HXP_OPERATION_CONTEXT_FAIL = 6, /* hxp_context_fail_allocation, hxp_context_fail_next */
  HXP_OPERATION_PRESSURE = 7,     /* one call of the pressure hook; bytes = what is needed */
  HXP_OPERATION_SPILL = 8,        /* bytes copied to or from host memory */
  HXP_OPERATION_TENSOR_CREATE = 16,
  HXP_OPERATION_TENSOR_RETAIN = 17,
  HXP_OPERATION_TENSOR_RELEASE = 18,
  HXP_OPERATION_TENSOR_WRITE = 19,
  HXP_OPERATION_TENSOR_READ = 20,
  HXP_OPERATION_TENSOR_FILL = 21,
  HXP_OPERATION_TENSOR_ADD_IN_PLACE = 22,
  HXP_OPERATION_TENSOR_DIGEST = 23,
  HXP_OPERATION_TENSOR_CONTEXT = 24,
  HXP_OPERATION_TAPE_CREATE = 32,
  HXP_OPERATION_TAPE_RETAIN = 33,
  HXP_OPERATION_TAPE_RELEASE = 34,
  HXP_OPERATION_TAPE_WATCH = 35,
  HXP_OPERATION_TAPE_GRADIENT = 36,
  HXP_OPERATION_TAPE_BACKWARD = 37,
  HXP_OPERATION_TAPE_RESET = 38,
  HXP_OPERATION_EMBEDDING = 48,
  HXP_OPERATION_RMS_NORM = 49,
  HXP_OPERATION_LINEAR = 50,
  HXP_OPERATION_LORA_LINEAR = 51,
  HXP_OPERATION_ROPE = 52,
  HXP_OPERATION_ATTENTION = 53,
  HXP_OPERATION_SWIGLU = 54,
  HXP_OPERATION_ADD = 55,
  HXP_OPERATION_SCALE = 56,
  HXP_OPERATION_LINEAR_CROSS_ENTROPY = 57,
  HXP_OPERATION_MATMUL = 58,
  HXP_OPERATION_SOFTMAX = 59,
  HXP_OPERATION_REDUCE_SUM = 60,
  HXP_OPERATION_TRANSPOSE = 61,
  HXP_OPERATION_RESHAPE = 62,
  HXP_OPERATION_AS_STRIDED = 63,
  HXP_OPERATION_GRADIENT_NORM = 80,
  HXP_OPERATION_GRADIENT_CLIP = 81,
  HXP_OPERATION_ADAMW_STEP = 82,
  HXP_OPERATION_CHECKPOINT_READ = 96,
  HXP_OPERATION_CHECKPOINT_WRITE = 97
};

/** The name of an operation ("rms_norm", "tensor_release", …).
 *  returns  view, lives as long as the library; NULL for a number that is no operation.
 */
HXP_API const char *hxp_operation_name(uint16_t operation);

#ifdef __cplusplus
}
#endif

#endif
