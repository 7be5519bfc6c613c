/* Host memory: an arena whose contents live as long as one request, and a realloc that does not return NULL. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

typedef struct arena_block arena_block;

typedef struct arena {
  arena_block *blocks;
} arena;

/** Zeroed memory, aligned for any type, that lives until arena_end. */
void *arena_get(arena *a, size_t bytes);

/** A copy of `length` bytes with a zero byte behind them. */
char *arena_copy(arena *a, const char *bytes, size_t length);

/** printf into the arena. */
char *arena_format(arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

void arena_end(arena *a);

/** realloc that ends the program, with a line on stderr, when host memory is exhausted. */
void *grow(void *memory, size_t bytes);

#endif
