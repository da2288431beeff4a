/* NCCL's profiler interface, v1 to v7, as a host sees it: an event in one form, and what each version makes of it. That the
 * layouts are right is shown by tests/layouts; every descriptor begins with the type (8 bits up to v4, 64 from v5 on), the parent
 * at byte 8 and the rank at byte 16, and goes on with a union at byte 24. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum {
  GROUP = 1 << 0,
  COLL = 1 << 1,
  P2P = 1 << 2,
  PROXY_OP = 1 << 3,
  PROXY_STEP = 1 << 4,
  PROXY_CTRL = 1 << 5,
  KERNEL_CH = 1 << 6,
  NET_PLUGIN = 1 << 7,
  GROUP_API = 1 << 8,
  COLL_API = 1 << 9,
  P2P_API = 1 << 10,
  KERNEL_LAUNCH = 1 << 11,
  CE_COLL = 1 << 12,
  CE_SYNC = 1 << 13,
  CE_BATCH = 1 << 14,
  KERNEL_PHASE = 1 << 15
};

/* States. */
enum { SEND_GPU_WAIT = 8, SEND_WAIT = 9, RECV_WAIT = 10, RECV_FLUSH_WAIT = 11, RECV_GPU_WAIT = 12, SEND_PEER_WAIT = 20, KERNEL_CH_STOP = 22,
       GROUP_START_RETURNS = 23, GROUP_END_BEGINS = 24 };

/* What an event can say, in whatever version. */
struct event {
  uint64_t type;
  void *parent;
  int rank;
  uint64_t comm; /* up to v3 */
  const char *comm_name;
  const char *func;
  size_t count;
  const char *datatype;
  const char *algorithm, *protocol;
  uint64_t sequence;
  int root, peer;
  uint8_t channels;
  bool captured;
  pid_t pid;
  uint8_t channel;
  int steps, send, step;
  uint64_t ptimer;
  int64_t plugin; /* a network plugin, and what it passes */
  void *contents;
  const char *variant; /* of a symmetric kernel; NULL for another one (v7) */
  uint64_t tag; /* v7 */
};

/* A version: its number, whether the type is wide, init tells of the communicator, calls of the API are reported, sizes and the
 * GPU's times are told, and the types it has. */
struct version {
  int number;
  bool wide, told, api, times;
  uint64_t types;
};

static const struct version versions[] = {
  {1, false, false, false, false, 0x3f},  {2, false, false, false, false, 0x3f}, {3, false, false, false, false, 0xff},
  {4, false, true, false, true, 0xff},    {5, true, true, true, true, 0xfff},    {6, true, true, true, true, 0x7fff},
  {7, true, true, true, true, 0xffff},
};

#define COLL_HEAD                                                                                                                \
  uint64_t sequence;                                                                                                             \
  const char *func;                                                                                                              \
  const void *send;                                                                                                              \
  void *receive;                                                                                                                 \
  size_t count;                                                                                                                  \
  int root;                                                                                                                      \
  const char *datatype;
#define COLL_TAIL                                                                                                                \
  uint8_t channels, warps;                                                                                                       \
  const char *algorithm, *protocol;
#define NAMED                                                                                                                    \
  const char *name;                                                                                                              \
  uint64_t comm;
#define P2P_HEAD                                                                                                                 \
  const char *func;                                                                                                              \
  void *buffer;                                                                                                                  \
  const char *datatype;                                                                                                          \
  size_t count;                                                                                                                  \
  int peer;
#define CE_COLL_ALL                                                                                                              \
  COLL_HEAD const char *strategy;                                                                                                \
  bool intra_batch_sync;                                                                                                         \
  uint32_t batch_size, batches, ce_sequence;                                                                                     \
  void *stream;

