/* Status codes, the error struct, and who this library is. Everything else includes this header. */
#ifndef HEXAPLA_STATUS_H
#define HEXAPLA_STATUS_H

#include <stdint.h>

#if defined(__GNUC__)
#define HXP_API __attribute__((visibility("default")))
#else
#define HXP_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The ABI that this header describes; a binding compares it with hxp_abi_version() at load. */
#define HXP_ABI_VERSION 1

/** What a call answers. A binding that meets a number not listed here has met a bug and stops. */
typedef int32_t hxp_status;
enum {
  HXP_OK = 0,
  HXP_INVALID_ARGUMENT = 1, /* a shape, size, index or pointer is wrong; the text names it and its value */
  HXP_OUT_OF_MEMORY = 2,    /* the context's limit or the device is full; the text names need, live, limit and live handles */
  HXP_STALE_HANDLE = 3,     /* the id was released already, or was never given out */
  HXP_WRONG_KIND = 4,       /* the id is of another kind */
  HXP_WRONG_THREAD = 5,     /* a context made with HXP_THREADS_OWNER was called from another thread */
  HXP_BUSY = 6,             /* a call from inside the context's own pressure hook */
  HXP_DEVICE = 7,           /* no such device, or it refused (kernel launch, driver) */
  HXP_NO_GRADIENT = 8,      /* backward is not defined here: nothing recorded, or the tensor is not watched */
  HXP_IO = 9,               /* the operating system refused a file; its own text follows */
  HXP_FORMAT = 10,          /* a file's bytes break their format */
  HXP_NOT_FOUND = 11,       /* no tensor, token or key of that name */
  HXP_UNSUPPORTED = 12,     /* well formed, but this core does not do it (a dtype, a tokenizer's model) */
  HXP_INTERNAL = 13         /* a bug in core */
};

/** Where a failing call puts its text: one line, UTF-8, ended by a zero byte. */
typedef struct hxp_error {
  uint32_t struct_size; /* set by hxp_error_init */
  hxp_status status;    /* the status that the call returned */
  char message[1016];
} hxp_error;

/** Set an error's size and empty its text.
 *  error    [caller's] may be NULL.
 */
HXP_API void hxp_error_init(hxp_error *error);

/** The name of a status ("HXP_OK", …).
 *  returns  view, lives as long as the library; NULL for a number that is no status.
 */
HXP_API const char *hxp_status_name(hxp_status status);

/** The ABI version that the loaded library was built for. */
HXP_API uint32_t hxp_abi_version(void);

/** One line that names version, commit, compiler, CPU, BLAS and its kernel, backends and compiled-in faults.
 *  returns  view, lives as long as the library.
 */
HXP_API const char *hxp_build_info(void);

/** The fault switches compiled into this build, comma-separated; "" in a normal build.
 *  returns  view, lives as long as the library.
 */
HXP_API const char *hxp_build_faults(void);

#ifdef __cplusplus
}
#endif

#endif
