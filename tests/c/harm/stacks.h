/* Threads with small stacks. */
#ifndef STACKS_H
#define STACKS_H

#include "../nccl/workers.h"
#include <limits.h>

static void *operate_some_times(void *unused) {
  for (int i = 0; i < 20; i++) check(operate(), "not recorded");
  return unused;
}

static void on_a_small_stack(void *(*work)(void *)) {
  size_t size = number ? (size_t)number << 10 : (size_t)sysconf(_SC_THREAD_STACK_MIN);
  pthread_attr_t attributes;
  pthread_t thread;
  check(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, size) == 0, "no stack of %zu bytes", size);
  check(pthread_create(&thread, &attributes, work, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/* Threads with a stack of NUMBER KiB, or of the least that the system takes. What lies below must not be touched. */
static void small_stacks(void) {
  shared_context = init();
  for (int i = 0; i < 20; i++) on_a_small_stack(operate_some_times);
  finalize(shared_context);
  account();
}

static void *begin_and_end(void *unused) {
  shared_context = init();
  operate_some_times(NULL);
  finalize(shared_context);
  return unused;
}

/* The same, and the first init of the process is there. */
static void begun_on_a_small_stack(void) {
  at_the_edge(0);
  on_a_small_stack(begin_and_end);
  account();
}

#endif
