/* GPUs, streams and clocks. */
#ifndef GPUS_H
#define GPUS_H

#include "launches.h"

/* In an idle stream the first event happens before the kernel is launched, in a busy one when the stream is free. */
static void idle_and_busy(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  for (int i = 0; i < 10; i++) enqueue_work(&of, all_reduce("TREE"), 400 * MICROSECONDS);
  settle(&of);
  /* the first launch of a kernel takes milliseconds */
  launch_time = 6 * MILLISECONDS;
  enqueue_alone(&of, all_reduce("TREE"), 2, 50 * MICROSECONDS);
  enqueue_work(&of, all_reduce("TREE"), 8 * MILLISECONDS);
  enqueue_work(&of, all_reduce("TREE"), 50 * MICROSECONDS);
  end(&of);
}

/* The first kernel of all waits for others' work. */
static void busy_from_the_first(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  driver->set_busy(of.stream, of.busy = now() + 3 * MILLISECONDS);
  for (int i = 0; i < 5; i++) enqueue_work(&of, all_reduce("TREE"), 400 * MICROSECONDS);
  end(&of);
}

/* Three GPUs with two communicators each, on streams of their own, and a communicator on stream 0; one thread for all. */
static void several_gpus(void) {
  struct communicator all[9];
  for (int i = 0; i < 3; i++) {
    void *context = driver->make_context(0);
    for (int j = 0; j < 3; j++) {
      uint64_t id = 0xa0 + (uint64_t)j;
      all[3 * i + j] = communicator(id, i, 3, context, j < 2 ? driver->make_stream() : NULL);
    }
  }
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 9; i++) enqueue_work(&all[(i * 4 + round) % 9], all_reduce("TREE"), (uint64_t)(100 + 10 * i) * MICROSECONDS);
    if (round % 5 == 4) flush();
  }
  for (int i = 0; i < 9; i++) end(&all[i]);
  uint64_t made = driver->calls(OF_cuEventCreate);
  check(made <= 3 * 2 * 128, "%lu events for three GPUs", (unsigned long)made);
}

/* The first launch of a kernel takes long, behind work that takes longer. */
static void slow_first_launch(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  driver->set_busy(of.stream, of.busy = now() + 30 * MILLISECONDS);
  /* the kernel is loaded: as long as it takes, its launch would return long behind the kernel if the stream had been free */
  launch_time = 6 * MILLISECONDS;
  enqueue_work(&of, all_reduce("TREE"), 400 * MICROSECONDS);
  launch_time = LAUNCH_TIME;
  enqueue_work(&of, all_reduce("TREE"), 400 * MICROSECONDS);
  end(&of);
}

/* The host's thread has to wait before it comes back from a launch, and the kernel is over by then: its time is not known, or lies
 * between what it takes and what passes from one event to the other. */
static void late_return(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  struct work work = all_reduce("TREE");
  for (int i = 0; i < 20; i++) {
    bool is_late = i % 2;
    struct calls calls = call(&of, &work, 1, false);
    uint64_t begun = now();
    void *handle = start_on(of.context, &(struct event){.type = KERNEL_LAUNCH, .parent = calls.group}, of.stream);
    pass(LAUNCH_TIME);
    run(&of, begun, 30 * MICROSECONDS);
    if (is_late) pass((20 + (uint64_t)i * 50) * MICROSECONDS);
    stop_on(handle);
    operate(&of, &work, 1, &calls);
    group_ends(&calls);
    of.latest.launched = of.latest.first;
    print_work(&of, &work, BY_GPU);
    pass(MILLISECONDS);
  }
  puts("any");
  untimed[WHY_not_believed] = ANY;
  end(&of);
}

/* The launch returns a few microseconds before its kernel ends, as the last event may show it with CUDA_LAUNCH_BLOCKING=1. */
static void blocking_launch(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  struct work work = all_reduce("TREE");
  for (uint64_t i = 0; i < 20; i++) {
    struct calls calls = call(&of, &work, 1, false);
    uint64_t begun = now();
    void *handle = start_on(of.context, &(struct event){.type = KERNEL_LAUNCH, .parent = calls.group}, of.stream);
    pass(LAUNCH_TIME);
    run(&of, begun, 400 * MICROSECONDS);
    bool is_late = i > 4;
    if (is_late) pass(of.latest.end - now() - (1 + i % 4) * MICROSECONDS);
    stop_on(handle);
    operate(&of, &work, 1, &calls);
    group_ends(&calls);
    of.latest.launched = of.latest.first;
    print_work(&of, &work, is_late ? BY_ENQUEUE : BY_GPU);
    pass(MILLISECONDS);
  }
  end(&of);
}

