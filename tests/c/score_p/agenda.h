/* NCCL's callbacks at true times that are told beforehand: what the operations do is noted, and played in the order of time. */
#ifndef AGENDA_H
#define AGENDA_H

#include "../nccl/operations.h"
#include "true_time.h"

struct communicator {
  uint64_t id;
  int rank, ranks;
  void *context;
  uint64_t sequence; /* of its next collective operation: one function a communicator */
  struct gpu gpu;
};

enum { MOST_CHANNELS = 4 };

/* An operation. Without channels that the GPU stamps, it is timed by its transfer, or by its enqueue alone. */
struct operation {
  struct communicator *of;
  const char *func;
  uint64_t type, sequence;
  size_t count;
  int peer, stamped; /* channels that the GPU stamps */
  bool calls;        /* the call of the API is reported, too */
  /* the enqueue, the GPU's kernel, the transfer; how late callbacks tell of the kernel */
  uint64_t enqueued, begin, end, transfer_begin, transfer_end, told_late;
  uint64_t transfer_bytes;
  void *handle, *api, *kernels[MOST_CHANNELS], *proxy, *step;
};

enum what { CALL, RETURN, KERNEL_BEGINS, KERNEL_ENDS, TRANSFER_BEGINS, TRANSFER_ENDS };
struct callback { uint64_t at, order; struct operation *operation; enum what what; int channel; };

static struct callback *agenda;
static size_t agenda_count, agenda_room;

static void note(uint64_t at, struct operation *operation, enum what what, int channel) {
  if (agenda_count == agenda_room) {
    agenda_room = agenda_room ? 2 * agenda_room : 256;
    agenda = realloc(agenda, agenda_room * sizeof *agenda);
  }
  agenda[agenda_count] = (struct callback){at, agenda_count, operation, what, channel};
  agenda_count++;
}

/* Nodes of every communicator. */
static int nodes_of_communicator = 1;

static struct communicator communicator(uint64_t id, int rank, int ranks) {
  void *context = init_of(id, NULL, nodes_of_communicator, ranks, rank, &mask_given);
  return (struct communicator){.id = id, .rank = rank, .ranks = ranks, .context = context, .gpu = gpu};
}

/* What the call takes, and how long after a channel's begin the next one begins. */
enum { CALL_TIME = 2000, CHANNEL_STEP = 200 };

/* The operation goes on the agenda; it is enqueued 20 us before it begins on the GPU. */
static struct operation *add(struct operation described) {
  struct operation *operation = malloc(sizeof *operation);
  *operation = described;
  if (!operation->enqueued) operation->enqueued = operation->begin - 20 * MICROSECONDS;
  if (operation->type == COLL) operation->sequence = operation->of->sequence++;
  note(operation->enqueued, operation, CALL, 0);
  note(operation->enqueued + CALL_TIME, operation, RETURN, 0);
  for (int i = 0; i < operation->stamped; i++) {
    note(operation->begin + (uint64_t)i * CHANNEL_STEP + operation->told_late, operation, KERNEL_BEGINS, i);
    note(operation->end - (uint64_t)i * CHANNEL_STEP + operation->told_late, operation, KERNEL_ENDS, i);
  }
  if (operation->transfer_bytes) {
    note(operation->transfer_begin, operation, TRANSFER_BEGINS, 0);
    note(operation->transfer_end, operation, TRANSFER_ENDS, 0);
  }
  return operation;
}

/* A collective that the GPU stamps, told of as late as it happens: every eighth one after 1.5 us. */
static struct operation all_reduce(struct communicator *of, size_t count, uint64_t begin, uint64_t end) {
  uint64_t late = 1500 + (of->sequence % 8 == 0 ? 0 : chance(40000));
  return (struct operation){
    .of = of, .type = COLL, .func = "AllReduce", .count = count, .stamped = 2, .begin = begin, .end = end, .told_late = late};
}

