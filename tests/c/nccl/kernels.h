/* Kernel channels: odd stamps and channels, and works that NCCL does not count. */
#ifndef KERNELS_H
#define KERNELS_H

#include "operations.h"
#include <pthread.h>

static void kernel_between(void *context, void *operation, uint64_t first, uint64_t last, bool told) {
  struct event event = a_kernel(operation, 0);
  event.ptimer = first;
  void *handle = start(context, &event);
  if (told) state(handle, KERNEL_CH_STOP, last);
  stop(handle);
}

static void odd_stamps(void) {
  void *context = init();
  if (!version->times) {
    coll(context);
    finalize(context);
    return;
  }
  void *operation = coll(context);
  uint64_t now = gpu_clock();
  kernel_between(context, operation, now, now + 1000, true), want.gpu_timed++;
  operation = coll(context);
  kernel_between(context, operation, gpu_clock(), 0, false); /* stopped without a stamp */
  operation = coll(context);
  now = gpu_clock();
  kernel_between(context, operation, now, now - 1, true); /* stops before it starts */
  operation = coll(context);
  kernel_between(context, operation, gpu_clock(), 0, true);
  operation = coll(context);
  kernel_between(context, operation, gpu_clock(), UINT64_MAX, true);
  state(NULL, KERNEL_CH_STOP, gpu_clock()); /* stamped before it has a handle */
  operation = coll(context);
  struct event event = a_kernel(operation, 0);
  void *twice = start(context, &event);
  state(twice, KERNEL_CH_STOP, 1), state(twice, KERNEL_CH_STOP, event.ptimer + 1000), stop(twice);
  want.gpu_timed++;
  operation = coll(context);
  event = a_kernel(operation, 0);
  start(context, &event); /* never stops */
  want.unfinished++;
  finalize(context);
}

/* Operations with stamps that may be another's. Whether a line has said so by now is looked at with NUMBER milliseconds to wait. */
static void out_of_step(int operations) {
  want.out_of_step += operations;
  want.warnings = number ? 1 : ANY;
  pause_milliseconds(number);
}

/* A stamp far before its operation belongs to another one. */
static void early_stamps(void) {
  void *context = init();
  for (int i = 0; i < 20; i++) {
    void *operation = coll(context);
    kernel(context, operation, 0);
    timed(true, false);
    pause_milliseconds(2);
  }
  uint64_t early = gpu_clock() - 20000000;
  if (version->times) {
    for (int i = 0; i < 3; i++) kernel_between(context, coll(context), early, early + 10, true);
    out_of_step(3);
  }
  finalize(context);
}

