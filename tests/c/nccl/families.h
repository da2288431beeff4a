/* Communicators that share resources: children of ncclCommSplit (splitShare) and of ncclCommShrink (shrinkShare). Their own work has
 * their own context. One proxy thread serves the whole family, and its ProxyCtrl events have the context of the communicator that
 * made it (proxy.cc), also after that one has ended: the thread ends with the last of the family (commFree in init.cc). */
#ifndef FAMILIES_H
#define FAMILIES_H

#include "operations.h"
#include <pthread.h>

struct relative {
  uint64_t id;
  int ranks, rank;
  void *context;
};

static void join(struct relative *relative) {
  relative->context = init_of(relative->id, NULL, 2, relative->ranks, relative->rank, &mask_given);
}

static void *collective_of(struct relative *relative) {
  struct event event = a_coll();
  event.comm = relative->id, event.rank = relative->rank;
  return enqueue(relative->context, event, 4096);
}

/* The shared proxy thread wakes up; it has the context of the one that made it, dead or alive. */
static void wake(struct relative *maker) {
  struct event event = {.type = PROXY_CTRL};
  void *handle = start(maker->context, &event);
  check(is_recorded(handle), "no handle for the proxy thread's own event");
  state(handle, 16, 0);
  stop(handle);
}

/* What the proxy thread does for an operation. */
struct errand {
  struct relative *maker, *relative;
  void *operation;
};

static void *run_errand(void *argument) {
  struct errand *errand = argument;
  wake(errand->maker);
  transfer(errand->relative->context, errand->operation, 512);
  kernel(errand->relative->context, errand->operation, 0);
  timed(true, true);
  return NULL;
}

static void by_proxy_thread(struct relative *maker, struct relative *relative) {
  struct errand errand = {maker, relative, collective_of(relative)};
  pthread_t thread;
  check(pthread_create(&thread, NULL, run_errand, &errand) == 0, "no thread");
  pthread_join(thread, NULL);
}

static void split_share(void) {
  struct relative parent = {.id = 0xab, .ranks = 4, .rank = 2}, child = {.id = 0xcd, .ranks = 2, .rank = 1};
  struct relative last = {.id = 0xce, .ranks = 2};
  join(&parent), join(&child), join(&last);
  by_proxy_thread(&parent, &parent);
  by_proxy_thread(&parent, &child);
  finalize(parent.context);
  by_proxy_thread(&parent, &child);
  /* the thread goes on for the last of the family while a child ends, so a child's step may stop behind its end */
  void *operation = collective_of(&child);
  struct event event = a_proxy_op(operation);
  void *proxy = start(child.context, &event);
  event = a_step(proxy, 0);
  void *step = start(child.context, &event);
  finalize(child.context);
  wake(&parent);
  state(step, SEND_WAIT, 100);
  stop(step), stop(proxy);
  want.proxy_timed++;
  sent(100);
  by_proxy_thread(&parent, &last);
  finalize(last.context);
  puts("expect communicators 3");
}

/* NCCL_SHRINK_ABORT after a rank has died: the parent's work never stops, and the rest has new ranks in the child, which shares
 * nothing. */
static void shrink_abort(void) {
  struct relative parent = {.id = 0xab, .ranks = 4, .rank = 3}, child = {.id = 0xcd, .ranks = 3, .rank = 2};
  join(&parent);
  by_proxy_thread(&parent, &parent);
  void *operation = collective_of(&parent);
  struct event event = a_proxy_op(operation);
  void *proxy = start(parent.context, &event);
  event = a_step(proxy, 0);
  state(start(parent.context, &event), SEND_GPU_WAIT, 0);
  want.unfinished++;
  join(&child);
  by_proxy_thread(&child, &child);
  finalize(parent.context);
  by_proxy_thread(&child, &child);
  finalize(child.context);
  puts("expect communicators 2");
}

/* NCCL makes the id of a shrunk communicator of the parent's id alone, so children of one parent that were shrunk one after the other
 * have one id, with different numbers of ranks. Their figures are together. */
static void shrunk_again(void) {
  struct relative first = {.id = 0xcd, .ranks = 3, .rank = 1}, second = {.id = 0xcd, .ranks = 2, .rank = 1};
  join(&first);
  by_proxy_thread(&first, &first);
  finalize(first.context);
  join(&second);
  by_proxy_thread(&second, &second);
  finalize(second.context);
  puts("expect communicators 1\nexpect rank 1");
}

#endif
