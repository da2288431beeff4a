/* Threads with small stacks. */
#ifndef STACKS_H
#define STACKS_H

#include "../nccl/workers.h"
#include <limits.h>

static void *operate_some_times(void *unused) {
  for (int i = 0; i < 20; i++) check(operate(), "not recorded");
  return unused;
}

/* Threads with a stack of NUMBER KiB, or of the least that the system takes. What lies below must not be touched. */
static void small_stacks(void) {
  shared_context = init();
  size_t size = number ? (size_t)number << 10 : (size_t)sysconf(_SC_THREAD_STACK_MIN);
  for (int i = 0; i < 20; i++) {
    pthread_attr_t attributes;
    pthread_t thread;
    check(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, size) == 0, "no stack of %zu bytes", size);
    check(pthread_create(&thread, &attributes, operate_some_times, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
  }
  finalize(shared_context);
  account();
}

#endif