static void odd_channels(void) {
  void *context = init();
  struct { uint8_t channels; int kernels; uint8_t first; } all[] = {{1, 1, 200}, {2, 2, 254}, {4, 2, 0}, {1, 8, 100}, {0, 1, 0}, {255, 255, 0}, {0, 0, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct event event = a_coll();
    event.channels = all[i].channels;
    void *operation = enqueue(context, event, 4096);
    for (int channel = 0; channel < all[i].kernels; channel++) kernel(context, operation, (uint8_t)(all[i].first + channel));
    /* a collective lacks none; what is missing may have run longer */
    timed(all[i].kernels > 0 && all[i].kernels >= all[i].channels, false);
    event = a_p2p(1);
    event.channels = all[i].channels;
    operation = enqueue(context, event, 1024);
    for (int channel = 0; channel < all[i].kernels; channel++) kernel(context, operation, (uint8_t)(all[i].first + channel));
    timed(all[i].kernels > 0, false);
  }
  finalize(context);
}

static void to_oneself_with_kernel(void) {
  void *context = init();
  for (int i = 0; i < 2; i++) {
    kernel(context, enqueue(context, a_p2p(rank_of_this_process), 1024), 0);
    kernel(context, coll(context), 0);
    timed(true, false), timed(true, false);
  }
  finalize(context);
}

static void to_oneself_without_kernel(void) {
  void *context = init();
  kernel(context, coll(context), 0);
  timed(true, false);
  enqueue(context, a_p2p(rank_of_this_process), 1024);
  for (int i = 0; i < 3; i++) kernel(context, coll(context), 0);
  if (version->times) out_of_step(3);
  finalize(context);
}

/* Calls that NCCL reports no further (ncclBroadcast in 2.29 to 2.31): their works are not counted, either. */
static void invisible_calls(void) {
  void *context = init();
  kernel(context, coll(context), 0);
  timed(true, false);
  if (version->api) {
    struct event event = a_call(COLL_API, "Broadcast", false);
    void *call = start(context, &event);
    stop(call);
    want.invisible++;
    for (int i = 0; i < 3; i++) kernel(context, coll(context), 0);
    out_of_step(3);
  }
  finalize(context);
}

/* Calls that nothing ever follows, for as long as a job may run: half of them captured into graphs that are never replayed. */
static void calls_without_end(void) {
  void *context = init();
  long calls = number ? number : 1000000;
  if (version->api) {
    for (long i = 0; i < calls; i++) {
      struct event event = a_call(COLL_API, "Broadcast", i % 2);
      stop(start(context, &event));
      /* however late the collector is, as many calls wait for it */
      if (i % 5000 == 0) flush();
      /* longer than a call waits for what follows it (NCCL_SCOREP_SETTLE_SECONDS): as many are under way at any speed */
      if (i % 20000 == 0) {
        pause_milliseconds(15);
        flush();
      }
    }
    want.invisible = want.dropped = ANY;
  }
  finalize(context);
  want.warnings = ANY;
}

/* Parents that belong to another communicator: whatever they are taken for, every operation counts once. */
static void parents_of_others(void) {
  void *contexts[2] = {init_as(0xab, NULL, 0, &mask_given), init_as(0xac, NULL, 0, &mask_given)};
  for (int i = 0; i < 100; i++) {
    void *operation = coll(contexts[0]);
    struct event event = a_call(COLL_API, "AllReduce", false);
    void *call = version->api ? start(contexts[0], &event) : NULL;
    stop(call);
    want.invisible += version->api;
    event = a_coll();
    event.comm = 0xac, event.parent = call;
    enqueue(contexts[1], event, 4096);
    event = a_proxy_op(operation);
    stop(start(contexts[1], &event));
    want.proxy_timed++;
  }
  want.proxy_timed = want.invisible = want.orphans = ANY;
  for (int i = 0; i < 2; i++) finalize(contexts[i]);
}

static void *replays(void *context_and_call) {
  void **both = context_and_call;
  for (int i = 0; i < 5; i++) {
    struct event event = a_coll();
    event.parent = both[1];
    kernel(both[0], enqueue(both[0], event, 4096), 0);
    timed(true, false);
  }
  return NULL;
}

/* A CUDA graph: the call once, its operation at every replay, from another thread, long after. */
static void graph(void) {
  void *context = init();
  struct event event = a_call(COLL_API, "AllReduce", true);
  void *both[2] = {context, version->api ? start(context, &event) : NULL};
  if (version->api) stop(both[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, replays, both);
  pthread_join(thread, NULL);
  finalize(context);
}

static void copy_engine(void) {
  void *context = init();
  if (version->types & CE_COLL) {
    for (int i = 0; i < 3; i++) {
      struct event event = a_coll();
      event.type = CE_COLL, event.func = "AllGather";
      void *operation = start(context, &event);
      for (uint64_t type = CE_SYNC; type <= CE_BATCH; type <<= 1) {
        event = (struct event){.type = type, .parent = operation};
        check(!is_recorded(start(context, &event)), "a handle for what is not recorded");
      }
      stop(operation);
      recorded(4096);
    }
  }
  kernel(context, coll(context), 0);
  timed(true, false);
  finalize(context);
}

#endif
