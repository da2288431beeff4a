/* What is bounded: events, their share of the launches, the time that stamps may take; and what the settings say. */
#ifndef BOUNDS_H
#define BOUNDS_H

#include "../nccl/starve.h"
#include "launches.h"

/* More kernels in flight than there are events: those beyond have none, and later ones again. Each of them waits for less long than all
 * before. */
static void pool_exhausted(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  driver->set_busy(of.stream, of.busy = now() + 600 * SECONDS);
  for (int i = 0; i < 5000; i++) {
    has_events = i < 4096, without_events = WHY_no_event;
    enqueue_work(&of, all_reduce("TREE"), 50 * MICROSECONDS);
    pass(MILLISECONDS);
    if (i % 500 == 0) flush();
  }
  uint64_t made = driver->events();
  check(made <= 2 * 4096 + OF_OWN, "%lu events", (unsigned long)made);
  has_events = true;
  settle(&of);
  enqueue_alone(&of, all_reduce("TREE"), 100, 100 * MICROSECONDS);
  check(driver->events() == made, "events are made though others are free");
  check(driver->recorded_while_pending() == 0, "events are used again before they have happened");
  end(&of);
}

/* One kernel after the other needs few events. */
static void few_events(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  for (int i = 0; i < 3000; i++) {
    enqueue_work(&of, all_reduce("TREE"), 50 * MICROSECONDS);
    if (i % 20 == 19) settle(&of);
  }
  uint64_t made = driver->events();
  check(made <= 2 * 64 + OF_OWN, "%lu events for 20 kernels at a time", (unsigned long)made);
  check(driver->recorded_while_pending() == 0, "events are used again before they have happened");
  end(&of);
}

/* Launches that fail have no operations; their events are free again. */
static void launches_without_operations(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  struct work work = all_reduce("TREE");
  for (int i = 0; i < 6000; i++) {
    struct calls calls = call(&of, &work, 1, false);
    launch_kernel(&of, &calls, 10 * MICROSECONDS);
    group_ends(&calls);
    want.invisible++;
    pass(MILLISECONDS);
    if (i % 50 == 0) flush();
  }
  check(driver->events() <= 4 * 64 + OF_OWN, "%lu events", (unsigned long)driver->events());
  want.invisible = want.out_of_step = want.warnings = ANY;
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  end(&of);
}

static double real_seconds(void) { return (double)real_nanoseconds() / 1e9; }

/* As many kernels as this machine can launch, for some seconds of its own time, by which the library goes here. Prints how many were
 * launched a second, and how many of them had events, once the library knows that they are many. */
static void many_kernels(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  launch_time = 100;
  double begun = real_seconds(), from = 0;
  uint64_t kernels = 0, records = 0;
  for (;;) {
    for (int i = 0; i < 200; i++) {
      enqueue_work(&of, all_reduce("TREE"), 2 * MICROSECONDS);
      go_on_to(of.busy);
      kernels++;
    }
    /* a collector without a processor for long would leave no room for records */
    if (kernels % 20000 == 0) flush();
    double passed = real_seconds() - begun;
    if (from > 0 && passed - from > 2) {
      printf("kernels %.0f\n", (double)kernels / (passed - from));
      printf("timed %.0f\n", (double)(driver->records() - records) / 2 / (passed - from));
      break;
    }
    /* it looks once a second */
    if (from == 0 && passed > 3) from = passed, kernels = 0, records = driver->records();
  }
  puts("any");
  untimed[WHY_not_chosen] = untimed[WHY_no_event] = untimed[WHY_not_believed] = ANY;
  want.warnings = ANY;
  end(&of);
}

/* From launch `number` on, the collector gets hardly any time: news of launches are lost, also while it reads their operations. None of
 * them was a graph's. */
static void starved_collector(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  for (int i = 0; i < 150000; i++) {
    if (i == number) starve(true);
    if (i == number + 50000) starve(false);
    enqueue_work(&of, all_reduce("TREE"), 2 * MICROSECONDS);
    go_on_to(of.busy);
  }
  puts("any");
  untimed[WHY_no_event] = untimed[WHY_not_chosen] = untimed[WHY_not_believed] = ANY;
  want.dropped = want.warnings = ANY;
  end(&of);
}

/* NCCL tells of stamps half a millisecond late, until it is asked for none. */
static void be_late(struct communicator *of) {
  enqueue_alone(of, all_reduce("RING"), 100, 100 * MICROSECONDS);
  flush();
  check(is_asked(KERNEL_CH), "stamps are not asked for");
  stamps_told_after = 500 * MICROSECONDS;
  while (is_asked(KERNEL_CH)) {
    /* many at a time, so that the collector hears of some together */
    for (int i = 0; i < 100; i++) enqueue_work(of, all_reduce("RING"), 10 * MICROSECONDS);
    settle(of);
    enqueue_alone(of, all_reduce("RING"), 1, 100 * MICROSECONDS);
  }
  stamps_told_after = 1500;
}

/* Then kernels have events for a second; then it is asked again. */
static void late_stamps(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  be_late(&of);
  int without = 0;
  while (!is_asked(KERNEL_CH)) {
    enqueue_alone(&of, all_reduce("RING"), 1, 100 * MICROSECONDS);
    without++;
    usleep(1000);
  }
  printf("without %d\n", without);
  enqueue_alone(&of, all_reduce("RING"), 20, 100 * MICROSECONDS);
  check(is_asked(KERNEL_CH), "stamps are not asked for again");
  puts("any");
  end(&of);
}

/* A kernel that is captured without stamps would have none at any replay: they are asked for at once. */
static void late_stamps_and_capture(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  be_late(&of);
  struct work work = all_reduce("RING");
  driver->begin_capture(of.stream, CAPTURE_GLOBAL);
  struct calls calls = call(&of, &work, 1, true);
  launch_kernel(&of, &calls, 0);
  bool asked = is_asked(KERNEL_CH);
  group_ends(&calls);
  driver->end_capture(of.stream);
  check(asked, "stamps are not asked for in a capture");
  want.invisible = want.out_of_step = want.warnings = ANY;
  puts("any");
  end(&of);
}

/* Whatever the settings: no function of CUDA's is called. */
static void no_calls(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  has_events = false;
  for (int i = 0; i < 5; i++) {
    enqueue_alone(&of, all_reduce("TREE"), 1, 100 * MICROSECONDS);
    enqueue_alone(&of, all_reduce("RING"), 1, 100 * MICROSECONDS);
    if (version->types & CE_COLL) enqueue_copies(&of, (struct work){"AllGather", NULL, -1, 5000}, 100 * MICROSECONDS);
  }
  end(&of);
  check(driver_calls() == 0, "%lu calls of CUDA", (unsigned long)driver_calls());
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
}

/* Operations that are too small to be recorded have no time, and are missed by nobody. */
static void small_ones(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  struct work small = {"AllReduce", "TREE", -1, 10};
  for (int i = 0; i < 20; i++) {
    struct calls calls = call(&of, &small, 1, false);
    launch_kernel(&of, &calls, 30 * MICROSECONDS);
    void *group = start(of.context, &(struct event){.type = GROUP});
    struct event event = event_of(&of, &small);
    event.parent = calls.calls[0], event.sequence = of.sequence++;
    check(!is_recorded(start(of.context, &event)), "a small operation has a handle");
    want.skipped++;
    stop(group);
    group_ends(&calls);
    enqueue_alone(&of, all_reduce("TREE"), 1, 100 * MICROSECONDS);
  }
  end(&of);
}

#endif
