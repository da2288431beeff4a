/* Events that are nodes of CUDA graphs (NCCL_SCOREP_GRAPH_EVENTS): each replay records them anew, and the library times the replays whose
 * times it reads before the next one. */
#ifndef GRAPH_EVENTS_H
#define GRAPH_EVENTS_H

#include "graph_launches.h"

/* Two collectives, and a group of a send and a receive, replayed beside plain launches. With NUMBER 1 the receive begins first. */
static void graph_replays(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  const struct work exchange[] = {send_to(1), receive_from(1)};
  struct captured captured[] = {capture_one(&of, all_reduce("TREE")), capture(&of, exchange, 2),
                                capture_one(&of, (struct work){"AllGather", "NVLS", -1, 9000})};
  captured[1].is_reversed = number;
  for (uint64_t i = 0; i < 12; i++) {
    for (uint64_t j = 0; j < 3; j++) replay(&captured[j], (20 + 7 * i + 50 * j) * MICROSECONDS, i % 3 == j ? TORN : READ);
    if (i % 3 == 0) enqueue_alone(&of, all_reduce("TREE"), 2, (150 + i) * MICROSECONDS);
  }
  end(&of);
}

/* Nothing is launched outside of graphs, or nothing for a long time: anchors show the clocks. */
static void graph_replays_alone(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  if (number) enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  if (number) pass(60 * SECONDS);
  struct captured captured = capture_one(&of, all_reduce("TREE"));
  for (uint64_t i = 0; i < 40; i++) {
    replay(&captured, (20 + 7 * i) * MICROSECONDS, READ);
    if (i % 10 == 9) pass(20 * SECONDS);
  }
  end(&of);
}

static _Noreturn void *lets_time_go_on(void *unused) {
  (void)unused;
  for (;;) true_time_is(now() + MICROSECONDS);
}

/* The last replay ends with its communicator (NUMBER 1), or with the process, and nobody has looked. Time goes on meanwhile. */
static void graph_replay_at_the_end(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct captured captured = capture_one(&of, all_reduce("TREE"));
  replay(&captured, 70 * MICROSECONDS, READ);
  replay(&captured, 80 * MICROSECONDS, UNREAD);
  pthread_t thread;
  check(pthread_create(&thread, NULL, lets_time_go_on, NULL) == 0, "no thread");
  if (number) end_at_once(&of);
}

/* Two communicators of a GPU and one of another, in turn. */
static void graphs_of_communicators(void) {
  struct communicator of[3] = {communicator_alone(0xab, 0, 2)};
  of[1] = communicator(0xac, 0, 2, of[0].gpu, driver->make_stream());
  of[2] = communicator_alone(0xad, 1, 2);
  struct captured captured[3];
  for (int i = 0; i < 3; i++) {
    enqueue_alone(&of[i], all_reduce("TREE"), 3, 100 * MICROSECONDS);
    captured[i] = capture_one(&of[i], all_reduce("TREE"));
  }
  for (uint64_t i = 0; i < 8; i++) {
    for (uint64_t j = 0; j < 3; j++) replay(&captured[j], (20 + 9 * i + 30 * j) * MICROSECONDS, READ);
    enqueue_alone(&of[i % 3], all_reduce("TREE"), 1, 100 * MICROSECONDS);
  }
  for (int i = 0; i < 3; i++) end(&of[i]);
}

/* More replays than are read: some have a time, their own, and all are there. */
static void graph_replays_unread(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct captured captured = capture_one(&of, (struct work){"AllGather", "NVLS", -1, 9000});
  puts("any");
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = i == WHY_graph || i == WHY_not_believed ? ANY : 0;
  replay(&captured, 100 * MICROSECONDS, READ);
  for (uint64_t i = 0; i < 2000; i++) replay(&captured, (100 + i % 50) * MICROSECONDS, i % 500 == 499 ? READ : UNREAD);
  end(&of);
}

