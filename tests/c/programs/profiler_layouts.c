/* Where a C compiler lays the structures of NCCL's profiler interface, v1 to v7, declared here on their own: one line
 * `vN.structure.member offset size` for every member, counted from where the structure that NCCL passes begins, and one line
 * `vN.structure 0 size` for every such structure. A list declares the members and prints them, so that none can be forgotten. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* The members of every structure of the union in a descriptor, M(type, name). */

#define COMMUNICATOR(M) M(const char *, name) M(uint64_t, communicator)

#define COLL_V1(M)                                                                                                               \
  COMMUNICATOR(M) M(uint64_t, sequence) M(uint8_t, function) M(const void *, send) M(void *, receive)                             \
  M(size_t, count) M(int, root) M(uint8_t, datatype) M(uint32_t, reduction) M(size_t, traffic) M(uint8_t, channels)              \
  M(uint8_t, warps) M(uint8_t, algorithm) M(uint8_t, protocol) M(int, collnet) M(int, nvls)
#define COLL_HEAD(M)                                                                                                             \
  M(uint64_t, sequence) M(const char *, function) M(const void *, send) M(void *, receive) M(size_t, count)                      \
  M(int, root) M(const char *, datatype)
#define COLL_TAIL(M) M(uint8_t, channels) M(uint8_t, warps) M(const char *, algorithm) M(const char *, protocol)
#define COLL_V2(M) COMMUNICATOR(M) COLL_HEAD(M) M(size_t, traffic) COLL_TAIL(M)
#define COLL_V3(M) COMMUNICATOR(M) COLL_HEAD(M) COLL_TAIL(M)
#define COLL_V4(M) COLL_HEAD(M) COLL_TAIL(M)
#define COLL_V5(M) COLL_V4(M) M(void *, group)
#define COLL_V7(M) COLL_V5(M) M(const char *, variant) M(bool, symmetric) M(uint64_t, tag)

#define P2P_V1(M)                                                                                                                \
  COMMUNICATOR(M) M(uint8_t, function) M(void *, buffer) M(uint8_t, datatype) M(size_t, count) M(int, peer)
#define P2P_HEAD(M) M(const char *, function) M(void *, buffer) M(const char *, datatype) M(size_t, count) M(int, peer)
#define P2P_V2(M) COMMUNICATOR(M) P2P_HEAD(M)
#define P2P_V4(M) P2P_HEAD(M) M(uint8_t, channels)
#define P2P_V5(M) P2P_V4(M) M(void *, group)
#define P2P_V7(M) P2P_V5(M) M(uint64_t, tag)

#define PROXY_OP(M) M(pid_t, pid) M(uint8_t, channel) M(int, peer) M(int, steps) M(int, chunk) M(int, send)
#define PROXY_STEP(M) M(int, step)

#define KERNEL_CH_V3(M) M(uint8_t, channel)
#define KERNEL_CH_V4(M) M(uint8_t, channel) M(uint64_t, ptimer)
#define KERNEL_LAUNCH(M) M(void *, stream)
#define KERNEL_PHASE(M) M(uint8_t, channel) M(uint8_t, phase) M(const char *, name) M(uint64_t, ptimer)
#define NET_PLUGIN(M) M(int64_t, id) M(void *, data)

#define GROUP_API(M) M(bool, captured) M(int, depth)
#define COLL_API(M)                                                                                                              \
  M(const char *, function) M(size_t, count) M(const char *, datatype) M(int, root) M(void *, stream) M(bool, captured)
#define COLL_API_V7(M) COLL_API(M) M(uint64_t, tag)
#define P2P_API(M) M(const char *, function) M(size_t, count) M(const char *, datatype) M(void *, stream) M(bool, captured)
#define P2P_API_V7(M) P2P_API(M) M(uint64_t, tag)

#define CE_COLL(M)                                                                                                               \
  COLL_HEAD(M) M(const char *, strategy) M(bool, intra_batch_sync) M(uint32_t, batch_size) M(uint32_t, batches)                  \
  M(uint32_t, ce_sequence) M(void *, stream)
#define CE_COLL_V7(M) CE_COLL(M) M(uint64_t, tag)
#define CE_SYNC(M) M(bool, complete) M(int, ranks)
#define CE_BATCH(M) M(int, operations) M(size_t, bytes) M(bool, intra_sync)