struct coll_v1 {
  NAMED uint64_t sequence;
  uint8_t func;
  const void *send;
  void *receive;
  size_t count;
  int root;
  uint8_t datatype;
  uint32_t reduction;
  size_t traffic;
  uint8_t channels, warps, algorithm, protocol;
  int collnet, nvls;
};
struct coll_v2 { NAMED COLL_HEAD size_t traffic; COLL_TAIL };
struct coll_v3 { NAMED COLL_HEAD COLL_TAIL };
struct coll_v4 { COLL_HEAD COLL_TAIL };
struct coll_v5 { COLL_HEAD COLL_TAIL void *group; };
struct coll_v7 { COLL_HEAD COLL_TAIL void *group; const char *variant; bool symmetric; uint64_t tag; };
struct p2p_v1 { NAMED uint8_t func; void *buffer; uint8_t datatype; size_t count; int peer; };
struct p2p_v2 { NAMED P2P_HEAD };
struct p2p_v4 { P2P_HEAD uint8_t channels; };
struct p2p_v5 { P2P_HEAD uint8_t channels; void *group; };
struct p2p_v7 { P2P_HEAD uint8_t channels; void *group; uint64_t tag; };
struct proxy_op { pid_t pid; uint8_t channel; int peer, steps, chunk, send; };
struct kernel_ch { uint8_t channel; uint64_t ptimer; };
struct kernel_phase { uint8_t channel, phase; const char *name; uint64_t ptimer; };
struct net_plugin { int64_t id; void *data; };
struct group_api { bool captured; int depth; };
struct coll_api { const char *func; size_t count; const char *datatype; int root; void *stream; bool captured; };
struct coll_api_v7 { struct coll_api v5; uint64_t tag; };
struct p2p_api { const char *func; size_t count; const char *datatype; void *stream; bool captured; };
struct p2p_api_v7 { struct p2p_api v5; uint64_t tag; };
struct ce_coll { CE_COLL_ALL };
struct ce_coll_v7 { CE_COLL_ALL uint64_t tag; };
struct ce_sync { bool complete; int ranks; };
struct ce_batch { int operations; size_t bytes; bool intra_sync; };

union payload {
  struct coll_v1 coll_v1;
  struct coll_v2 coll_v2;
  struct coll_v3 coll_v3;
  struct coll_v4 coll_v4;
  struct coll_v5 coll_v5;
  struct coll_v7 coll_v7;
  struct p2p_v1 p2p_v1;
  struct p2p_v2 p2p_v2;
  struct p2p_v4 p2p_v4;
  struct p2p_v5 p2p_v5;
  struct p2p_v7 p2p_v7;
  struct proxy_op proxy_op;
  int proxy_step;
  struct kernel_ch kernel_ch;
  struct kernel_phase kernel_phase;
  struct net_plugin net_plugin;
  struct group_api group_api;
  struct coll_api coll_api;
  struct coll_api_v7 coll_api_v7;
  struct p2p_api p2p_api;
  struct p2p_api_v7 p2p_api_v7;
  void *stream;
  struct ce_coll ce_coll;
  struct ce_coll_v7 ce_coll_v7;
  struct ce_sync ce_sync;
  struct ce_batch ce_batch;
};

struct descriptor {
  uint64_t type;
  void *parent;
  int rank;
  union payload payload;
};

/* Bytes of the descriptor that NCCL passes in a version: up to the end of the union's largest member. */
static size_t descriptor_size(const struct version *version) {
  static const size_t largest[] = {0, sizeof(struct coll_v1), sizeof(struct coll_v2), sizeof(struct coll_v3), sizeof(struct coll_v4),
                                   sizeof(struct coll_v5), sizeof(struct ce_coll), sizeof(struct coll_v7)};
  return offsetof(struct descriptor, payload) + largest[version->number];
}

/* A name's place in v1's numbers; 255 for a name that has none. */
static uint8_t number_of(const char *const *names, int count, const char *name) {
  for (int i = 0; name && i < count; i++)
    if (strcmp(names[i], name) == 0) return (uint8_t)i;
  return 255;
}

static uint8_t func_number(const char *name) {
  static const char *const names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"};
  return number_of(names, 8, name);
}