/* NCCL launches where a context is current; if there is none, nothing is recorded. */
static void no_context(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  of.gpu = NULL;
  const struct work work = all_reduce("TREE");
  has_events = false, without_events = WHY_no_event;
  void *stream = of.stream;
  of.stream = NULL;
  for (int i = 0; i < 5; i++) {
    struct calls calls = call(&of, &work, 1, false);
    struct event event = {.type = KERNEL_LAUNCH, .parent = calls.group};
    void *handle = start_on(of.context, &event, stream);
    stop_on(handle);
    operate(&of, &work, 1, &calls);
    group_ends(&calls);
    print_work(&of, &work, BY_ENQUEUE);
    pass(MILLISECONDS);
  }
  flush();
  finalize(of.context);
}

/* The GPU's clock is by NUMBER parts per million too fast: a minute of work, now and then none. */
static void drift(void) {
  gpu_ppm = (double)number;
  struct communicator of = communicator_alone(0xab, 0, 2);
  for (int second = 0; second < 60; second++) {
    for (int i = 0; i < 10; i++) {
      enqueue_alone(&of, all_reduce("TREE"), 1, 100 * MICROSECONDS);
      enqueue_work(&of, all_reduce("TREE"), 200 * MICROSECONDS);
      enqueue_work(&of, all_reduce("TREE"), 200 * MICROSECONDS);
      go_on_to(of.busy + 10 * MILLISECONDS);
    }
    flush();
    pass(second % 10 == 9 ? 7 * SECONDS : 700 * MILLISECONDS);
  }
  end(&of);
}

/* Kernels after an hour, a day and a month: CUDA tells times in a float of milliseconds. */
static void long_job(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  const uint64_t pauses[] = {SECONDS, 60 * SECONDS, 3600 * SECONDS, 24 * 3600 * SECONDS, 30 * 24 * 3600 * SECONDS};
  for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
    pass(pauses[i]);
    for (int j = 0; j < 5; j++) enqueue_alone(&of, all_reduce("TREE"), 1, 100 * MICROSECONDS);
    for (int j = 0; j < 5; j++) enqueue_work(&of, all_reduce("TREE"), 100 * MICROSECONDS);
    settle(&of);
  }
  end(&of);
}

/* A communicator that does nothing costs nothing. */
static void nothing(void) {
  driver->make_context(0);
  void *context = init();
  flush();
  uint64_t before = driver_calls();
  for (int i = 0; i < 10; i++) pass(SECONDS), flush();
  uint64_t calls = driver_calls() - before;
  check(calls == 0, "%lu calls where nothing is done", (unsigned long)calls);
  finalize(context);
}

/* Kernels of every sort, in streams that are idle or busy, in any order. */
static void mixture(void) {
  chance_state = (uint64_t)number + 1;
  struct communicator all[6];
  for (int i = 0; i < 2; i++) {
    void *context = driver->make_context(0);
    for (int j = 0; j < 3; j++) all[3 * i + j] = communicator(0xa0 + (uint64_t)j, i, 9, context, driver->make_stream());
  }
  for (int i = 0; i < 6; i++) enqueue_alone(&all[i], all_reduce("TREE"), 2, 50 * MICROSECONDS);
  for (int i = 0; i < 2000; i++) {
    struct communicator *of = &all[chance(6)];
    uint64_t length = (10 + chance(400)) * MICROSECONDS;
    struct work works[4];
    int count = 1 + (int)chance(4);
    for (int j = 0; j < count; j++) works[j] = j % 2 ? receive_from(2 + j) : send_to(2 + j);
    static const char *const algorithms[] = {"TREE", "NVLS", "COLLNET_DIRECT", "NVLS_TREE"};
    if (chance(2)) count = 1, works[0] = all_reduce(algorithms[chance(4)]);
    launch_time = 1000 + chance(20) * MICROSECONDS;
    enqueue_works(of, works, count, length);
    if (chance(3) == 0) pass(chance(600) * MICROSECONDS);
    if (chance(50) == 0) settle(of);
  }
  for (int i = 0; i < 6; i++) end(&all[i]);
}

static atomic_int threads_over;

static void *works_of_a_thread(void *number) {
  uint64_t id = (uint64_t)(uintptr_t)number;
  struct communicator of = communicator_alone(0x100 + id, 0, 2);
  for (int i = 0; i < 500; i++) {
    enqueue_work(&of, i % 3 ? all_reduce("TREE") : all_reduce("NVLS"), (uint64_t)(20 + i % 7) * MICROSECONDS);
    if (i % 50 == 0) go_on_to(of.busy), flush();
  }
  threads_over++;
  /* the others let time go on meanwhile */
  while (threads_over < 4) usleep(100);
  go_on_to(of.busy);
  end(&of);
  return NULL;
}

/* Four threads with a GPU each, all at once: while one of them is launching the others let time go on, so that its kernel may be over when
 * the launch returns. */
static void threads(void) {
  is_any_time_right = true;
  untimed[WHY_not_believed] = ANY;
  puts("any");
  want.out_of_step = want.warnings = ANY;
  pthread_t all[4];
  for (uintptr_t i = 0; i < 4; i++) check(pthread_create(&all[i], NULL, works_of_a_thread, (void *)i) == 0, "no thread");
  for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
}

#endif
