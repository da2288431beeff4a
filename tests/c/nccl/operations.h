/* Operations and their children as NCCL makes them, and what they make of the figures. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "plugin.h"
#include <errno.h>

#define ANY INT64_MIN
#define PRINT_FIELD(name) if (want.name != ANY) printf("expect " #name " %ld\n", want.name);
static inline void print_wanted(void) {
  FIELDS(PRINT_FIELD)
  fflush(stdout);
}

/* The scenario's own number, of the command line: how often, or how long in milliseconds. */
static long number __attribute__((unused)) = 0;

static int rank_of_this_process = 0;

static int mask_given;

static inline void *init(void) { return init_as(0xab, NULL, rank_of_this_process, &mask_given); }

/* A whole pause, whatever signals come: one that ends with a profiler's signal would have all work begin right behind such signals, and a
 * fast machine end it before the next one. */
static inline void pause_milliseconds(long milliseconds) {
  struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {}
}

/* An operation that has a handle. */
static void recorded(uint64_t bytes) {
  want.operations++;
  want.bytes += (long)bytes;
}

/* A send of which the version tells the size. */
static void sent(uint64_t bytes) {
  want.transfers += version->times;
  want.transfer_bytes += version->times ? (long)bytes : 0;
}


static struct event a_coll(void) {
  return (struct event){.type = COLL, .comm = 0xab, .rank = rank_of_this_process, .func = "AllReduce", .count = 1024, .datatype = "ncclFloat32",
                        .channels = 1, .algorithm = "RING", .protocol = "LL"};
}

static inline struct event a_p2p(int peer) {
  return (struct event){.type = P2P, .comm = 0xab, .rank = rank_of_this_process, .func = "Send", .count = 256, .datatype = "ncclFloat32",
                        .peer = peer, .channels = 1};
}

static struct event a_proxy_op(void *parent) {
  return (struct event){.type = PROXY_OP, .parent = parent, .pid = getpid(), .channel = 3, .peer = 1, .steps = 1, .send = 1};
}

static struct event a_step(void *parent, int number) { return (struct event){.type = PROXY_STEP, .parent = parent, .step = number}; }

static struct event a_kernel(void *parent, uint8_t channel) {
  return (struct event){.type = KERNEL_CH, .parent = parent, .channel = channel, .ptimer = gpu_clock()};
}

static inline struct event a_call(uint64_t type, const char *func, bool captured) {
  return (struct event){.type = type, .func = func, .count = 1024, .datatype = "ncclFloat32", .captured = captured};
}

/* Whether a handle is one of an event that the core records. Beside a recording or a second plugin, NCCL gets numbers for the others,
 * too, and for groups of calls, what outer groups launch, progress threads and network plugins: bit 27 says so, and the last three bits
 * that it is one of these. */
static bool is_recorded(void *handle) {
  uintptr_t number = (uintptr_t)handle;
  bool numbered = getenv("NCCL_SCOREP_RECORD") || getenv("NCCL_SCOREP_CHAIN");
  return number != 0 && (!numbered || (number >> 27 & 1) == 0 || (number & 7) == 1 || (number & 7) >= 3);
}

/* Whole operations, with what they make of the figures. */

/* Enqueues an operation: 4 KiB all-reduce, or what the event says. */
static void *enqueue(void *context, struct event event, uint64_t bytes) {
  void *handle = start(context, &event);
  check(is_recorded(handle), "an operation has no handle");
  stop(handle);
  recorded(bytes);
  return handle;
}

static void *coll(void *context) { return enqueue(context, a_coll(), 4096); }

/* A kernel channel, where the version has times; gives its handle. */
static void *kernel(void *context, void *operation, uint8_t channel) {
  if (!version->times) return NULL;
  struct event event = a_kernel(operation, channel);
  void *handle = start(context, &event);
  state(handle, KERNEL_CH_STOP, gpu_clock() + 1000);
  stop(handle);
  return handle;
}

/* A send of one step. */
static void transfer(void *context, void *operation, uint64_t bytes) {
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  state(step, SEND_GPU_WAIT, 0);
  state(step, SEND_PEER_WAIT, 0);
  state(step, SEND_WAIT, bytes);
  stop(step);
  stop(proxy);
  sent(bytes);
}

/* What times an operation with a kernel channel, a transfer or both. */
static inline void timed(bool by_gpu, bool by_proxy) {
  if (by_gpu && version->times) want.gpu_timed++;
  else if (by_proxy) want.proxy_timed++;
}

static inline void whole(void *context) {
  void *operation = coll(context);
  kernel(context, operation, 0);
  transfer(context, operation, 512);
  timed(true, true);
}

#endif
