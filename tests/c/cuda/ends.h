/* Ends: of communicators and of the process, with kernels under way. */
#ifndef ENDS_H
#define ENDS_H

#include "../nccl/starve.h"
#include "launches.h"
#include <sys/wait.h>

/* A communicator is destroyed before its kernels are over; they have their times. */
static void destroyed_amidst(void) {
  struct communicator other = communicator_alone(0xac, 0, 2), of = communicator(0xab, 0, 2, other.gpu, driver->make_stream());
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 5; i++) enqueue_work(&of, all_reduce("TREE"), 100 * MICROSECONDS);
    finalize(of.context);
    enqueue_work(&other, all_reduce("TREE"), 2 * MILLISECONDS);
    flush();
    go_on_to(other.busy + MILLISECONDS);
    flush();
    of = communicator(0xab, 0, 2, other.gpu, of.stream);
    of.sequence = 0;
  }
  end(&of);
  end(&other);
}

/* Communicators come and go, on GPUs that come and go: contexts are not used again, nor are their events. */
static void made_again(void) {
  void *gpu = driver->make_context(0), *stream = driver->make_stream();
  for (int i = 0; i < 200; i++) {
    struct communicator of = communicator(0xab, 0, 2, gpu, stream);
    enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
    end_at_once(&of);
    pass(MILLISECONDS);
    flush();
  }
  check(driver->events() <= 4 * 64 + OF_OWN, "%lu events", (unsigned long)driver->events());
}

/* The program resets its GPU when it is done with NCCL, as many do at their end: nobody has asked about the last kernels. */
static void reset_at_the_end(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  puts("any");
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  finalize(of.context);
  driver->reset_context(of.gpu);
  flush();
}

/* And goes on: the context has the same handle, and events of before must not be used. */
static void reset_and_again(void) {
  void *gpu = driver->make_context(0);
  for (int i = 0; i < 5; i++) {
    struct communicator of = communicator(0xab, 0, 2, gpu, driver->make_stream());
    enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
    end(&of);
    driver->reset_context(gpu);
  }
}

/* The program resets its GPU though a communicator lives there, begins another one that launches nothing, and ends both: what was made
 * before the reset went with it. */
static void reset_and_closed(void) {
  void *gpu = driver->make_context(0);
  struct communicator of = communicator(0xab, 0, 2, gpu, driver->make_stream());
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  flush();
  driver->reset_context(gpu);
  struct communicator later = communicator(0xac, 0, 2, gpu, driver->make_stream());
  finalize(of.context);
  finalize(later.context);
  flush();
}

/* The collector has no processor while the last communicator of a GPU ends and the program does away with the context, or (NUMBER 1)
 * resets it and begins another communicator there. Nobody asks about events of before, and those of later have their times. */
static void closed_unanswered(void) {
  void *gpu = driver->make_context(0);
  struct communicator of = communicator(0xab, 0, 2, gpu, driver->make_stream());
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  for (int i = 0; i < 3; i++) flush();
  goes_on = are_others_stopped = true;
  has_events = false;
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  finalize(of.context);
  if (number) driver->reset_context(gpu);
  else driver->destroy_context(gpu);
  has_events = true;
  if (number) of = communicator(0xac, 0, 2, gpu, driver->make_stream());
  are_others_stopped = false;
  if (number) enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  if (number) end(&of);
  flush();
}

/* The program resets its GPU though a communicator lives there, as one that does not clean up, and makes another one NUMBER times. */
static void reset_amidst(void) {
  void *gpu = driver->make_context(0);
  struct communicator of[4];
  puts("any");
  check(number < 4, "too many communicators");
  for (int i = 0; i <= number; i++) {
    of[i] = communicator(0xa0 + (uint64_t)i, 0, 2, gpu, driver->make_stream());
    enqueue_alone(&of[i], all_reduce("TREE"), 10, 100 * MICROSECONDS);
    flush();
    for (int j = 0; j < 3; j++) enqueue_work(&of[i], all_reduce("TREE"), SECONDS);
    driver->reset_before_a_look(gpu);
  }
  go_on_to(now() + 10 * SECONDS);
  untimed[WHY_not_believed] = ANY;
  flush();
  for (int i = 0; i <= number; i++) finalize(of[i].context);
  flush();
}

