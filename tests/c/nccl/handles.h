/* Handles: used again, late or never given. */
#ifndef HANDLES_H
#define HANDLES_H

#include "operations.h"
#include <limits.h>

/* NULL is the handle of every event that was not recorded: its stop may come before anything has started, and before there is any
 * communicator. */
static void nothing_before_the_start(void) {
  uint64_t arguments[2] = {4096, 0};
  check(table.stop(NULL) == 0 && table.state(NULL, SEND_WAIT, arguments) == 0 && table.state(NULL, KERNEL_CH_STOP, NULL) == 0, "no event");
  void *context = init();
  for (int i = 0; i < 3; i++) {
    stop(NULL), state(NULL, SEND_WAIT, 4096), state(NULL, KERNEL_CH_STOP, 1), state_alone(NULL, KERNEL_CH_STOP);
    whole(context);
  }
  void *operation = coll(context);
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  stop(NULL), state(NULL, SEND_WAIT, 4096);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  stop(NULL), state(NULL, SEND_WAIT, 1);
  state(step, SEND_WAIT, 512);
  stop(step), stop(proxy);
  sent(512);
  timed(false, true);
  finalize(context);
}

static void stopped_again(void) {
  void *context = init();
  void *operation = coll(context);
  stop(operation), stop(operation), want.ignored_handles += 2;
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  state(step, SEND_WAIT, 4096);
  stop(step);
  state(step, SEND_WAIT, 1), stop(step), want.ignored_handles += 2;
  stop(proxy);
  state(proxy, 19, 1), stop(proxy), state_alone(proxy, 19), want.ignored_handles += 3;
  if (version->times) {
    event = a_kernel(operation, 0);
    void *channel = start(context, &event);
    state(channel, KERNEL_CH_STOP, gpu_clock() + 1000);
    stop(channel);
    state(channel, KERNEL_CH_STOP, 1), stop(channel), want.ignored_handles += 2;
    sent(4096);
  }
  if (version->api) {
    event = a_call(COLL_API, "AllReduce", false);
    void *call = start(context, &event);
    stop(call), stop(call), want.ignored_handles++;
    want.invisible++;
  }
  timed(true, true);
  finalize(context);
}

/* A handle that names no living event. */
static void dead(uintptr_t handle) {
  stop((void *)handle), state((void *)handle, SEND_WAIT, 1), state((void *)handle, KERNEL_CH_STOP, 1), state_alone((void *)handle, SEND_WAIT);
  want.ignored_handles += 4;
}

static void invented_handles(void) {
  void *gone = init();
  uintptr_t stale = (uintptr_t)coll(gone);
  finalize(gone);
  void *context = init();
  uintptr_t operation = (uintptr_t)coll(context);
  dead(0x1234);
  dead(~(uintptr_t)0 >> 8); /* the first byte is the process's own */
  dead((uintptr_t)&operation);
  dead(stale);
  dead(operation + 1);                                   /* a place not yet used */
  dead(operation + (1ULL << 28));                        /* another generation */
  dead(operation ^ 1ULL << 60);                          /* another process' */
  dead((operation & ~0xfffffffULL) | 0x7ffffff);         /* past the memory */
  dead((uintptr_t)context | 0x0f00000);
  pause_milliseconds(30);
  dead(stale);
  /* as parents they are no better */
  struct event event;
  if (version->types & KERNEL_CH) {
    event = a_kernel((void *)0x1234, 0);
    stop(start(context, &event)), want.orphans++;
  }
  event = a_step((void *)~(uintptr_t)0, 0);
  stop(start(context, &event)), want.orphans++;
  event = a_proxy_op((void *)(operation ^ 1ULL << 60));
  stop(start(context, &event)), want.orphans++;
  whole(context);
  finalize(context);
}

static void every_state(void) {
  void *context = init();
  struct event events[6] = {a_coll(), a_p2p(1), a_call(COLL_API, "AllReduce", true), a_call(GROUP_API, NULL, false), a_proxy_op(NULL), a_step(NULL, 0)};
  void *operation = coll(context);
  events[4].parent = operation;
  void *handles[6] = {NULL};
  for (int i = 0; i < 6; i++) {
    if (events[i].type & ~version->types) continue;
    if (events[i].type == PROXY_STEP) events[i].parent = handles[4];
    handles[i] = start(context, &events[i]);
    check(is_recorded(handles[i]), "no handle");
  }
  for (int number = -5; number <= 64; number++) {
    for (int i = 0; i < 6; i++) state_alone(handles[i], number), state(handles[i], number, 99);
  }
  state(handles[0], INT_MAX, 1), state(handles[0], INT_MIN, 1);
  for (int i = 5; i >= 0; i--) stop(handles[i]);
  recorded(4096), recorded(1024);
  sent(99);
  if (version->api) want.invisible++;
  want.proxy_timed++;
  finalize(context);
}

static void stopped_after_finalize(void) {
  void *context = init();
  struct event event = a_coll();
  void *operation = start(context, &event);
  recorded(4096);
  event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  finalize(context);
  state(step, SEND_WAIT, 100);
  stop(step), stop(proxy), stop(operation);
  want.proxy_timed++;
  sent(100);
}

#endif
