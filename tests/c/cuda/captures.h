/* CUDA graphs: streams that are captured, here and elsewhere, and the host's callbacks of their replays. */
#ifndef CAPTURES_H
#define CAPTURES_H

#include "launches.h"

/* The operations of a graph are told of by a thread of CUDA's, where CUDA must not be called. */
struct replay { struct communicator *of; struct work work; struct calls calls; int times; uint64_t length; };

static void *replays(void *argument) {
  struct replay *replay = argument;
  driver->forbid(true);
  for (int i = 0; i < replay->times; i++) {
    struct communicator *of = replay->of;
    of->before = of->latest;
    of->latest = (struct kernel){now(), now(), now() + START_TIME, now() + START_TIME + replay->length};
    operate(of, &replay->work, 1, &replay->calls);
    enum source source = source_of(of, &replay->work, 1, replay->calls.mask);
    print_work(of, &replay->work, source);
    go_on_to(of->latest.end + 100 * MICROSECONDS);
  }
  driver->forbid(false);
  return NULL;
}

static void replay_on_another_thread(struct replay *replay) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, replays, replay) == 0, "no thread");
  pthread_join(thread, NULL);
}

/* A kernel is launched into a stream that is captured: nothing may be recorded there. Its replays have no events; what is launched
 * beside them has no stamps that anybody believes. */
static void graph(struct communicator *of, struct work work) {
  of->has_graph = true;
  want.out_of_step = want.warnings = ANY;
  driver->begin_capture(of->stream, CAPTURE_GLOBAL);
  struct replay replay = {of, work, call(of, &work, 1, true), 10, 150 * MICROSECONDS};
  launch_kernel(of, &replay.calls, 0);
  group_ends(&replay.calls);
  driver->end_capture(of->stream);
  /* by other algorithms there are stamps that nobody believes */
  has_events = false, without_events = is_asked(KERNEL_CH) ? WHY_not_believed : WHY_graph;
  replay_on_another_thread(&replay);
  has_events = true;
}

static void graphs(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  graph(&of, (struct work){"AllGather", "RING", -1, 9000});
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  enqueue_alone(&of, all_reduce("RING"), 3, 100 * MICROSECONDS);
  graph(&of, all_reduce("TREE"));
  graph(&of, (struct work){"AllGather", "RING", -1, 9000});
  enqueue_alone(&of, all_reduce("RING"), 3, 100 * MICROSECONDS);
  end(&of);
}

/* Without work for its proxies NCCL tells of a graph's operations when it is captured, and never again. */
static void graph_told_of_once(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  driver->begin_capture(of.stream, CAPTURE_GLOBAL);
  struct work work = all_reduce("TREE");
  struct calls calls = call(&of, &work, 1, true);
  launch_kernel(&of, &calls, 0);
  void *group = start(of.context, &(struct event){.type = GROUP});
  struct event event = event_of(&of, &work);
  event.parent = calls.calls[0], event.sequence = of.sequence++;
  stop(start(of.context, &event));
  stop(group);
  group_ends(&calls);
  has_events = false, without_events = WHY_graph;
  print_work(&of, &work, BY_ENQUEUE);
  has_events = of.has_graph = true;
  want.out_of_step = want.warnings = ANY;
  driver->end_capture(of.stream);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  end(&of);
}

static atomic_int capture_step;

static void await_step(int step) {
  while (capture_step < step) usleep(100);
}

static void *captures_elsewhere(void *gpu) {
  driver->set_current(gpu);
  void *stream = driver->make_stream();
  driver->begin_capture(stream, CAPTURE_GLOBAL);
  capture_step = 1;
  await_step(2);
  driver->end_capture(stream);
  return NULL;
}

/* While another thread captures in the global mode, events are made, recorded and asked about all the same. */
static void capture_elsewhere(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  pthread_t thread;
  check(pthread_create(&thread, NULL, captures_elsewhere, of.gpu) == 0, "no thread");
  await_step(1);
  for (int i = 0; i < 300; i++) enqueue_work(&of, all_reduce("TREE"), 40 * MICROSECONDS);
  settle(&of);
  struct communicator other = communicator_alone(0xac, 0, 2);
  enqueue_alone(&other, all_reduce("TREE"), 10, 40 * MICROSECONDS);
  end(&other);
  capture_step = 2;
  pthread_join(thread, NULL);
  end(&of);
}

/* The launching thread captures another stream itself. */
static void capture_here(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  void *stream = driver->make_stream();
  for (int mode = CAPTURE_GLOBAL; mode <= CAPTURE_RELAXED; mode++) {
    driver->begin_capture(stream, (enum capture_mode)mode);
    for (int i = 0; i < 100; i++) enqueue_work(&of, all_reduce("TREE"), 40 * MICROSECONDS);
    settle(&of);
    driver->end_capture(stream);
  }
  end(&of);
}

/* With graphs alive NCCL tells of operations by a callback of CUDA's, also of those that are in none: none of them is taken for the next
 * launch's, nor is the next launch's time taken for theirs. */
static void host_callbacks(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  struct work work = all_reduce("TREE");
  for (int i = 0; i < 5; i++) {
    struct replay replay = {&of, work, call(&of, &work, 1, false), 1, 150 * MICROSECONDS};
    launch_kernel(&of, &replay.calls, 700 * MICROSECONDS);
    group_ends(&replay.calls);
    has_events = false, without_events = is_asked(KERNEL_CH) ? WHY_not_believed : WHY_graph;
    replay_on_another_thread(&replay);
    has_events = true;
    go_on_to(now() + MILLISECONDS);
    of.busy = now();
    enqueue_alone(&of, all_reduce("TREE"), 2, 100 * MICROSECONDS);
  }
  end(&of);
}

#endif