/* The next replay comes while the library reads the times of the one before: of the first of its reads of an event or another. All replays
 * take equally long, so times of two of them would be longer. The library's reads wait meanwhile, so that the one before is unread. */
static void graph_read_amidst(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct captured captured = capture_one(&of, (struct work){"AllGather", "NVLS", -1, 9000});
  puts("any");
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = i == WHY_graph || i == WHY_not_believed ? ANY : 0;
  const uint64_t length = 100 * MICROSECONDS - EVENT_TIME;
  replay(&captured, length, READ);
  for (uint64_t i = 0; i < 12; i++) {
    driver->hold(true);
    replay(&captured, length, UNREAD);
    pass(200 * MICROSECONDS);
    pthread_t thread;
    check(pthread_create(&thread, NULL, report, &captured) == 0, "no thread");
    pthread_join(thread, NULL);
    pass(300 * MICROSECONDS);
    driver->execute_when_asked(captured.record + (i + 1) % 2, captured.record, 1 + i / 2 % 2, now() - 250 * MICROSECONDS);
    driver->hold(false);
    for (int j = 0; j < 3; j++) flush();
    pass(MILLISECONDS);
    if (i / 2 % 2 == 0) {
      of.busy = now();
      driver->execute_record(captured.record);
      pass(100 * MICROSECONDS);
      driver->execute_record(captured.record + 1);
    }
    print_replay(&captured);
    for (int j = 0; j < 3; j++) flush();
    of.busy = now();
  }
  end(&of);
}

/* Launches of other streams, which ended nine seconds ago, are looked at only when the first replay is. Its times are measured from a
 * later event than theirs: CUDA's numbers of so long a time have too few bits. */
static void graph_replays_beside_late_looks(void) {
  enum { OTHERS = 7 };
  struct communicator of = communicator_alone(0xab, 0, 2), others[OTHERS];
  for (int i = 0; i < OTHERS; i++) others[i] = communicator(0xac + (uint64_t)i, 0, 2, of.gpu, driver->make_stream());
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct captured captured = capture_one(&of, all_reduce("TREE"));
  driver->hold(true);
  enqueue_alone(&of, all_reduce("TREE"), 1, 100 * MICROSECONDS);
  driver->await_held();
  for (int i = 0; i < OTHERS; i++) enqueue_alone(&others[i], all_reduce("TREE"), 1, 100 * MICROSECONDS);
  pass(9 * SECONDS);
  replay(&captured, 20 * MICROSECONDS, UNREAD);
  pass(100 * MICROSECONDS);
  driver->hold(false);
  for (int i = 0; i < 3; i++) flush();
  for (uint64_t i = 0; i < 10; i++) replay(&captured, (20 + 7 * i) * MICROSECONDS, READ);
  end(&of);
  for (int i = 0; i < OTHERS; i++) end(&others[i]);
}

/* NCCL never tells that a captured launch has returned. Its event is in the graph all the same, and in no launch of later. */
static void graph_launch_without_end(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  of.has_graph = true;
  want.out_of_step = want.warnings = ANY;
  for (int i = 0; i < 3; i++) {
    struct work work = all_reduce("TREE");
    driver->begin_capture(of.stream, CAPTURE_GLOBAL);
    struct calls calls = call(&of, &work, 1, true);
    start_on(of.context, &(struct event){.type = KERNEL_LAUNCH, .parent = calls.group}, of.stream);
    group_ends(&calls);
    driver->end_capture(of.stream);
  }
  enqueue_alone(&of, all_reduce("TREE"), 200, 30 * MICROSECONDS);
  want.invisible = ANY;
  end(&of);
}