static uint8_t datatype_number(const char *name) {
  static const char *const names[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",   "ncclInt64",      "ncclUint64",
                                      "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  return number_of(names, 12, name);
}

#define PUT(to, from) (to).from = event->from
#define PUT_NAMED(to) (PUT(to, comm), (to).name = event->comm_name)
#define PUT_HEAD(to) (PUT(to, sequence), PUT(to, func), PUT(to, count), PUT(to, root), PUT(to, datatype))
#define PUT_TAIL(to) (PUT(to, channels), PUT(to, algorithm), PUT(to, protocol))
#define PUT_P2P(to) (PUT(to, func), PUT(to, datatype), PUT(to, count), PUT(to, peer))
#define PUT_CALL(to) (PUT(to, func), PUT(to, count), PUT(to, datatype), PUT(to, captured))

static void put_coll(const struct event *event, union payload *to, int version) {
  switch (version) {
    case 1:
      PUT_NAMED(to->coll_v1);
      PUT(to->coll_v1, sequence);
      to->coll_v1.func = func_number(event->func);
      PUT(to->coll_v1, count), PUT(to->coll_v1, root);
      to->coll_v1.datatype = datatype_number(event->datatype);
      PUT(to->coll_v1, channels);
      break;
    case 2: PUT_NAMED(to->coll_v2), PUT_HEAD(to->coll_v2), PUT_TAIL(to->coll_v2); break;
    case 3: PUT_NAMED(to->coll_v3), PUT_HEAD(to->coll_v3), PUT_TAIL(to->coll_v3); break;
    case 4: PUT_HEAD(to->coll_v4), PUT_TAIL(to->coll_v4); break;
    case 5:
    case 6: PUT_HEAD(to->coll_v5), PUT_TAIL(to->coll_v5); break;
    default:
      PUT_HEAD(to->coll_v7), PUT_TAIL(to->coll_v7), PUT(to->coll_v7, tag);
      to->coll_v7.variant = event->variant ? event->variant : "ring", to->coll_v7.symmetric = event->variant != NULL;
      break;
  }
}

static void put_p2p(const struct event *event, union payload *to, int version) {
  switch (version) {
    case 1:
      PUT_NAMED(to->p2p_v1);
      to->p2p_v1.func = func_number(event->func);
      to->p2p_v1.datatype = datatype_number(event->datatype);
      PUT(to->p2p_v1, count), PUT(to->p2p_v1, peer);
      break;
    case 2:
    case 3: PUT_NAMED(to->p2p_v2), PUT_P2P(to->p2p_v2); break;
    default: PUT_P2P(to->p2p_v7), PUT(to->p2p_v7, channels), PUT(to->p2p_v7, tag); break; /* v4's and v5's are the beginning of v7's */
  }
}

/* Writes the member of the union that the type names; of a type that the version does not have, nothing. */
static void put_payload(const struct event *event, union payload *to, const struct version *version) {
  if (event->type & ~version->types) return;
  switch (event->type) {
    case COLL: put_coll(event, to, version->number); break;
    case P2P: put_p2p(event, to, version->number); break;
    case PROXY_OP:
      PUT(to->proxy_op, pid), PUT(to->proxy_op, channel), PUT(to->proxy_op, peer), PUT(to->proxy_op, steps), PUT(to->proxy_op, send);
      break;
    case PROXY_STEP: to->proxy_step = event->step; break;
    case KERNEL_CH: /* v3 has no time, and its structure ends after the channel */
      PUT(to->kernel_ch, channel), PUT(to->kernel_ch, ptimer);
      break;
    case KERNEL_PHASE:
      PUT(to->kernel_phase, channel), PUT(to->kernel_phase, ptimer), to->kernel_phase.phase = 1, to->kernel_phase.name = "compute";
      break;
    case COLL_API: PUT_CALL(to->coll_api), PUT(to->coll_api, root), PUT(to->coll_api_v7, tag); break;
    case P2P_API: PUT_CALL(to->p2p_api), PUT(to->p2p_api_v7, tag); break;
    case CE_COLL: PUT_HEAD(to->ce_coll), to->ce_coll.strategy = NULL, PUT(to->ce_coll_v7, tag); break;
    case NET_PLUGIN: to->net_plugin.id = event->plugin, to->net_plugin.data = event->contents; break;
    default: break;
  }
}

/* The whole descriptor at `place`, which has the version's size. What the version does not say is garbage. */
static void put_descriptor(const struct event *event, void *place, const struct version *version) {
  struct event said = *event;
  if (!version->wide) said.type = (uint8_t)said.type;
  struct descriptor whole;
  memset(&whole, 0xaa, sizeof whole);
  memcpy(&whole.type, &said.type, version->wide ? 8 : 1); /* the first byte, as NCCL's machines are little-endian */
  whole.parent = said.parent;
  whole.rank = said.rank;
  put_payload(&said, &whole.payload, version);
  memcpy(place, &whole, descriptor_size(version));
}

#endif