/* Kernels under way at the end have no time; the end waits for none. */
static void exit_amidst(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  has_events = false;
  for (int i = 0; i < 3; i++) enqueue_work(&of, all_reduce("TREE"), SECONDS);
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  want.unfinished = ANY;
}

/* Those that are over by then have theirs, though nobody has asked. */
static void exit_unasked(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
}

/* The collector gets a processor only half a second after the process has begun to end, which waits for it. */
static void *stop_others_no_longer(void *unused) {
  goes_on = true;
  pause_milliseconds(500);
  are_others_stopped = false;
  return unused;
}

static void exit_unanswered(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  for (int i = 0; i < 3; i++) flush();
  goes_on = are_others_stopped = true;
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  pthread_t thread;
  check(pthread_create(&thread, NULL, stop_others_no_longer, NULL) == 0, "no thread");
}

/* Lets time go on until the library is starved: after that the collector must not wait for the stand-in's lock. */
static void *lets_time_go_on_for_now(void *unused) {
  for (; !is_starved; usleep(100)) true_time_is(now() + MICROSECONDS);
  return unused;
}

/* The collector has no processor for a second when it asks CUDA at the end. */
static void exit_starved(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  driver->hold(true);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  /* the collector asks by its clock */
  pthread_t thread;
  check(pthread_create(&thread, NULL, lets_time_go_on_for_now, NULL) == 0, "no thread");
  driver->await_held();
  starve_for(1000);
  driver->hold(false);
}

/* The end comes within a launch. */
static void exit_in_a_launch(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  struct work work = all_reduce("TREE");
  struct calls calls = call(&of, &work, 1, false);
  start_on(of.context, &(struct event){.type = KERNEL_LAUNCH, .parent = calls.group}, of.stream);
  want.invisible = ANY;
}

static void *launches_and_dies(void *of) {
  struct work work = all_reduce("TREE");
  struct calls calls = call(of, &work, 1, false);
  launch_kernel(of, &calls, 500 * MICROSECONDS);
  group_ends(&calls);
  return NULL;
}

/* What starts on a new thread, whose memory is a dead one's. */
static void *operates(void *of) {
  struct work work = all_reduce("NVLS");
  struct calls calls = {.mask = mask_given};
  operate(of, &work, 1, &calls);
  has_events = false;
  print_work(of, &work, BY_ENQUEUE);
  has_events = true;
  return NULL;
}

/* A thread dies between a launch and its operations: they are not another thread's. */
static void thread_dies(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  pthread_t thread;
  for (int i = 0; i < 5; i++) {
    check(pthread_create(&thread, NULL, launches_and_dies, &of) == 0, "no thread");
    pthread_join(thread, NULL);
    go_on_to(of.busy + MILLISECONDS);
    check(pthread_create(&thread, NULL, operates, &of) == 0, "no thread");
    pthread_join(thread, NULL);
    enqueue_alone(&of, all_reduce("TREE"), 1, 100 * MICROSECONDS);
  }
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  want.invisible = want.out_of_step = want.warnings = ANY;
  end(&of);
}

static _Noreturn void *launches_for_ever(void *unused) {
  (void)unused;
  struct communicator of = communicator_alone(0xac, 0, 2);
  struct work work = all_reduce("TREE");
  for (;;) {
    struct calls calls = call(&of, &work, 1, false);
    launch_kernel(&of, &calls, 20 * MICROSECONDS);
    operate(&of, &work, 1, &calls);
    group_ends(&calls);
  }
}

/* Threads go on launching while the process ends. */
static void exit_under_threads(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  is_any_time_right = true;
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  pthread_t thread;
  for (int i = 0; i < 2; i++) check(pthread_create(&thread, NULL, launches_for_ever, NULL) == 0, "no thread");
  uint64_t before = now();
  while (now() < before + 10 * MILLISECONDS) usleep(100);
  puts("unknown");
}

/* In a forked process CUDA may not be called, whatever NCCL calls there. */
static void forked(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  struct work work = all_reduce("TREE");
  fflush(NULL);
  pid_t child = fork();
  check(child >= 0, "no fork");
  if (child == 0) {
    struct calls calls = call(&of, &work, 1, false);
    struct event event = {.type = KERNEL_LAUNCH, .parent = calls.group};
    void *handle = start_on(of.context, &event, of.stream);
    stop_on(handle);
    group_ends(&calls);
    finalize(of.context);
    _exit(0);
  }
  int status;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends with %d", status);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  end(&of);
}

#endif
