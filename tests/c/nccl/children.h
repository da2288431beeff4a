/* Proxy operations and steps in every order, and those of another process. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include "operations.h"

static void children_in_every_order(void) {
  void *context = init();
  struct event event = a_coll();
  void *before = start(context, &event);
  kernel(context, before, 0);
  transfer(context, before, 1);
  stop(before);
  recorded(4096);
  timed(true, true);
  void *after = coll(context);
  kernel(context, after, 0);
  transfer(context, after, 2);
  timed(true, true);
  void *late = coll(context);
  finalize(context);
  kernel(context, late, 0);
  transfer(context, late, 3);
  timed(true, true);
}

/* Receives are started again while nothing is there to receive into; NCCL forgets the handle before. */
static void restarted_steps(void) {
  void *context = init();
  for (int round = 0; round < 20; round++) {
    void *operation = coll(context);
    struct event event = a_proxy_op(operation);
    event.send = 0, event.steps = 2;
    void *proxy = start(context, &event);
    for (int number = 0; number < 2; number++) {
      void *step = NULL;
      event = a_step(proxy, number);
      for (int again = 0; again < 1000; again++) step = start(context, &event);
      if (number == 0) state(step, RECV_WAIT, 0), state(step, RECV_FLUSH_WAIT, 64), state(step, RECV_GPU_WAIT, 0), stop(step);
    }
    /* the second step never stops, though its operation does: that one is unfinished */
    stop(proxy);
    want.proxy_timed++;
    want.unfinished++;
    for (int i = 0; i < 20; i++) flush(), pause_milliseconds(1);
  }
  finalize(context);
}

static void many_states(void) {
  void *context = init();
  void *operation = coll(context);
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  const uint64_t sizes[] = {0, 4096, SIZE_MAX, 1ULL << 47, (1ULL << 47) - 1};
  for (int i = 0; i < 5; i++) {
    event = a_step(proxy, i);
    void *step = start(context, &event);
    for (int again = 0; again < 1000; again++) state(step, SEND_PEER_WAIT, 7);
    state(step, SEND_WAIT, 1), state(step, SEND_WAIT, sizes[i]);
    stop(step);
    bool plausible = sizes[i] < 1ULL << 47;
    if (plausible) sent(sizes[i]);
  }
  stop(proxy);
  want.proxy_timed++;
  finalize(context);
}

static void aborted(void) {
  void *context = init();
  whole(context);
  for (int i = 0; i < 3; i++) {
    void *operation = coll(context);
    struct event event = a_proxy_op(operation);
    void *proxy = start(context, &event);
    event = a_step(proxy, 0);
    void *step = start(context, &event);
    state(step, SEND_GPU_WAIT, 0);
    if (i == 1) stop(step);
  }
  want.unfinished += 3;
  finalize(context);
}

static void pxn(void) {
  void *context = init();
  void *operation = coll(context);
  void *contexts[] = {NULL, (void *)0x7f1234567890, context, (void *)((uintptr_t)context ^ 1ULL << 60)};
  void *parents[] = {NULL, (void *)0x7f1234567890, operation, (void *)((uintptr_t)operation ^ 1ULL << 60)};
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++) {
      struct event event = a_proxy_op(parents[j]);
      event.pid = getpid() + 1;
      void *proxy = start(contexts[i], &event);
      check(!is_recorded(proxy), "a handle for another process' operation");
      want.foreign_proxy_ops++;
      event = a_step(proxy, 0);
      void *step = start(contexts[i], &event);
      check(!is_recorded(step), "a handle for another process' step");
      want.orphans++;
      state(step, SEND_WAIT, 4096), stop(step), stop(proxy);
    }
  }
  /* steps that another plugin's operation is the parent of, by chance ours */
  struct event event = a_step(operation, 0);
  void *step = start(context, &event);
  state(step, SEND_WAIT, 4096);
  stop(step);
  want.orphans++;
  kernel(context, operation, 0);
  timed(true, false);
  finalize(context);
}

#endif
