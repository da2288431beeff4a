/* Threads that are cancelled: where they may be, which is never in a callback. */
#ifndef CANCELLATION_H
#define CANCELLATION_H

#include "../nccl/workers.h"

static void *operate_until_cancelled(void *unused) {
  for (;;) {
    check(operate(), "not recorded");
    pthread_testcancel();
  }
  return unused;
}

/* Threads come and are cancelled at any time. Each ends between two operations, so all that it has made is in the figures. */
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
  account();
}

static atomic_bool has_flushed;

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

#endif