/* The structures in a version's union, S(name, members). */

#define UNION_V1(S) S(coll, COLL_V1) S(p2p, P2P_V1) S(proxy_op, PROXY_OP) S(proxy_step, PROXY_STEP)
#define UNION_V2(S) S(coll, COLL_V2) S(p2p, P2P_V2) S(proxy_op, PROXY_OP) S(proxy_step, PROXY_STEP)
#define UNION_V3(S)                                                                                                              \
  S(coll, COLL_V3) S(p2p, P2P_V2) S(proxy_op, PROXY_OP) S(proxy_step, PROXY_STEP) S(kernel_ch, KERNEL_CH_V3)                     \
  S(net_plugin, NET_PLUGIN)
#define UNION_COMMON(S) S(proxy_op, PROXY_OP) S(proxy_step, PROXY_STEP) S(kernel_ch, KERNEL_CH_V4) S(net_plugin, NET_PLUGIN)
#define UNION_V4(S) S(coll, COLL_V4) S(p2p, P2P_V4) UNION_COMMON(S)
#define UNION_V5(S)                                                                                                              \
  S(group_api, GROUP_API) S(coll_api, COLL_API) S(p2p_api, P2P_API) S(kernel_launch, KERNEL_LAUNCH) S(coll, COLL_V5)             \
  S(p2p, P2P_V5) UNION_COMMON(S)
#define UNION_V6(S) UNION_V5(S) S(ce_coll, CE_COLL) S(ce_sync, CE_SYNC) S(ce_batch, CE_BATCH)
#define UNION_V7(S)                                                                                                              \
  S(group_api, GROUP_API) S(coll_api, COLL_API_V7) S(p2p_api, P2P_API_V7) S(kernel_launch, KERNEL_LAUNCH) S(coll, COLL_V7)       \
  S(p2p, P2P_V7) UNION_COMMON(S) S(ce_coll, CE_COLL_V7) S(ce_sync, CE_SYNC) S(ce_batch, CE_BATCH) S(kernel_phase, KERNEL_PHASE)

/* What comes with a change of state. */

#define OPERATION_PROGRESS(M) M(size_t, size) M(int, steps)
#define APPENDED(M) M(int, operations)
#define TRANSFER(M) M(size_t, size)
#define NET_UPDATE(M) M(void *, data)
#define KERNEL_STOP(M) M(uint64_t, ptimer)

#define ARGUMENTS_V1(S) S(proxy_op, OPERATION_PROGRESS) S(proxy_ctrl, APPENDED)
#define ARGUMENTS_V4(S) S(proxy_step, TRANSFER) S(proxy_ctrl, APPENDED) S(net_plugin, NET_UPDATE) S(kernel_ch, KERNEL_STOP)

#define TABLE(M)                                                                                                                 \
  M(const char *, name) M(init_t *, init) M(start_t *, start_event) M(stop_t *, stop_event)                                      \
  M(state_t *, record_event_state) M(stop_t *, finalize)

#define DECLARE_MEMBER(type, member) type member;
#define DECLARE_STRUCT(name, members)                                                                                            \
  struct {                                                                                                                       \
    members(DECLARE_MEMBER)                                                                                                      \
  } name;

#define VERSION(number, kind_type, UNION, ARGUMENTS)                                                                             \
  struct descriptor_v##number {                                                                                                  \
    kind_type kind;                                                                                                              \
    void *parent;                                                                                                                \
    int rank;                                                                                                                    \
    union {                                                                                                                      \
      UNION(DECLARE_STRUCT)                                                                                                      \
    } payload;                                                                                                                   \
  };                                                                                                                             \
  union arguments_v##number {                                                                                                    \
    ARGUMENTS(DECLARE_STRUCT)                                                                                                    \
  };

VERSION(1, uint8_t, UNION_V1, ARGUMENTS_V1)
VERSION(2, uint8_t, UNION_V2, ARGUMENTS_V1)
VERSION(3, uint8_t, UNION_V3, ARGUMENTS_V1)
VERSION(4, uint8_t, UNION_V4, ARGUMENTS_V4)
VERSION(5, uint64_t, UNION_V5, ARGUMENTS_V4)
VERSION(6, uint64_t, UNION_V6, ARGUMENTS_V4)
VERSION(7, uint64_t, UNION_V7, ARGUMENTS_V4)

