#include "input.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { CHUNK = 65536 };

static void read_more(input *in) {
  if (in->start > 0) {
    memmove(in->bytes, in->bytes + in->start, in->end - in->start);
    in->end -= in->start;
    in->start = 0;
  }
  if (in->capacity - in->end < CHUNK) {
    in->capacity = in->capacity ? 2 * in->capacity : 2 * CHUNK;
    in->bytes = grow(in->bytes, in->capacity);
  }
  ssize_t got;
  do got = read(STDIN_FILENO, in->bytes + in->end, CHUNK);
  while (got < 0 && errno == EINTR);
  if (got <= 0) in->closed = true;
  else in->end += (size_t)got;
}

line_state input_line(input *in, const char **line, size_t *length) {
  bool too_long = false;
  size_t searched = 0;
  for (;;) {
    char *from = in->bytes + in->start + searched;
    size_t rest = in->end - in->start - searched;
    char *newline = rest ? memchr(from, '\n', rest) : NULL;
    if (newline != NULL || (in->closed && in->end > in->start)) {
      *line = in->bytes + in->start;
      *length = newline ? (size_t)(newline - *line) : in->end - in->start;
      in->start = newline ? (size_t)(newline + 1 - in->bytes) : in->end;
      return too_long || *length > LINE_BYTES_MAX ? LINE_TOO_LONG : LINE_READ;
    }
    if (in->closed) return LINE_END;
    searched = in->end - in->start;
    if (searched > LINE_BYTES_MAX) {
      too_long = true;
      in->start = in->end = searched = 0;
    }
    read_more(in);
  }
}

bool input_ended(input *in) {
  while (!in->closed && in->end - in->start <= LINE_BYTES_MAX) {
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&ready, 1, 0) <= 0 || ready.revents == 0) break;
    read_more(in);
  }
  return in->closed;
}

void input_end(input *in) {
  free(in->bytes);
  *in = (input){0};
}
