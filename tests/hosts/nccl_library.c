/* NCCL's shared library, as far as the plugin looks at it: its release, which HOST_RELEASE tells, and its logger, which
 * prints all it is told. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int ncclGetVersion(int *version);
int ncclGetVersion(int *version) {
  const char *release = getenv("HOST_RELEASE");
  *version = release ? atoi(release) : 0;
  return release ? 0 : 1;
}

/* ncclDebugLogger_t, under a name of ours: NCCL hands over its address. */
__attribute__((format(printf, 5, 6))) void stand_in_log(int level, unsigned long flags, const char *file, int line, const char *format, ...);
void stand_in_log(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
  printf("log %d %lu %s %d ", level, flags, file, line);
  va_list more;
  va_start(more, format);
  vprintf(format, more);
  va_end(more);
  puts("");
}
