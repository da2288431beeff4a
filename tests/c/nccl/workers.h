/* Threads that make operations of one communicator, and where these must be found again. */
#ifndef WORKERS_H
#define WORKERS_H

#include "operations.h"
#include <pthread.h>

static void *shared_context;
static atomic_bool over;
static atomic_long refusals;
/* Children that got a handle, and steps without one since their proxy operation had none. */
static atomic_long kernels, proxies, steps, parentless;

static void a_send(void *proxy, int number) {
  struct event event = a_step(proxy, number);
  void *step = start(shared_context, &event);
  *(is_recorded(step) ? &steps : is_recorded(proxy) ? &want.dropped : &parentless) += 1;
  if (is_recorded(step)) sent(64);
  state(step, SEND_WAIT, 64);
  stop(step);
}

/* An operation with its children. Five events, since the recorder's blocks hold 64: what finds no room is now the operation, now any of
 * its children. False where the plugin does not take it. */
static bool operate(void) {
  struct event event = a_coll();
  void *operation = start(shared_context, &event);
  if (!is_recorded(operation)) return false;
  recorded(4096);
  stop(operation);
  if (version->times) *(is_recorded(kernel(shared_context, operation, 0)) ? &kernels : &want.dropped) += 1;
  event = a_proxy_op(operation);
  void *proxy = start(shared_context, &event);
  *(is_recorded(proxy) ? &proxies : &want.dropped) += 1;
  for (int i = 0; i < 2; i++) a_send(proxy, i);
  stop(proxy);
  return true;
}

/* Operations until it is over, or the plugin takes none. */
static void *work(void *ceaseless) {
  while (!over) {
    if (operate()) continue;
    refusals++;
    if (!ceaseless) break;
  }
  return NULL;
}

/* Every start callback of `work` is in a figure or in a counter, once. How the operations were timed follows from their children, but
 * for those that came when their operation was settled already, which are orphans. */
static void account(void) {
  if (want.dropped) want.out_of_step = want.warnings = ANY;
  want.gpu_timed = want.proxy_timed = want.orphans = ANY;
  printf("expect kernels %ld\nexpect proxies %ld\nexpect steps %ld\nexpect parentless %ld\n", (long)kernels, (long)proxies, (long)steps,
         (long)parentless);
}

#endif
