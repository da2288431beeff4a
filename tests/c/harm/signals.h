/* Signals that come while callbacks are under way. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "../nccl/workers.h"
#include <signal.h>
#include <sys/syscall.h>

/* The plugin's own functions for events. Around them is noted that the thread is within a callback. */
static struct table unmarked;
static _Thread_local volatile sig_atomic_t is_within;

static int marked_start(void *context, void **handle, void *descriptor) {
  is_within = 1;
  int result = unmarked.start(context, handle, descriptor);
  is_within = 0;
  return result;
}

static int marked_stop(void *handle) {
  is_within = 1;
  int result = unmarked.stop(handle);
  is_within = 0;
  return result;
}

static int marked_state(void *handle, int number, void *arguments) {
  is_within = 1;
  int result = unmarked.state(handle, number, arguments);
  is_within = 0;
  return result;
}

static void mark_callbacks(void) {
  unmarked = table;
  table.start = marked_start, table.stop = marked_stop, table.state = marked_state;
}

static void handle_profiler(void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  check(sigaction(SIGPROF, &action, NULL) == 0, "no handler");
}

/* As a profiler does: SIGPROF comes to the calling thread, a thousand times a second. */
static timer_t interrupt_this_thread(void) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  const struct itimerspec often = {{0, 1000000}, {0, 1000000}};
  check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0, "no timer");
  return timer;
}

/* How often callbacks were interrupted. */
static atomic_long interruptions;

static void *work_interrupted(void *unused) {
  (void)unused;
  /* the first callback of a thread may take locks, for which a handler that forks would wait */
  refusals += !operate();
  timer_t timer = interrupt_this_thread();
  work("for all that time");
  timer_delete(timer);
  return NULL;
}

/* Three threads at work, until their callbacks were interrupted so often. */
static long enough;

static void work_until_interrupted(long times, void (*handler)(int)) {
  enough = times;
  mark_callbacks();
  handle_profiler(handler);
  shared_context = init();
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) check(pthread_create(&threads[i], NULL, work_interrupted, NULL) == 0, "no thread");
  while (interruptions < enough) pause_milliseconds(1);
  over = true;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  finalize(shared_context);
  want.dropped += refusals;
  account();
}

/* Whether it is one of a callback, and one that is wanted: a handler that takes longer than it is to the next signal would have no end. */
static bool interrupts(void) { return is_within && interruptions++ < enough; }

static void note_interruption(int signal) {
  (void)signal;
  interrupts();
}

/* Callbacks that a profiler interrupts have the figures of others. */
static void interrupted(void) { work_until_interrupted(1000, note_interruption); }

/* A handler makes a callback in the midst of another one. NCCL has no such handler, and counts need not be right then. */
static void call_back(int signal) {
  (void)signal;
  if (!interrupts()) return;
  void *handle = GARBAGE;
  struct event event = a_coll();
  char descriptor[256];
  put_descriptor(&event, descriptor, version);
  check(unmarked.start(shared_context, &handle, descriptor) == 0 && handle != GARBAGE, "start in a handler");
  check(unmarked.stop(handle) == 0, "stop in a handler");
}

static void interrupted_by_callbacks(void) {
  work_until_interrupted(1000, call_back);
  puts("any figures");
}

#endif
