/* NCCL's API called on the main thread, on a thread that Score-P knows, and on one that it does not know. */
#ifndef HOST_REGIONS_H
#define HOST_REGIONS_H

#include "lanes.h"

static struct communicator called;

static void call_some(int count) {
  uint64_t from = now() + MILLISECONDS;
  for (int i = 0; i < count; i++) {
    struct operation operation = all_reduce(&called, 1000, from + (uint64_t)i * MILLISECONDS, from + (uint64_t)(i + 1) * MILLISECONDS);
    operation.calls = true;
    add(operation);
  }
  struct operation send = point_to_point(&called, "Send", 1, 1000, from + 20 * MILLISECONDS, from + 21 * MILLISECONDS);
  send.calls = true;
  add(send);
  play();
}

static void *known_thread(void *region) {
  begin_thread("known");
  enter_user_region(*(uint32_t *)region);
  call_some(2);
  leave_user_region(*(uint32_t *)region);
  end_thread("known");
  return NULL;
}

static void *unknown_thread(void *unused) {
  (void)unused;
  call_some(4);
  return NULL;
}

static void on_thread(void *(*body)(void *), void *argument) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, body, argument) == 0, "no thread");
  pthread_join(thread, NULL);
}

static void host_regions(void) {
  begin();
  uint32_t step = user_region("step");
  called = communicator(0x1a2b, 0, 2);
  enter_user_region(step);
  call_some(3);
  leave_user_region(step);
  on_thread(known_thread, &step);
  on_thread(unknown_thread, NULL);
  advance_to(now() + SECONDS);
  finalize(called.context);
}

#endif