/* Sends are told of after 1.5 us. */
static struct operation point_to_point(struct communicator *of, const char *func, int peer, size_t count, uint64_t begin, uint64_t end) {
  uint64_t late = 1500 + (strcmp(func, "Send") == 0 ? 0 : chance(40000));
  return (struct operation){
    .of = of, .type = P2P, .func = func, .peer = peer, .count = count, .stamped = 1, .begin = begin, .end = end, .told_late = late};
}

static void call(struct operation *it) {
  struct event event = it->type == COLL ? a_coll() : a_p2p(it->peer);
  if (it->calls) {
    struct event api = a_call(it->type == COLL ? COLL_API : P2P_API, it->func, false);
    api.count = it->count;
    event.parent = it->api = start(it->of->context, &api);
  }
  event.comm = it->of->id, event.rank = it->of->rank;
  event.func = it->func, event.count = it->count, event.sequence = it->sequence;
  event.channels = (uint8_t)(it->stamped ? it->stamped : 1);
  it->handle = start(it->of->context, &event);
}

static void returns(struct operation *it) {
  stop(it->handle);
  if (it->api) stop(it->api);
}

static void transfer_begins(struct operation *it) {
  struct event event = a_proxy_op(it->handle);
  event.peer = it->peer;
  it->proxy = start(it->of->context, &event);
  event = a_step(it->proxy, 0);
  it->step = start(it->of->context, &event);
  state(it->step, SEND_GPU_WAIT, 0);
  state(it->step, SEND_PEER_WAIT, 0);
  state(it->step, SEND_WAIT, it->transfer_bytes);
}

static void kernel_begins(struct operation *it, int channel) {
  struct event event = a_kernel(it->handle, (uint8_t)channel);
  event.ptimer = gpu_stamp(&it->of->gpu, it->begin + (uint64_t)channel * CHANNEL_STEP);
  it->kernels[channel] = start(it->of->context, &event);
}

static void kernel_ends(struct operation *it, int channel) {
  state(it->kernels[channel], KERNEL_CH_STOP, gpu_stamp(&it->of->gpu, it->end - (uint64_t)channel * CHANNEL_STEP));
  stop(it->kernels[channel]);
}

/* What the lanes must show, in ticks of Score-P's clock: truth COMM RANK FUNC PEER SEQUENCE BYTES TIMING BEGIN END. */
static void print_truth(const struct operation *it) {
  const char *timing = it->stamped ? "stamps" : it->transfer_bytes ? "proxy" : "enqueue";
  uint64_t begin = it->stamped ? it->begin : it->enqueued;
  uint64_t end = it->stamped ? it->end : it->transfer_bytes ? it->transfer_end : it->enqueued + CALL_TIME;
  printf("truth\t%016lx\t%d\t%s\t%d\t%lu\t%zu\t%s\t%lu\t%lu\n", (unsigned long)it->of->id, it->of->rank, it->func, it->type == P2P ? it->peer : -1,
         (unsigned long)it->sequence, 4 * it->count, timing, (unsigned long)shown(&score_p_clock, begin), (unsigned long)shown(&score_p_clock, end));
}

static int earlier(const void *left, const void *right) {
  const struct callback *a = left, *b = right;
  if (a->at != b->at) return a->at < b->at ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

/* Plays all that is on the agenda. */
static void play(void) {
  qsort(agenda, agenda_count, sizeof *agenda, earlier);
  for (size_t i = 0; i < agenda_count; i++) {
    struct operation *it = agenda[i].operation;
    advance_to(agenda[i].at);
    switch (agenda[i].what) {
      case CALL: call(it), print_truth(it); break;
      case RETURN: returns(it); break;
      case KERNEL_BEGINS: kernel_begins(it, agenda[i].channel); break;
      case KERNEL_ENDS: kernel_ends(it, agenda[i].channel); break;
      case TRANSFER_BEGINS: transfer_begins(it); break;
      case TRANSFER_ENDS: stop(it->step), stop(it->proxy); break;
    }
    if (i % 4096 == 4095) flush();
  }
  agenda_count = 0;
  flush();
}

#endif
