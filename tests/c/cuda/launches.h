/* Groups of calls of NCCL's API, and the callbacks that NCCL makes of them: the group begins, its calls are reported, the group is about
 * to end; the kernel is launched, its operations start and stop; the group ends. */
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include "works.h"

enum { MOST_WORKS = 16 };

/* Calls of one group: NCCL's handles, and what the library asked for then. */
struct calls { void *group, *calls[MOST_WORKS]; bool captured; int mask; };

static const uint64_t OPERATION_TYPES = COLL | P2P | PROXY_OP | PROXY_STEP | KERNEL_CH | NET_PLUGIN;

/* The calls, up to where the group is about to end. */
static struct calls call(const struct communicator *of, const struct work *works, int count, bool captured) {
  struct calls calls = {.captured = captured, .mask = mask_given};
  check(count <= MOST_WORKS, "too many works");
  if (driver) driver->set_current(of->gpu);
  struct event event = {.type = GROUP_API, .captured = captured};
  if (is_in(calls.mask, GROUP_API | COLL_API | P2P_API | OPERATION_TYPES)) calls.group = start_on(of->context, &event, NULL);
  state_on(calls.group, GROUP_START_RETURNS);
  for (int i = 0; i < count; i++) {
    event = a_call(is_p2p(&works[i]) ? P2P_API : COLL_API, works[i].func, captured);
    event.parent = calls.group, event.count = works[i].count;
    if (is_in(calls.mask, event.type | OPERATION_TYPES)) calls.calls[i] = start_on(of->context, &event, of->stream);
    pass(CALL_TIME);
    stop_on(calls.calls[i]);
  }
  state_on(calls.group, GROUP_END_BEGINS);
  return calls;
}

static void group_ends(const struct calls *calls) { stop_on(calls->group); }

/* The launch of a kernel of so many nanoseconds; gives when it began. */
static uint64_t launch_kernel(struct communicator *of, const struct calls *calls, uint64_t length) {
  if (driver) driver->set_current(of->gpu);
  uint64_t begun = now();
  struct event event = {.type = KERNEL_LAUNCH, .parent = calls->group};
  void *handle = is_in(calls->mask, KERNEL_LAUNCH) ? start_on(of->context, &event, of->stream) : NULL;
  pass(launch_time);
  if (!calls->captured) run(of, begun, length);
  stop_on(handle);
  return begun;
}

/* The operations of the latest kernel. */
static void operate(struct communicator *of, const struct work *works, int count, const struct calls *calls) {
  void *handles[MOST_WORKS], *group = NULL;
  struct event event = {.type = GROUP};
  if (is_in(calls->mask, GROUP | OPERATION_TYPES)) group = start(of->context, &event);
  for (int i = 0; i < count; i++) {
    event = event_of(of, &works[i]);
    event.parent = calls->calls[i];
    if (!is_p2p(&works[i])) event.sequence = of->sequence++;
    pass(CALL_TIME);
    handles[i] = start(of->context, &event);
    check(is_any_time_right || handles[i] != NULL, "an operation has no handle");
  }
  for (int i = 0; i < count; i++) stop(handles[i]);
  if (group) stop(group);
  for (int i = 0; i < count; i++) {
    /* up to 2.30 NCCL counts no work for a send or receive to oneself */
    bool is_counted = version->number > 6 || works[i].peer != of->rank;
    if (is_in(calls->mask, KERNEL_CH) && is_counted) stamp(of, handles[i], is_stamped_right(works, count));
  }
  for (int i = 0; i < count; i++) of->out_of_step |= version->number <= 6 && works[i].peer == of->rank;
}

/* A group of calls that becomes one kernel of so many nanoseconds. */
static void enqueue_works(struct communicator *of, const struct work *works, int count, uint64_t length) {
  struct calls calls = call(of, works, count, false);
  /* NCCL counts the works of a graph when it runs, others when they are launched */
  of->out_of_step |= of->has_graph;
  launch_kernel(of, &calls, length);
  enum source source = source_of(of, works, count, calls.mask);
  operate(of, works, count, &calls);
  group_ends(&calls);
  for (int i = 0; i < count; i++) print_work(of, &works[i], source);
}

static inline void enqueue_work(struct communicator *of, struct work work, uint64_t length) { enqueue_works(of, &work, 1, length); }

/* So many times, each when the one before is over. */
static inline void enqueue_alone(struct communicator *of, struct work work, int times, uint64_t length) {
  for (int i = 0; i < times; i++) {
    enqueue_work(of, work, length);
    go_on_to(of->busy + 100 * MICROSECONDS);
  }
}

/* NCCL does not tell of the latest kernel's launch: it is taken to be at three quarters of the group's end, which began then. */
static void launched_within(struct communicator *of, uint64_t begun) { of->latest.launched = now() - (now() - begun) / 4; }

/* Broadcasts of which NCCL tells no more than that they are called: a kernel is launched between their group's last state and its end,
 * which take so long before and after. */
static void enqueue_silent_within(struct communicator *of, int count, uint64_t length, uint64_t before, uint64_t after) {
  struct work works[MOST_WORKS];
  for (int i = 0; i < count; i++) works[i] = broadcast();
  struct calls calls = call(of, works, count, false);
  uint64_t begun = now();
  pass(before);
  run(of, begun, length);
  pass(after);
  launched_within(of, begun);
  group_ends(&calls);
}

static inline void enqueue_silent(struct communicator *of, int count, uint64_t length) {
  enqueue_silent_within(of, count, length, launch_time, 0);
}

/* A collective by copy engine: no kernel, and copies in the stream. */
static inline void enqueue_copies(struct communicator *of, struct work work, uint64_t length) {
  struct calls calls = call(of, &work, 1, false);
  struct event event = event_of(of, &work);
  event.type = CE_COLL, event.parent = calls.calls[0];
  uint64_t begun = now();
  void *handle = start_on(of->context, &event, of->stream);
  check(handle != NULL, "a collective by copy engine has no handle");
  pass(launch_time);
  run(of, begun, length);
  /* the first copies may have begun as soon as the stream was free */
  of->latest.launched = of->latest.first;
  stop_on(handle);
  group_ends(&calls);
  print_work(of, &work, is_gpu_time("stamps") || is_gpu_time("off") || !has_events ? BY_ENQUEUE : BY_EVENTS);
}

/* All that is in the stream is over, and the library has heard of it. */
static void settle(struct communicator *of) {
  if (of->busy != FOR_EVER && of->busy > now()) go_on_to(of->busy);
  pass(10 * MILLISECONDS);
  flush();
}

/* Ends a GPU's last communicator, whose last kernels the collector has not asked about. If it gets no processor while NCCL waits for it,
 * for 200 ms, these have no times. */
static inline void end_at_once(struct communicator *of) {
  long begun = real_nanoseconds();
  finalize(of->context);
  if (real_nanoseconds() - begun < 200 * (long)MILLISECONDS) return;
  puts("any");
  untimed[WHY_not_believed] = ANY;
}

static inline void end(struct communicator *of) {
  settle(of);
  finalize(of->context);
}

#endif
