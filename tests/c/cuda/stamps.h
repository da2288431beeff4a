/* True time, which the GPUs' clocks go by, and kernel stamps that NCCL has not told of yet: it does so some time after the GPU has made
 * them, while other things happen. */
#ifndef STAMPS_H
#define STAMPS_H

#include "driver.h"
#include "../score_p/metric_plugin.h"
#include "../nccl/operations.h"
#include "../score_p/true_time.h"
#include <pthread.h>

/* The GPUs' clocks and the host's go on together, whichever thread says so. */
static inline void true_time_is(uint64_t time) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  advance_to(time);
  if (driver) driver->set_time(now());
  pthread_mutex_unlock(&lock);
}

/* While this holds, the library's threads stop where they look at the clock, as if they had no processor. Threads of the program that
 * are to go on say so. */
static _Atomic bool are_others_stopped;
static _Thread_local bool goes_on;

static uint64_t ticks_of_the_host(void) {
  while (are_others_stopped && !goes_on) usleep(100);
  return score_p_ticks();
}

/* The library's times are true times from here on. */
static inline void keep_true_time(void) {
  true_time_is(now());
  metric_plugin("nccl_plugin").set_clock_function(ticks_of_the_host);
}

/* The begin or the end of a kernel channel. */
struct stamp {
  uint64_t at, value;
  void *context, *operation;
  uint8_t channel;
  struct stamp *end; /* of a begin; it waits until this has a handle */
  void *handle;
};

/* How late NCCL tells. */
static uint64_t stamps_told_after = 1500;

enum { MOST_STAMPS = 1 << 16 };
static struct stamp *stamps[MOST_STAMPS];
static size_t stamp_count;
static pthread_mutex_t stamps_lock = PTHREAD_MUTEX_INITIALIZER;

static void put_stamp(struct stamp *stamp) {
  pthread_mutex_lock(&stamps_lock);
  check(stamp_count < MOST_STAMPS, "too many stamps");
  stamps[stamp_count++] = stamp;
  pthread_mutex_unlock(&stamps_lock);
}

/* The first of those that are due. */
static struct stamp *take_stamp(uint64_t until) {
  struct stamp *found = NULL;
  size_t first = 0;
  pthread_mutex_lock(&stamps_lock);
  for (size_t i = 1; i < stamp_count; i++)
    if (stamps[i]->at < stamps[first]->at) first = i;
  if (stamp_count && stamps[first]->at <= until) {
    found = stamps[first];
    stamps[first] = stamps[--stamp_count];
  }
  pthread_mutex_unlock(&stamps_lock);
  return found;
}

static void tell(struct stamp *stamp) {
  if (stamp->end) {
    struct event event = a_kernel(stamp->operation, stamp->channel);
    event.ptimer = stamp->value;
    stamp->end->handle = start(stamp->context, &event);
    put_stamp(stamp->end);
  } else {
    state(stamp->handle, KERNEL_CH_STOP, stamp->value);
    stop(stamp->handle);
  }
  free(stamp);
}

/* A kernel channel of an operation, from a true time to another. */
static void add_stamps(void *context, void *operation, uint8_t channel, uint64_t begin, uint64_t end) {
  struct stamp *last = malloc(sizeof *last), *first = malloc(sizeof *first);
  *last = (struct stamp){.at = end + stamps_told_after, .value = gpu_stamp(&gpu, end), .channel = channel};
  *first = (struct stamp){.at = begin + stamps_told_after, .value = gpu_stamp(&gpu, begin), .context = context, .operation = operation,
                          .channel = channel, .end = last};
  put_stamp(first);
}

/* Time goes on, and NCCL tells what there is to tell in it. */
static void go_on_to(uint64_t time) {
  for (struct stamp *due; (due = take_stamp(time));) {
    true_time_is(due->at);
    tell(due);
  }
  true_time_is(time);
}

static inline void pass(uint64_t nanoseconds) { go_on_to(now() + nanoseconds); }

#endif
