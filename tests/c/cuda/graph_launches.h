/* Launches in CUDA graphs: how they are captured, with events or without (NCCL_SCOREP_GRAPH_EVENTS), and how they are replayed. */
#ifndef GRAPH_LAUNCHES_H
#define GRAPH_LAUNCHES_H

#include "captures.h"

/* A launch in a graph: its works, the calls of its capture, and the first of its two records. */
struct captured {
  struct communicator *of;
  struct work works[MOST_WORKS];
  int count;
  struct calls calls;
  bool has_events;
  uint64_t record;
  /* The operations of a replay begin in the opposite order of the calls, as those of an all-to-all on most ranks. */
  bool is_reversed;
};

static long graph_events(void) {
  const char *text = getenv("NCCL_SCOREP_GRAPH_EVENTS");
  return text ? atol(text) : 0;
}

/* Captures a launch of these works, and that many more launches of the group. */
static struct captured capture_group(struct communicator *of, const struct work *works, int count, int more) {
  static long captures;
  struct captured captured = {.of = of, .count = count};
  memcpy(captured.works, works, (size_t)count * sizeof *works);
  of->has_graph = true;
  want.out_of_step = want.warnings = ANY;
  driver->set_current(of->gpu);
  driver->begin_capture(of->stream, CAPTURE_GLOBAL);
  captured.record = driver->graph_records();
  captured.calls = call(of, works, count, true);
  for (int i = 0; i <= more; i++) launch_kernel(of, &captured.calls, 0);
  group_ends(&captured.calls);
  driver->end_capture(of->stream);
  long every = graph_events();
  captured.has_events = every && captures++ % every == 0;
  uint64_t records = driver->graph_records() - captured.record;
  check(records == (captured.has_events ? 2 : 0), "%lu records in the graph", (unsigned long)records);
  return captured;
}

static struct captured capture(struct communicator *of, const struct work *works, int count) { return capture_group(of, works, count, 0); }
static struct captured capture_one(struct communicator *of, struct work work) { return capture(of, &work, 1); }

/* NCCL tells of a replay, in a callback of CUDA's. */
static void *report(void *of_replay) {
  const struct captured *captured = of_replay;
  struct captured played = *captured;
  for (int i = 0; captured->is_reversed && i < captured->count; i++) {
    played.works[i] = captured->works[captured->count - 1 - i];
    played.calls.calls[i] = captured->calls.calls[captured->count - 1 - i];
  }
  driver->forbid(true);
  operate(played.of, played.works, played.count, &played.calls);
  driver->forbid(false);
  return NULL;
}

/* What becomes of a replay's times. */
enum fate { READ, TORN, UNREAD };

/* A replay of a launch, whose kernel takes so long and begins so much later than NCCL tells of it. */
static void replay_after(struct captured *captured, uint64_t after, uint64_t length, enum fate fate) {
  struct communicator *of = captured->of;
  go_on_to(now() > of->busy ? now() : of->busy);
  uint64_t first = now() + captured->count * CALL_TIME + after;
  of->before = of->latest;
  of->latest = (struct kernel){first, first, first + EVENT_TIME, first + EVENT_TIME + length};
  of->busy = of->latest.end;
  pthread_t thread;
  check(pthread_create(&thread, NULL, report, captured) == 0, "no thread");
  pthread_join(thread, NULL);
  go_on_to(first);
  if (captured->has_events) driver->execute_record(captured->record);
  /* the library reads the new first event and the old last one */
  if (fate == TORN) for (int i = 0; i < 3; i++) flush();
  go_on_to(of->latest.end);
  if (captured->has_events) driver->execute_record(captured->record + 1);
  if (fate == UNREAD) return;
  pass(100 * MICROSECONDS);
  for (int i = 0; i < 3; i++) flush();
}

/* By other algorithms there are stamps, which nobody believes. */
static enum cause graph_cause(void) { return is_asked(KERNEL_CH) ? WHY_not_believed : WHY_graph; }

static void print_replay(struct captured *captured) {
  has_events = captured->has_events, without_events = graph_cause();
  enum source source = source_of(captured->of, captured->works, captured->count, captured->calls.mask);
  for (int i = 0; i < captured->count; i++) print_work(captured->of, &captured->works[i], source);
  has_events = true, without_events = WHY_not_believed;
}

static void replay(struct captured *captured, uint64_t length, enum fate fate) {
  replay_after(captured, 10 * MICROSECONDS, length, fate);
  print_replay(captured);
}

#endif