/* A graph's group has two launches: nobody knows which of them runs a call. */
static void graph_of_two_launches(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  const struct work works[] = {all_reduce("TREE"), {"AllGather", "NVLS", -1, 9000}};
  struct captured both = capture_group(&of, works, 2, 1);
  for (uint64_t i = 0; i < 4; i++) {
    replay_after(&both, 10 * MICROSECONDS, (50 + i) * MICROSECONDS, READ);
    both.has_events = false;
    print_replay(&both);
    both.has_events = graph_events() != 0;
  }
  struct captured one = capture_one(&of, all_reduce("TREE"));
  replay(&one, 90 * MICROSECONDS, READ);
  end(&of);
}

/* A GPU has so many launches with events in graphs, and no more. */
static void graph_with_many_launches(void) {
  enum { MOST = 256, MORE = 20 };
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  for (int i = 0; i < MOST; i++) {
    struct captured captured = capture_one(&of, all_reduce("TREE"));
    if (i % 32 == 0) replay(&captured, (50 + (uint64_t)i) * MICROSECONDS, READ);
  }
  driver->begin_capture(of.stream, CAPTURE_GLOBAL);
  uint64_t before = driver->graph_records();
  for (int i = 0; i < MORE; i++) {
    struct work work = all_reduce("TREE");
    struct calls calls = call(&of, &work, 1, true);
    launch_kernel(&of, &calls, 0);
    group_ends(&calls);
  }
  check(driver->graph_records() == before, "more launches have events");
  driver->end_capture(of.stream);
  want.invisible = ANY;
  end(&of);
}

/* The record of NUMBER fails, the first of which is 1: the driver calls the capture invalid, and the library calls it no more. */
static void graph_record_fails(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  flush();
  driver->fail(OF_cuEventRecordWithFlags, (uint64_t)number, 1, ERROR_STREAM_CAPTURE_UNSUPPORTED);
  driver->begin_capture(of.stream, CAPTURE_GLOBAL);
  of.has_graph = true;
  struct work work = all_reduce("TREE");
  struct captured captured = {.of = &of, .works = {work}, .count = 1, .calls = call(&of, &work, 1, true)};
  launch_kernel(&of, &captured.calls, 0);
  group_ends(&captured.calls);
  driver->end_capture(of.stream);
  check(driver->calls(OF_cuEventRecordWithFlags) == (uint64_t)number, "a record after the failure");
  puts("any");
  want.out_of_step = ANY;
  want.warnings = 1;
  flush();
  uint64_t before = driver_calls();
  replay(&captured, 80 * MICROSECONDS, READ);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  check(driver_calls() == before, "calls after a failure");
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  end(&of);
}

/* A driver without such records: nothing is recorded into the graph, and one line says so. */
static void graph_and_old_driver(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  graph(&of, all_reduce("TREE"));
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  want.warnings = 1;
  end(&of);
}

/* The program resets its GPU with replays under way: nobody asks about their events. */
static void graph_and_reset(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct captured captured = capture_one(&of, all_reduce("TREE"));
  replay(&captured, 70 * MICROSECONDS, READ);
  go_on_to(of.busy + MILLISECONDS);
  operate(&of, captured.works, 1, &captured.calls);
  captured.has_events = false;
  print_replay(&captured);
  flush();
  driver->reset_before_a_look(of.gpu);
  pass(MILLISECONDS);
  for (int i = 0; i < 3; i++) flush();
  finalize(of.context);
  flush();
}

/* NCCL tells of a replay whose kernel never runs. */
static void graph_never_over(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct captured captured = capture_one(&of, all_reduce("TREE"));
  for (uint64_t i = 0; i < 3; i++) replay(&captured, (70 + i) * MICROSECONDS, READ);
  struct kernel never = {FOR_EVER, FOR_EVER, FOR_EVER, FOR_EVER};
  of.latest = never;
  operate(&of, captured.works, 1, &captured.calls);
  flush();
  captured.has_events = false;
  of.latest = (struct kernel){now(), now(), now(), now()};
  print_replay(&captured);
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  finalize(of.context);
  flush();
}

#endif
