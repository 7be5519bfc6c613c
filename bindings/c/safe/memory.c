#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
  arena_block *next;
  size_t used, capacity;
  _Alignas(16) char bytes[];
};

void *grow(void *memory, size_t bytes) {
  void *grown = realloc(memory, bytes ? bytes : 1);
  if (grown == NULL) {
    fprintf(stderr, "host memory is exhausted: %zu bytes were refused\n", bytes);
    exit(1);
  }
  return grown;
}

void *arena_get(arena *a, size_t bytes) {
  bytes = (bytes + 15) & ~(size_t)15;
  arena_block *block = a->blocks;
  if (block == NULL || block->capacity - block->used < bytes) {
    size_t capacity = bytes > 65536 ? bytes : 65536;
    block = grow(NULL, sizeof *block + capacity);
    *block = (arena_block){a->blocks, 0, capacity};
    a->blocks = block;
  }
  void *memory = block->bytes + block->used;
  block->used += bytes;
  return memset(memory, 0, bytes);
}

char *arena_copy(arena *a, const char *bytes, size_t length) {
  char *copy = arena_get(a, length + 1);
  memcpy(copy, bytes, length);
  return copy;
}

char *arena_format(arena *a, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char *text = arena_get(a, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

void arena_end(arena *a) {
  while (a->blocks != NULL) {
    arena_block *next = a->blocks->next;
    free(a->blocks);
    a->blocks = next;
  }
}
