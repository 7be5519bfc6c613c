/* A scope: the handles that a piece of work owns, released together, newest first. Putting a handle into a scope the moment it is made
 * means that every way out of a function, the failing ones too, releases it once. */
#ifndef SCOPE_H
#define SCOPE_H

#include <stddef.h>

#include "failure.h"

typedef hxp_status (*release_function)(uint64_t id, hxp_error *error);

typedef struct owned {
  uint64_t id;
  release_function release;
} owned;

typedef struct scope {
  owned *items;
  size_t count;
  size_t capacity;
} scope;

/** Give a handle to the scope. Ends the program when host memory is exhausted: there is nothing left to answer with. */
void scope_own(scope *s, uint64_t id, release_function release);

/** Shorthand for the kind met most. */
void scope_tensor(scope *s, hxp_tensor tensor);

/** Release everything and keep the scope for more. */
void scope_close(scope *s);

/** Forget everything without releasing it: the leak that `release: collector` asks of a language without a collector. */
void scope_leak(scope *s);

/** Release everything and free the scope's own memory. */
void scope_end(scope *s);

#endif
