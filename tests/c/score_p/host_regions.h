/* NCCL's API called on the main thread, on a thread that Score-P knows, and on one that it does not know. */
#ifndef HOST_REGIONS_H
#define HOST_REGIONS_H

#include "lanes.h"

static struct communicator called;

static void call_some(int count) {
  uint64_t from = now() + MILLISECONDS;
  for (int i = 0; i < count; i++) {
    struct operation operation = all_reduce(&called, 1000, from + (uint64_t)i * MILLISECONDS, from + (uint64_t)(i + 1) * MILLISECONDS);
    operation.calls = true;
    add(operation);
  }
  struct operation send = point_to_point(&called, "Send", 1, 1000, from + 20 * MILLISECONDS, from + 21 * MILLISECONDS);
  send.calls = true;
  add(send);
  play();
}

static void *known_thread(void *region) {
  begin_thread("known");
  enter_user_region(*(uint32_t *)region);
  call_some(2);
  leave_user_region(*(uint32_t *)region);
  end_thread("known");
  return NULL;
}

static void *unknown_thread(void *unused) {
  (void)unused;
  call_some(4);
  return NULL;
}

static void on_thread(void *(*body)(void *), void *argument) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, body, argument) == 0, "no thread");
  pthread_join(thread, NULL);
}

static void host_regions(void) {
  begin();
  uint32_t step = user_region("step");
  called = communicator(0x1a2b, 0, 2);
  enter_user_region(step);
  call_some(3);
  leave_user_region(step);
  on_thread(known_thread, &step);
  on_thread(unknown_thread, NULL);
  advance_to(now() + SECONDS);
  finalize(called.context);
}

/* PyTorch's batch_isend_irecv: the group of the call is in another one. NCCL tells that it has ended, and of the outer one only the launch and
 * the operations; of one that is captured, only the launch. */
static void call_in_nested_groups(bool captured) {
  struct event event = a_call(GROUP_API, NULL, captured);
  void *group = start(called.context, &event);
  state(group, GROUP_START_RETURNS, 0);
  event = a_call(P2P_API, "Send", captured);
  event.parent = group;
  void *api = start(called.context, &event);
  advance_to(now() + CALL_TIME);
  stop(api);
  state(group, GROUP_END_BEGINS, 0);
  advance_to(now() + 1 * MICROSECONDS);
  stop(group);
  advance_to(now() + 100 * MICROSECONDS);
  event = (struct event){.type = KERNEL_LAUNCH, .parent = group};
  void *launch = start(called.context, &event);
  advance_to(now() + 7 * MICROSECONDS);
  if (launch) stop(launch);
  advance_to(now() + 1 * MICROSECONDS);
  if (captured) return;
  event = (struct event){.type = GROUP};
  void *operations = start(called.context, &event);
  advance_to(now() + 1 * MICROSECONDS);
  event = a_p2p(1);
  event.comm = called.id, event.parent = api;
  void *send = start(called.context, &event);
  advance_to(now() + 3 * MICROSECONDS);
  stop(send);
  if (operations) stop(operations);
  advance_to(now() + 50 * MICROSECONDS);
}

static void nested_groups(void) {
  begin();
  uint32_t step = user_region("step");
  called = communicator(0x1a2b, 0, 2);
  /* what a tick is worth is known from then on */
  advance_to(now() + SECONDS);
  flush();
  for (int i = 0; i < 3; i++) {
    enter_user_region(step);
    call_in_nested_groups(i == 1);
    leave_user_region(step);
  }
  advance_to(now() + SECONDS);
  finalize(called.context);
}

#endif
