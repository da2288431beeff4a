/* The ways of using NCCL, as its callbacks show them: one process with all devices, processes with a thread a
 * device, processes with one thread and a group, and a group of collectives. Four ranks in all; NUMBER is the
 * process, where there are several. */
#ifndef WAYS_H
#define WAYS_H

#include "operations.h"
#include <pthread.h>

enum { WAY_RANKS = 4, WAY_DEVICES = 2, WAY_ROUNDS = 5 };

struct device {
  void *context;
  int rank;
};

static struct device device_of(int rank) {
  return (struct device){init_of(0xab, NULL, 1, WAY_RANKS, rank, &mask_given), rank};
}

/* A collective of a rank: its call below the group of calls, its launch, and its operation with a kernel. */
struct collective {
  struct device device;
  const char *func;
  size_t count;
  void *call;
};

/* The outer group of calls; it begins on the context of the first call. */
static void *begin_group(struct device device) {
  if (!version->api) return NULL;
  struct event event = {.type = GROUP_API, .rank = device.rank};
  void *group = start(device.context, &event);
  state_alone(group, GROUP_START_RETURNS);
  return group;
}

static void call(struct collective *collective, void *group) {
  if (!version->api) return;
  struct event event = a_call(COLL_API, collective->func, false);
  event.parent = group, event.count = collective->count;
  collective->call = start(collective->device.context, &event);
  stop(collective->call);
}

static void launch(struct device device, void *group) {
  if (!version->api) return;
  struct event event = {.type = KERNEL_LAUNCH, .parent = group, .rank = device.rank};
  stop(start(device.context, &event));
}

/* What NCCL makes of calls of one communicator when their group ends: one launch, and one operation a call. */
static void carry_out(struct collective *collectives, int count, void *group, uint64_t sequence) {
  struct device device = collectives->device;
  void *operations[8];
  launch(device, group);
  for (int i = 0; i < count; i++) {
    struct event event = a_coll();
    event.rank = device.rank, event.func = collectives[i].func, event.count = collectives[i].count;
    event.parent = version->api ? collectives[i].call : NULL, event.sequence = sequence + (uint64_t)i;
    operations[i] = enqueue(device.context, event, 4 * collectives[i].count);
  }
  for (int i = 0; i < count; i++) {
    kernel(device.context, operations[i], 0);
    timed(true, false);
  }
}

static void end_group(void *group) {
  if (version->api) stop(group);
}

/* One thread: all devices' calls in one group, whose end launches the last device's first, as NCCL 2.28 did on GPUs. */
static void all_reduces_in_groups(int first, int devices) {
  struct collective collectives[WAY_RANKS];
  for (int i = 0; i < devices; i++) collectives[i] = (struct collective){device_of(first + i), "AllReduce", 1024, NULL};
  for (int round = 0; round < WAY_ROUNDS; round++) {
    void *group = begin_group(collectives[0].device);
    for (int i = 0; i < devices; i++) call(&collectives[i], group);
    if (group) state_alone(group, GROUP_END_BEGINS);
    for (int i = devices - 1; i >= 0; i--) carry_out(&collectives[i], 1, group, (uint64_t)round);
    end_group(group);
  }
  for (int i = 0; i < devices; i++) finalize(collectives[i].device.context);
}

static void all_devices(void) { all_reduces_in_groups(0, WAY_RANKS); }
static void one_thread_with_groups(void) { all_reduces_in_groups(WAY_DEVICES * (int)number, WAY_DEVICES); }

/* A thread makes its communicator, and all its calls. */
static void *use_device(void *rank) {
  struct collective collective = {device_of((int)(intptr_t)rank), "AllReduce", 1024, NULL};
  for (int round = 0; round < WAY_ROUNDS; round++) {
    void *group = begin_group(collective.device);
    call(&collective, group);
    if (group) state_alone(group, GROUP_END_BEGINS);
    carry_out(&collective, 1, group, (uint64_t)round);
    end_group(group);
  }
  finalize(collective.device.context);
  return NULL;
}

static void a_thread_a_device(void) {
  pthread_t threads[WAY_DEVICES];
  for (int i = 0; i < WAY_DEVICES; i++) {
    void *rank = (void *)(intptr_t)(WAY_DEVICES * number + i);
    check(pthread_create(&threads[i], NULL, use_device, rank) == 0, "no thread");
  }
  for (int i = 0; i < WAY_DEVICES; i++) pthread_join(threads[i], NULL);
}

/* Three collectives of one communicator in a group: one launch. */
static void group_of_collectives(void) {
  struct device device = device_of((int)number);
  struct collective collectives[] = {{device, "AllReduce", 1024, NULL}, {device, "Broadcast", 512, NULL},
                                     {device, "AllGather", 256, NULL}};
  for (int round = 0; round < WAY_ROUNDS; round++) {
    void *group = begin_group(device);
    for (int i = 0; i < 3; i++) call(&collectives[i], group);
    if (group) state_alone(group, GROUP_END_BEGINS);
    carry_out(collectives, 3, group, (uint64_t)(3 * round));
    end_group(group);
  }
  finalize(device.context);
}

#endif
