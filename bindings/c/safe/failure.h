/* A failure: what went wrong, where, and under which status. Every function that can fail returns false and fills the failure it was
 * given; the one who answers the request sends it as the `error` event. Core's text is passed on byte for byte. */
#ifndef FAILURE_H
#define FAILURE_H

#include <stdbool.h>

#include "hexapla.h"

typedef struct failure {
  char status[32];
  char message[2048];
  char where[4352];
} failure;

/** Fill a failure of the trainer's own finding. Always returns false, so that `return fail(…)` reads as it is meant. */
bool fail(failure *f, const char *status, const char *where, const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Turn a core status into success or a failure; `where` says what the call was about. A status this binding does not know is a bug and
 *  stops the program. */
bool check(failure *f, hxp_status status, const hxp_error *error, const char *where);

/** An error struct ready for a call. */
hxp_error no_error(void);

#endif
