/* Threads that are cancelled: where they may be, which is never in a callback. */
#ifndef CANCELLATION_H
#define CANCELLATION_H

#include "../nccl/workers.h"
#include <sched.h>

static void *operate_until_cancelled(void *unused) {
  for (;;) {
    refusals += !operate();
    pthread_testcancel();
  }
  return unused;
}

/* Threads come and are cancelled at any time. Each ends between two operations, so all that it has made is in the figures. Beside other
 * work the collector gets behind three such threads, so the memory may be full: what the plugin refuses then is counted as dropped. */
static void cancelled_amid_recording(void) {
  shared_context = init();
  for (int i = 0; i < 60; i++) {
    pthread_t threads[3];
    for (int j = 0; j < 3; j++) check(pthread_create(&threads[j], NULL, operate_until_cancelled, NULL) == 0, "no thread");
    for (int j = 0; j < 3; j++) {
      void *result;
      pause_milliseconds(1);
      check(pthread_cancel(threads[j]) == 0 && pthread_join(threads[j], &result) == 0 && result == PTHREAD_CANCELED, "not cancelled");
    }
    flush();
  }
  finalize(shared_context);
  want.dropped += refusals;
  account();
}

static atomic_bool has_flushed, is_begun;

static void *flush_cancelled(void *context) {
  pthread_cancel(pthread_self());
  flush();
  finalize(context);
  has_flushed = true;
  pthread_testcancel();
  return NULL;
}

/* A thread whose cancellation is pending waits for the collector all the same. */
static void cancelled_while_waiting(void) {
  for (int i = 0; i < 5; i++) {
    void *context = init(), *result;
    whole(context);
    has_flushed = false;
    pthread_t thread;
    check(pthread_create(&thread, NULL, flush_cancelled, context) == 0, "no thread");
    pthread_join(thread, &result);
    check(has_flushed && result == PTHREAD_CANCELED, "the thread ended elsewhere");
  }
}

/* Where it may be cancelled at any instruction; but for its first callback, if it is the process' first thread of that kind. */
static void *operate_until_cancelled_anywhere(void *first) {
  int before;
  if (first) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
  operate();
  is_begun = true;
  if (first) return NULL;
  for (;;) operate();
}

/* Threads are cancelled at any instruction. None is in a callback then, so an operation is whole or lacks callbacks that were never made. */
static void cancelled_anywhere(void) {
  shared_context = init();
  for (int i = 0; i < 100; i++) {
    pthread_t thread;
    void *result;
    is_begun = false;
    check(pthread_create(&thread, NULL, operate_until_cancelled_anywhere, i == 0 ? shared_context : NULL) == 0, "no thread");
    while (!is_begun) sched_yield();
    for (volatile int j = 0; j < i * 37 % 5000; j++);
    check(i == 0 || pthread_cancel(thread) == 0, "not cancelled");
    check(pthread_join(thread, &result) == 0 && result == (i == 0 ? NULL : PTHREAD_CANCELED), "ended elsewhere: %d %p", i, result);
    if (i % 10 == 0) flush();
  }
  finalize(shared_context);
  printf("any figures\nleast operations 100\n");
}

#endif
