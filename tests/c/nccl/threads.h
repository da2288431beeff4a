/* Many threads on one communicator, and its end among them. */
#ifndef THREADS_H
#define THREADS_H

#include "starve.h"
#include "workers.h"

static void run_threads(int count, void *(*body)(void *), void *argument, long milliseconds) {
  pthread_t threads[16];
  for (int i = 0; i < count; i++) check(pthread_create(&threads[i], NULL, body, argument) == 0, "no thread");
  pause_milliseconds(milliseconds);
  over = true;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* What a thread's events find when the communicator goes away under them: they are taken, or refused, and all that were taken
 * are in the figures. */
static void finalized_under_threads(void) {
  for (int round = 0; round < 50; round++) {
    shared_context = init();
    over = false;
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pause_milliseconds(2);
    finalize(shared_context);
    pause_milliseconds(1);
    over = true;
    pthread_join(thread, NULL);
  }
  /* refused because the communicator was over; or, where the collector had no processor for long, because there was no room */
  printf("expect refused %ld\n", refusals + want.dropped);
  want.ignored_handles = want.dropped = want.out_of_step = want.warnings = ANY;
  account();
}

static void *start_and_stop(void *unused) {
  (void)unused;
  for (int i = 0; i < 20000; i++) coll(shared_context);
  return NULL;
}

static void two_threads(void) {
  shared_context = init();
  run_threads(2, start_and_stop, NULL, 0);
  finalize(shared_context);
}

/* The collector gets no processor for four seconds while the process ends. It is waited for: it is not to blame. */
static void starved_at_the_end(void) {
  void *context = init();
  for (int i = 0; i < 1000; i++) whole(context);
  finalize(context);
  starve_for(4000);
}

/* The same handles stopped and changed by two threads at a time: once is right, the other is ignored. */
static void *shared_handles[1000];
static void *stop_shared(void *unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) stop(shared_handles[i]);
  return NULL;
}

static void stopped_by_two(void) {
  void *context = init();
  for (int i = 0; i < 1000; i++) {
    struct event event = a_coll();
    shared_handles[i] = start(context, &event);
    recorded(4096);
  }
  run_threads(2, stop_shared, NULL, 0);
  want.ignored_handles = ANY; /* at most 1000: both may come first */
  finalize(context);
}

/* Eight threads on one communicator at full speed, for NUMBER milliseconds. */
static void storm(void) {
  shared_context = init();
  run_threads(8, work, "for all that time", number ? number : 3000);
  /* the end of the process does not wait for as much as may be left */
  flush();
  finalize(shared_context);
  want.dropped += refusals;
  account();
}

/* Communicators that end in the midst of having their windows taken apart. */
static void *end_while_busy(void *times) {
  for (int i = 0; i < *(int *)times; i++) {
    void *context = init();
    for (int j = 0; j < 130; j++) coll(context);
    finalize(context);
  }
  return NULL;
}

static void finalized_while_busy(void) {
  int times = 500;
  run_threads(2, end_while_busy, &times, 0);
}

/* A thread that makes callbacks while it ends, when the library has heard of that: they are recorded as any others. */
static pthread_key_t last_words;

static void say_last_words(void *context) { whole(context); }

static void *live_and_die(void *context) {
  whole(context);
  pthread_setspecific(last_words, context);
  return NULL;
}

static void last_callbacks(void) {
  void *context = init();
  pthread_key_create(&last_words, say_last_words);
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    pthread_create(&thread, NULL, live_and_die, context);
    pthread_join(thread, NULL);
  }
  finalize(context);
}

static void *one_operation(void *unused) {
  (void)unused;
  whole(shared_context);
  return NULL;
}

static void short_threads(void) {
  shared_context = init();
  for (int i = 0; i < 1000; i++) run_threads(1, one_operation, NULL, 0);
  finalize(shared_context);
}

static void *one_call(void *call) {
  stop(call);
  return NULL;
}

/* A call that stops on another thread than it started on. */
static void moved_between_threads(void) {
  void *context = init();
  struct event event = a_coll();
  for (int i = 0; i < 100; i++) {
    void *operation = start(context, &event);
    recorded(4096);
    run_threads(1, one_call, operation, 0);
    kernel(context, operation, 0);
    timed(true, false);
  }
  finalize(context);
}

static void small_memory(void) {
  void *context = init();
  long given = 0, refused = 0;
  for (int i = 0; i < 100000; i++) {
    struct event event = a_coll();
    void *operation = start(context, &event);
    if (is_recorded(operation)) given++;
    else refused++;
    stop(operation);
  }
  finalize(context);
  want.operations = given;
  want.bytes = 4096 * given;
  want.dropped = refused;
  want.warnings = ANY;
}

#endif
