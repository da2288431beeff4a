/* Fork, exit and a fault in the plugin. */
#ifndef PROCESSES_H
#define PROCESSES_H

#include "threads.h"
#include <sys/wait.h>

static void fork_and(bool use) {
  void *context = init();
  whole(context);
  void *open = coll(context);
  fflush(stdout);
  pid_t child = fork();
  check(child >= 0, "no fork");
  if (child == 0) {
    if (use) {
      void *own = init();
      struct event event = a_coll();
      check(start(own, &event) == NULL && start(context, &event) == NULL, "a forked child records");
      stop(open);
      finalize(own), finalize(context);
      dlclose(library);
    }
    exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed: %d", status);
  kernel(context, open, 0);
  timed(true, false);
  whole(context);
  finalize(context);
}

static void forked(void) { fork_and(false); }
static void forked_communicator(void) { fork_and(true); }

/* A child forked while other threads are inside callbacks. */
static void forked_under_threads(void) {
  shared_context = init();
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, "for all that time");
  fflush(stdout);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    check(child >= 0, "no fork");
    if (child == 0) {
      void *own = init();
      struct event event = a_coll();
      start(own, &event);
      finalize(own);
      exit(0);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child failed: %d", status);
  }
  over = true;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  finalize(shared_context);
  want.dropped += refusals;
  account();
}

/* A child that makes the process' first communicator, after its parent has loaded the library only. */
static void forked_before_init(void) {
  pid_t child = fork();
  if (child == 0) {
    whole(init());
    exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "the child failed: %d", status);
  puts("expect summaries 2");
  void *context = init();
  whole(context);
  finalize(context);
}

static void *make_communicator(void *unused) {
  (void)unused;
  init();
  return NULL;
}

/* What the first init of a process is amidst of when it is forked; the child's own init must come back all the same. */
static void forked_amidst_init(void) {
  for (long i = 0; i < 40; i++) {
    pid_t process = fork();
    if (process == 0) {
      pthread_t thread;
      check(pthread_create(&thread, NULL, make_communicator, NULL) == 0, "no thread");
      struct timespec moment = {0, i * 40000};
      nanosleep(&moment, NULL);
      pid_t child = fork();
      if (child == 0) {
        alarm(20);
        init();
        _exit(0);
      }
      int status = 0;
      check(waitpid(child, &status, 0) == child && status == 0, "the child of %ld us hangs: %d", i * 40, status);
      _exit(0);
    }
    int status = 0;
    check(waitpid(process, &status, 0) == process && status == 0, "the process failed: %d", status);
  }
  void *context = init();
  whole(context);
  finalize(context);
}

static atomic_bool has_come_back;

static void *use_cancelled(void *unused) {
  (void)unused;
  pthread_cancel(pthread_self());
  void *context = init();
  /* what the thread does itself is its own */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  whole(context);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  flush();
  finalize(context);
  has_come_back = true;
  pthread_testcancel();
  return NULL;
}

/* A thread that is to end at the next function that may wait: not in a callback, whose caller would not hear of it. */
static void cancelled(void) {
  pthread_t thread;
  void *result;
  check(pthread_create(&thread, NULL, use_cancelled, NULL) == 0, "no thread");
  pthread_join(thread, &result);
  check(has_come_back && result == PTHREAD_CANCELED, "the thread ended elsewhere");
}

static void without_finalize(void) {
  void *context = init();
  whole(context);
  struct event event = a_coll();
  start(context, &event);
  recorded(4096);
  want.unfinished++;
}

static void *exit_here(void *unused) {
  (void)unused;
  pause_milliseconds(50);
  exit(0);
}

static void exit_amidst(bool of_worker) {
  shared_context = init();
  pthread_t threads[3];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, "for all that time");
  puts("expect summary_or_line 1");
  fflush(stdout);
  if (of_worker) {
    pthread_create(&threads[2], NULL, exit_here, NULL);
    pthread_join(threads[2], NULL);
  }
  exit_here(NULL);
}

static void exit_under_threads(void) { exit_amidst(false); }
static void exit_of_a_thread(void) { exit_amidst(true); }

/* After a fault the process goes on: every callback says success, every handle is written. */
static void fault(void) {
  void *contexts[3];
  for (int i = 0; i < 3; i++) contexts[i] = init();
  for (int i = 0; i < 3; i++) {
    struct event event = a_coll();
    void *operation = start(contexts[i], &event);
    stop(operation);
    kernel(contexts[i], operation, 0);
    transfer(contexts[i], operation, 512);
  }
  for (int i = 0; i < 3; i++) finalize(contexts[i]);
  void *context = init();
  struct event event = a_coll();
  check(start(context, &event) == NULL, "a plugin that is off records");
  finalize(context);
  puts("expect warnings 1");
  fflush(stdout);
  exit(0);
}

#endif
