#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_text(char *out, size_t size, const char *text) {
  size_t length = strlen(text);
  if (length >= size) length = size - 1;
  memcpy(out, text, length);
  out[length] = 0;
}

bool fail(failure *f, const char *status, const char *where, const char *format, ...) {
  copy_text(f->status, sizeof f->status, status);
  copy_text(f->where, sizeof f->where, where);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f->message, sizeof f->message, format, arguments);
  va_end(arguments);
  return false;
}

bool check(failure *f, hxp_status status, const hxp_error *error, const char *where) {
  if (status == HXP_OK) return true;
  const char *name = hxp_status_name(status);
  if (name == NULL) {
    fprintf(stderr, "core answered the status %d, which this binding does not know\n", (int)status);
    abort();
  }
  copy_text(f->status, sizeof f->status, name);
  copy_text(f->message, sizeof f->message, error->message);
  copy_text(f->where, sizeof f->where, where);
  return false;
}

hxp_error no_error(void) {
  hxp_error error;
  hxp_error_init(&error);
  return error;
}
