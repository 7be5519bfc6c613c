#include "scope.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

void scope_own(scope *s, uint64_t id, release_function release) {
  if (s->count == s->capacity) {
    s->capacity = s->capacity ? 2 * s->capacity : 64;
    s->items = grow(s->items, s->capacity * sizeof *s->items);
  }
  s->items[s->count++] = (owned){id, release};
}

void scope_tensor(scope *s, hxp_tensor tensor) { scope_own(s, tensor, hxp_tensor_release); }

void scope_close(scope *s) {
  while (s->count > 0) {
    owned item = s->items[--s->count];
    hxp_error error = no_error();
    if (item.release(item.id, &error) != HXP_OK) fprintf(stderr, "a release failed: %s\n", error.message);
  }
}

void scope_leak(scope *s) { s->count = 0; }

void scope_end(scope *s) {
  scope_close(s);
  free(s->items);
  *s = (scope){0};
}
