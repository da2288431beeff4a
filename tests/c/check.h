/* The one way in which a host ends that finds something wrong. */
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static void check(bool right, const char *what, ...) {
  if (right) return;
  va_list more;
  va_start(more, what);
  fputs("host: ", stderr);
  vfprintf(stderr, what, more);
  va_end(more);
  fputs("\n", stderr);
  _exit(1);
}

#endif
