/* Processes that are forked while others record: by any thread, and from signal handlers in the midst of a callback. */
#ifndef FORKS_H
#define FORKS_H

#include "signals.h"
#include <sys/wait.h>

/* All that NCCL could call in a child, which knows nothing of its parent's threads. */
static _Noreturn void live_as_a_child(bool ends_as_a_program) {
  alarm(20);
  signal(SIGPROF, SIG_IGN);
  void *own = init();
  struct event event = a_coll();
  for (int i = 0; i < 200; i++) {
    void *operation = start(own, &event);
    check(!is_recorded(operation) && !is_recorded(start(shared_context, &event)), "a forked child records");
    stop(operation);
  }
  flush();
  finalize(own), finalize(shared_context);
  if (ends_as_a_program) exit(0);
  _exit(0);
}

static void await_child(pid_t child) {
  int status = 0;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child failed: %d", status);
}

static void *fork_often(void *unused) {
  for (int i = 0; i < 30; i++) {
    pid_t child = fork();
    if (child == 0) live_as_a_child(true);
    await_child(child);
  }
  return unused;
}

/* Three threads record, and two fork. */
static void forked_amid_recording(void) {
  fflush(stdout);
  shared_context = init();
  pthread_t threads[5];
  for (int i = 0; i < 5; i++) check(pthread_create(&threads[i], NULL, i < 3 ? work : fork_often, "for all that time") == 0, "no thread");
  for (int i = 3; i < 5; i++) pthread_join(threads[i], NULL);
  over = true;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  finalize(shared_context);
  want.dropped += refusals;
  account();
}

static void fork_here(int signal) {
  (void)signal;
  if (!interrupts()) return;
  pid_t child = fork();
  if (child == 0) live_as_a_child(false);
  await_child(child);
}

static void forked_in_a_handler(void) {
  fflush(stdout);
  work_until_interrupted(100, fork_here);
}

/* The kernel's own fork tells nobody, so the child records into memory of its own that nobody reads. It may call what takes no lock. */
static void fork_in_silence(int signal) {
  (void)signal;
  if (!interrupts()) return;
  pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    alarm(20);
    struct event event = a_coll();
    char descriptor[256];
    put_descriptor(&event, descriptor, version);
    for (int i = 0; i < 2000; i++) {
      void *handle = GARBAGE;
      if (unmarked.start(shared_context, &handle, descriptor) != 0 || handle == GARBAGE || unmarked.stop(handle) != 0) _exit(1);
    }
    _exit(0);
  }
  await_child(child);
}

static void forked_in_silence(void) {
  fflush(stdout);
  work_until_interrupted(100, fork_in_silence);
}

#endif
