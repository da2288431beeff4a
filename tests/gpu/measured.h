/* Time and processors of programs that measure calls and operations. They define _GNU_SOURCE. */
#ifndef MEASURED_H
#define MEASURED_H

#include <sched.h>
#include <time.h>

static inline double microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

/* The process gets its rank's share of the processors, and the calling thread one of them (ranks.py says why). NCCL's
 * and the plugin's threads are made later and get what the calling thread has then. */
static inline void bind_to(int first, int count) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  for (int i = first; i < first + count; i++) CPU_SET(i, &processors);
  sched_setaffinity(0, sizeof processors, &processors);
}

#endif
