/* Kernels of every sort, each with the time that the summary must have of it. */
#ifndef TIMINGS_H
#define TIMINGS_H

#include "launches.h"

/* By RING: stamps are the kernel's time, so that no event is needed from the second one on. */
static void ring(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("RING"), 2, 300 * MICROSECONDS);
  flush();
  uint64_t before = driver->records();
  for (uint64_t i = 0; i < 30; i++) enqueue_alone(&of, all_reduce("RING"), 1, (20 + 30 * i) * MICROSECONDS);
  for (int i = 0; i < 10; i++) enqueue_work(&of, all_reduce("RING"), 80 * MICROSECONDS);
  uint64_t records = driver->records() - before;
  bool stamps = is_asked(KERNEL_CH) && !is_gpu_time("events");
  check(records == (stamps || !is_gpu_timed() ? 0 : 80), "%lu events are recorded", (unsigned long)records);
  end(&of);
}

/* Up to one kernel in flight after the other, and four; by PAT, too. */
static void tree(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 20, 300 * MICROSECONDS);
  for (int i = 0; i < 20; i++) enqueue_work(&of, all_reduce("TREE"), (uint64_t)(100 + i) * MICROSECONDS);
  settle(&of);
  enqueue_alone(&of, (struct work){"AllGather", "PAT", -1, 9000}, 10, 150 * MICROSECONDS);
  enqueue_alone(&of, (struct work){"ReduceScatter", "NVLS", -1, 9000}, 10, 150 * MICROSECONDS);
  end(&of);
}

/* What is foreseen of a collective may be wrong. Then there is another time, or none. */
static void alternating(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  for (int i = 0; i < 10; i++) {
    enqueue_alone(&of, all_reduce("RING"), 1, 200 * MICROSECONDS);
    enqueue_alone(&of, all_reduce("TREE"), 1, 300 * MICROSECONDS);
  }
  untimed[WHY_not_believed] = ANY;
  puts("any");
  end(&of);
}

/* Eight sends are one kernel, whose time is that of each. */
static void sends(void) {
  struct communicator of = communicator_alone(0xab, 0, 9);
  struct work works[8];
  for (int i = 0; i < 8; i++) works[i] = send_to(i + 1);
  for (uint64_t i = 0; i < 20; i++) {
    enqueue_works(&of, works, 8, (50 + i) * MICROSECONDS);
    if (i % 3 == 0) settle(&of);
  }
  end(&of);
}

static void lone_sends(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, send_to(1), 10, 70 * MICROSECONDS);
  enqueue_alone(&of, receive_from(1), 10, 90 * MICROSECONDS);
  end(&of);
}

static void exchange(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  const struct work works[] = {send_to(1), receive_from(1)};
  for (int i = 0; i < 20; i++) enqueue_works(&of, works, 2, 120 * MICROSECONDS);
  end(&of);
}

/* The same in an outer group, as PyTorch's batch_isend_irecv makes it: NCCL tells that the inner one has ended before anything is launched. */
static void nested_exchange(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  const struct work works[] = {send_to(1), receive_from(1)};
  for (int i = 0; i < 20; i++) {
    struct calls calls = call(&of, works, 2, false);
    group_ends(&calls);
    pass(20 * MICROSECONDS);
    launch_kernel(&of, &calls, 120 * MICROSECONDS);
    enum source source = source_of(&of, works, 2, calls.mask);
    operate(&of, works, 2, &calls);
    for (int k = 0; k < 2; k++) print_work(&of, &works[k], source);
  }
  end(&of);
}

/* Among its sends is one to oneself, which NCCL up to 2.30 does not count: from then on stamps are those of other kernels, and events are
 * needed for all. */
static void all_to_all(void) {
  struct communicator of = communicator_alone(0xab, 0, 4);
  enqueue_alone(&of, all_reduce("RING"), 5, 200 * MICROSECONDS);
  struct work works[8];
  for (int i = 0; i < 4; i++) works[2 * i] = send_to(i), works[2 * i + 1] = receive_from(i);
  for (int i = 0; i < 3; i++) {
    enqueue_works(&of, works, 8, 400 * MICROSECONDS);
    enqueue_alone(&of, all_reduce("RING"), 10, (uint64_t)(100 + 70 * i) * MICROSECONDS);
    settle(&of);
  }
  want.out_of_step = want.warnings = ANY;
  end(&of);
}

/* Broadcasts that NCCL tells nothing more of, alone and several at a time, each between other kernels. */
static void silent_broadcasts(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enum source source = is_gpu_time("off") || is_gpu_time("stamps") ? BY_ENQUEUE : BY_EVENTS;
  for (int i = 0; i < 12; i++) {
    int count = 1 + i % 4;
    enqueue_alone(&of, all_reduce("TREE"), 1, 300 * MICROSECONDS);
    if (i % 2) enqueue_work(&of, all_reduce("TREE"), 300 * MICROSECONDS);
    enqueue_silent(&of, count, (uint64_t)(100 + i) * MICROSECONDS);
    struct work work = broadcast();
    for (int j = 0; j < count && source == BY_EVENTS; j++) print_work(&of, &work, source);
    want.invisible += source == BY_EVENTS ? 0 : count;
    settle(&of);
  }
  want.out_of_step = want.warnings = ANY;
  end(&of);
}

