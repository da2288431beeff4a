/* Signals that come while callbacks are under way, and handlers that do not come back. */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "../nccl/workers.h"
#include <setjmp.h>
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

/* Nanoseconds between two signals of a profiler, a thousand a second, and of one that has to hit threads that pause most of the time. */
enum { USUAL = 1000000, OFTEN = 200000 };

/* As a profiler does: SIGPROF comes to the calling thread, at this interval. */
static timer_t interrupt_this_thread(long nanoseconds) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  const struct itimerspec often = {{0, nanoseconds}, {0, nanoseconds}};
  check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0, "no timer");
  return timer;
}

/* How often callbacks were interrupted. */
static atomic_long interruptions;

static void *work_interrupted(void *unused) {
  (void)unused;
  /* the first callback of a thread may take locks, for which a handler that forks would wait */
  refusals += !operate();
  timer_t timer = interrupt_this_thread(USUAL);
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

static sigjmp_buf before_the_callback;

static void leave_callback(int signal) {
  (void)signal;
  if (!is_within) return;
  is_within = 0;
  siglongjmp(before_the_callback, 1);
}

/* Time after which the collector no longer waits for a callback that was left: the deadline of these jobs, and a bit more. */
enum { GIVEN_UP_MILLISECONDS = 60 };

/* Has the collector give back all memory that a callback of another thread holds no longer, whatever the machine's speed. */
static void await_memory(void) {
  flush();
  pause_milliseconds(GIVEN_UP_MILLISECONDS);
  flush();
}

/* More operations than there is memory for at a time, on another thread. */
static void *go_round(void *context) {
  for (int i = 0; i < 60000; i++) {
    coll(context);
    if (i % 8192 == 0) await_memory();
    else if (i % 2048 == 0) flush();
  }
  return NULL;
}

/* A handler leaves NUMBER callbacks by siglongjmp. Each of them loses its event at most. Then the thread makes two that are whole and idles:
 * nobody takes it to be in a callback, as an odd number of them would have it. */
static void left_by_siglongjmp(void) {
  void *context = init();
  whole(context);
  mark_callbacks();
  handle_profiler(leave_callback);
  timer_t timer = interrupt_this_thread(OFTEN);
  static volatile long left, made;
  struct event event = a_coll();
  char descriptor[256];
  put_descriptor(&event, descriptor, version);
  while (left < number) {
    if (sigsetjmp(before_the_callback, 1) != 0) {
      left++;
      continue;
    }
    void *handle = NULL;
    table.start(context, &handle, descriptor);
    made += is_recorded(handle);
    table.stop(handle);
    /* Nothing is left behind here, as this is no callback of an event. Each window waits for those that were left in it: the pause bounds the
     * operations of that time. */
    if (made % 1024 == 0) {
      flush();
      pause_milliseconds(5);
    }
  }
  timer_delete(timer);
  coll(context);
  await_memory();
  coll(context);
  pthread_t thread;
  check(pthread_create(&thread, NULL, go_round, context) == 0, "no thread");
  pthread_join(thread, NULL);
  finalize(context);
  puts("any figures");
  printf("least operations %ld\nmost operations %ld\nmost dropped %ld\n", made + 60003, made + 60003 + left, left);
}

#endif