typedef int init_t(void **);
typedef int start_t(void *, void **, void *);
typedef int stop_t(void *);
typedef int state_t(void *, int, void *);

struct table {
  TABLE(DECLARE_MEMBER)
};

/* Prints one member of `*structure`, which lies at `base` and is called `name`: a list hands no names on to an inner list, so
 * these are variables. */
#define PRINT_MEMBER(type, member)                                                                                               \
  printf("%s.%s." #member " %zu %zu\n", version, name, base + offsetof(__typeof__(*structure), member), sizeof structure->member);
#define PRINT_PAYLOAD(in, members)                                                                                               \
  {                                                                                                                              \
    __typeof__(((whole *)0)->payload.in) *structure = NULL;                                                                      \
    const char *name = #in;                                                                                                      \
    size_t base = offsetof(whole, payload.in);                                                                                   \
    members(PRINT_MEMBER)                                                                                                        \
  }
#define PRINT_ARGUMENTS(in, members)                                                                                             \
  {                                                                                                                              \
    __typeof__(((arguments *)0)->in) *structure = NULL;                                                                          \
    const char *name = "arguments." #in;                                                                                         \
    size_t base = 0;                                                                                                             \
    members(PRINT_MEMBER)                                                                                                        \
  }
#define PRINT_VERSION(number, UNION, ARGUMENTS)                                                                                  \
  {                                                                                                                              \
    typedef struct descriptor_v##number whole;                                                                                   \
    typedef union arguments_v##number arguments;                                                                                 \
    const char *version = "v" #number;                                                                                           \
    {                                                                                                                            \
      whole *structure = NULL;                                                                                                   \
      const char *name = "descriptor";                                                                                           \
      size_t base = 0;                                                                                                           \
      PRINT_MEMBER(, kind) PRINT_MEMBER(, parent) PRINT_MEMBER(, rank)                                                           \
    }                                                                                                                            \
    UNION(PRINT_PAYLOAD)                                                                                                         \
    ARGUMENTS(PRINT_ARGUMENTS)                                                                                                   \
    {                                                                                                                            \
      struct table *structure = NULL;                                                                                            \
      const char *name = "table";                                                                                                \
      size_t base = 0;                                                                                                           \
      TABLE(PRINT_MEMBER)                                                                                                        \
    }                                                                                                                            \
    printf("%s.descriptor 0 %zu\n%s.arguments 0 %zu\n%s.table 0 %zu\n", version, sizeof(whole), version, sizeof(arguments),      \
           version, sizeof(struct table));                                                                                       \
  }

/* What NCCL's own networks pass with an event of a network plugin (net_ib_v1.h, net_socket_v1.h): of no version of the profiler's. */
struct infiniband {
  uint8_t kind;
  struct { int device; uint64_t id; int opcode; int queue_pair; size_t length; } request;
};
struct sockets {
  uint8_t kind;
  struct { int descriptor; int operation; size_t length; } transfer;
};
#define PRINT_PASSED(of, name, path) \
  printf("v0." #of "." #name " %zu %zu\n", offsetof(struct of, path), sizeof(((struct of *)0)->path));

int main(void) {
  PRINT_PASSED(infiniband, kind, kind)
  PRINT_PASSED(infiniband, device, request.device)
  PRINT_PASSED(infiniband, id, request.id)
  PRINT_PASSED(infiniband, opcode, request.opcode)
  PRINT_PASSED(infiniband, queue_pair, request.queue_pair)
  PRINT_PASSED(infiniband, length, request.length)
  PRINT_PASSED(sockets, kind, kind)
  PRINT_PASSED(sockets, descriptor, transfer.descriptor)
  PRINT_PASSED(sockets, operation, transfer.operation)
  PRINT_PASSED(sockets, length, transfer.length)
  PRINT_VERSION(1, UNION_V1, ARGUMENTS_V1)
  PRINT_VERSION(2, UNION_V2, ARGUMENTS_V1)
  PRINT_VERSION(3, UNION_V3, ARGUMENTS_V1)
  PRINT_VERSION(4, UNION_V4, ARGUMENTS_V4)
  PRINT_VERSION(5, UNION_V5, ARGUMENTS_V4)
  PRINT_VERSION(6, UNION_V6, ARGUMENTS_V4)
  PRINT_VERSION(7, UNION_V7, ARGUMENTS_V4)
  return 0;
}
