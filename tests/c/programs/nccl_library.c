/* NCCL's shared library, as far as the plugin looks at it: its release, which HOST_RELEASE tells, and its logger, which
 * prints all it is told. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ncclGetVersion(int *version);
int ncclGetVersion(int *version) {
  const char *release = getenv("HOST_RELEASE");
  *version = release ? atoi(release) : 0;
  return release ? 0 : 1;
}

/* A library may start processes that outlive whoever loads it: this one holds standard output until somebody opens that FIFO. */
__attribute__((constructor)) static void linger(void) {
  const char *fifo = getenv("HOST_LINGERS");
  if (!fifo || fork() != 0) return;
  alarm(120);
  int file = open(fifo, O_RDONLY);
  _exit(file < 0);
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