/* The call that ends their group makes connections first, or goes on long after the launch. Only a kernel that takes much longer than that
 * call has a time. */
static void silent_broadcasts_in_long_calls(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 300 * MICROSECONDS);
  struct work work = broadcast();
  for (int i = 0; i < 12; i++) {
    int count = 1 + i / 2 % 2;
    bool is_long = i % 2;
    enqueue_silent_within(&of, count, is_long ? 5 * MILLISECONDS : 10 * MICROSECONDS, 100 * MICROSECONDS, i % 3 * 50 * MICROSECONDS);
    if (is_long) for (int j = 0; j < count; j++) print_work(&of, &work, BY_EVENTS);
    else want.invisible += count;
    settle(&of);
  }
  want.out_of_step = want.warnings = ANY;
  end(&of);
}

/* At the group's end another GPU is current: NCCL sets its own only to launch. Nothing of that other GPU's is recorded into the stream. */
static void silent_elsewhere(void) {
  struct communicator of = communicator_alone(0xab, 0, 2), other = communicator_alone(0xac, 0, 2), elsewhere = of;
  elsewhere.gpu = other.gpu;
  enqueue_alone(&of, all_reduce("TREE"), 3, 300 * MICROSECONDS);
  enqueue_alone(&other, all_reduce("TREE"), 3, 300 * MICROSECONDS);
  struct work work = broadcast();
  for (int i = 0; i < 5; i++) {
    struct calls calls = call(&elsewhere, &work, 1, false);
    uint64_t begun = now();
    pass(launch_time);
    run(&of, begun, 100 * MICROSECONDS);
    driver->set_current(other.gpu);
    group_ends(&calls);
    want.invisible++;
    settle(&of);
    enqueue_alone(&of, all_reduce("TREE"), 1, 300 * MICROSECONDS);
  }
  want.out_of_step = want.warnings = ANY;
  end(&of);
  end(&other);
}

/* Two communicators' broadcasts in one group: events lie around the last one's. */
static void silent_together(void) {
  struct communicator first = communicator_alone(0xab, 0, 2), last = communicator(0xac, 0, 2, first.gpu, driver->make_stream());
  enqueue_alone(&first, all_reduce("TREE"), 3, 300 * MICROSECONDS);
  enqueue_alone(&last, all_reduce("TREE"), 3, 300 * MICROSECONDS);
  struct work work = broadcast();
  for (int i = 0; i < 5; i++) {
    struct event event = {.type = GROUP_API};
    void *group = start_on(first.context, &event, NULL);
    state_on(group, GROUP_START_RETURNS);
    for (int j = 0; j < 2; j++) {
      struct communicator *of = j ? &last : &first;
      event = a_call(COLL_API, work.func, false);
      event.parent = group, event.count = work.count;
      void *call = start_on(of->context, &event, of->stream);
      pass(CALL_TIME);
      stop_on(call);
    }
    state_on(group, GROUP_END_BEGINS);
    uint64_t begun = now();
    pass(launch_time);
    run(&first, begun, 100 * MICROSECONDS);
    pass(launch_time);
    run(&last, begun, 100 * MICROSECONDS);
    launched_within(&last, begun);
    stop_on(group);
    want.invisible++;
    print_work(&last, &work, BY_EVENTS);
    settle(&first);
    settle(&last);
  }
  want.out_of_step = want.warnings = ANY;
  end(&first);
  end(&last);
}

/* They end stamps that are right; what comes then is timed by events. */
static void silent_broadcast_and_ring(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("RING"), 5, 200 * MICROSECONDS);
  enqueue_silent(&of, 1, 100 * MICROSECONDS);
  struct work work = broadcast();
  print_work(&of, &work, BY_EVENTS);
  of.out_of_step = true;
  go_on_to(of.busy + 100 * MICROSECONDS);
  enqueue_alone(&of, all_reduce("RING"), 10, 250 * MICROSECONDS);
  want.out_of_step = want.warnings = ANY;
  end(&of);
}

/* Collectives by copy engine, behind one another and between kernels, which are none of theirs. */
static void copy_engine(void) {
  struct communicator of = communicator_alone(0xab, 0, 2), other = communicator(0xac, 0, 2, of.gpu, driver->make_stream());
  enqueue_alone(&other, all_reduce("TREE"), 20, 50 * MICROSECONDS);
  for (uint64_t i = 0; i < 30; i++) {
    enqueue_copies(&of, (struct work){"AllGather", NULL, -1, 5000}, (100 + i) * MICROSECONDS);
    struct work work = i % 2 ? (struct work){"ReduceScatter", "RING", -1, 9000} : all_reduce("TREE");
    if (i % 3 == 0) enqueue_alone(&of, work, 1, (200 + i) * MICROSECONDS);
    if (i % 4 == 0) enqueue_alone(&other, all_reduce("NVLS"), 1, 40 * MICROSECONDS);
    if (i % 4 == 1) settle(&of);
  }
  end(&of);
  end(&other);
}

#endif
