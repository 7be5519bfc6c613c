/* Requests as they come in on stdin, read by our own buffer: training has to notice the end of stdin without waiting for a line, and
 * without losing requests that are queued already. */
#ifndef INPUT_H
#define INPUT_H

#include <stdbool.h>
#include <stddef.h>

enum { LINE_BYTES_MAX = 16 * 1024 * 1024 };

typedef struct input {
  char *bytes;
  size_t start, end, capacity;
  bool closed; /* stdin has ended */
} input;

typedef enum line_state { LINE_READ, LINE_TOO_LONG, LINE_END } line_state;

/** The next line, without its '\n'; it stays valid until the next call. Blocks until one is there. A line over LINE_BYTES_MAX is
 *  dropped whole. */
line_state input_line(input *in, const char **line, size_t *length);

/** True once stdin has ended, whatever is still queued; never blocks. */
bool input_ended(input *in);

void input_end(input *in);

#endif
