/* What operations take, with whatever profiler plugin NCCL loads: overhead LIBCUDART LIBNCCL RANKS NODES GPUS
 * DIRECTORY. A process a rank; ranks share GPUs where there are fewer. With several NODES each rank is on a
 * pretended node, with sockets over loopback between them.
 *
 * It says `ready`, then reads lines `KIND BYTES NUMBER` until there are no more, makes so many operations back to
 * back, waits for the last one, and prints us an operation. KIND is
 *   allreduce, allgather, broadcast   a collective of BYTES
 *   ring                              a send to the next rank and a receive from the one before, in a group
 *   communicator                      a communicator made and destroyed
 * Rank r writes its summary to DIRECTORY/summary.r.json, if the plugin is this library. Both libraries are loaded at
 * run time, so neither CUDA nor NCCL need be installed where it is compiled: gcc -O2 overhead.c -ldl. */
#define _GNU_SOURCE
#include "loaded.h"
#include "measured.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16, CHAR = 0, FLOAT32 = 7, SUM = 0, NON_BLOCKING = 1 };
static const size_t LARGEST = (size_t)1 << 30;

struct unique_id {
  char bytes[128];
};

struct order {
  char kind[16];
  size_t bytes;
  int number;
};

static void check(int failed, const char *what) {
  if (failed) fprintf(stderr, "overhead: %s failed: %d\n", what, failed), _exit(1);
}

static int (*set_device)(int), (*allocate)(void **, size_t);
static int (*create_stream)(void **, unsigned), (*synchronize)(void *);
static int (*unique_id)(struct unique_id *), (*init_rank)(void **, int, struct unique_id, int), (*destroy)(void *);
static int (*group_start)(void), (*group_end)(void);
static int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
static int (*all_gather)(const void *, void *, size_t, int, void *, void *);
static int (*broadcast)(const void *, void *, size_t, int, int, void *, void *);
static int (*send_to)(const void *, size_t, int, int, void *, void *);
static int (*receive_from)(void *, size_t, int, int, void *, void *);

static int rank, ranks, pipes[MOST][2];
static void *comm, *stream;
static char *buffer;

/* The same bytes in all ranks, from rank 0. */
static void share(void *bytes, size_t size) {
  for (int i = 1; rank == 0 && i < ranks; i++) check(write(pipes[i][1], bytes, size) != (ssize_t)size, "write");
  if (rank) check(read(pipes[rank][0], bytes, size) != (ssize_t)size, "read");
}

static void *join(void) {
  struct unique_id id;
  void *made;
  if (rank == 0) check(unique_id(&id), "ncclGetUniqueId");
  share(&id, sizeof id);
  check(init_rank(&made, ranks, id, rank), "ncclCommInitRank");
  return made;
}

static void operate(const struct order *order) {
  size_t bytes = order->bytes, count = bytes / 4;
  if (strcmp(order->kind, "communicator") == 0) check(destroy(join()), "ncclCommDestroy");
  else if (strcmp(order->kind, "allreduce") == 0)
    check(all_reduce(buffer, buffer, count, FLOAT32, SUM, comm, stream), "ncclAllReduce");
  else if (strcmp(order->kind, "broadcast") == 0)
    check(broadcast(buffer, buffer, count, FLOAT32, 0, comm, stream), "ncclBroadcast");
  else if (strcmp(order->kind, "allgather") == 0) {
    /* BYTES in all, so that the buffer holds them */
    size_t each = bytes < (size_t)ranks ? 1 : bytes / (size_t)ranks;
    check(all_gather(buffer + (size_t)rank * each, buffer, each, CHAR, comm, stream), "ncclAllGather");
  } else if (strcmp(order->kind, "ring") == 0) {
    check(group_start(), "ncclGroupStart");
    check(send_to(buffer, count, FLOAT32, (rank + 1) % ranks, comm, stream), "ncclSend");
    check(receive_from(buffer + LARGEST, count, FLOAT32, (rank + ranks - 1) % ranks, comm, stream), "ncclRecv");
    check(group_end(), "ncclGroupEnd");
  } else check(1, order->kind);
}

static void measure(const struct order *order) {
  double begin = microseconds();
  for (int i = 0; i < order->number; i++) operate(order);
  check(synchronize(stream), "cudaStreamSynchronize");
  if (rank == 0) printf("%.4f\n", (microseconds() - begin) / order->number), fflush(stdout);
}

/* A process a rank, before CUDA is touched. */
static void become_ranks(void) {
  for (int i = 1; i < ranks; i++) {
    check(pipe(pipes[i]), "pipe");
    if (fork() == 0) {
      rank = i;
      /* a rank that kept an end of rank 0's open would never hear that there are no more lines */
      for (int j = 1; j <= i; j++) close(pipes[j][1]);
      return;
    }
  }
}

static void set_of_rank(const char *name, const char *format, const char *text, int number) {
  char value[4096];
  snprintf(value, sizeof value, format, text, number);
  setenv(name, value, 1);
}

static void look_up(const char *cudart, const char *libnccl) {
  void *cuda = library(cudart), *nccl = library(libnccl);
  set_device = symbol(cuda, "cudaSetDevice"), allocate = symbol(cuda, "cudaMalloc");
  create_stream = symbol(cuda, "cudaStreamCreateWithFlags"), synchronize = symbol(cuda, "cudaStreamSynchronize");
  unique_id = symbol(nccl, "ncclGetUniqueId"), init_rank = symbol(nccl, "ncclCommInitRank");
  destroy = symbol(nccl, "ncclCommDestroy");
  group_start = symbol(nccl, "ncclGroupStart"), group_end = symbol(nccl, "ncclGroupEnd");
  all_reduce = symbol(nccl, "ncclAllReduce"), all_gather = symbol(nccl, "ncclAllGather");
  broadcast = symbol(nccl, "ncclBroadcast");
  send_to = symbol(nccl, "ncclSend"), receive_from = symbol(nccl, "ncclRecv");
}

int main(int count, char **arguments) {
  if (count != 7) return fprintf(stderr, "usage: overhead LIBCUDART LIBNCCL RANKS NODES GPUS DIRECTORY\n"), 1;
  ranks = atoi(arguments[3]);
  int nodes = atoi(arguments[4]), gpus = atoi(arguments[5]);
  check(ranks < 2 || ranks > MOST || nodes < 1 || gpus < 1, "taking so many ranks");
  look_up(arguments[1], arguments[2]);
  become_ranks();
  set_of_rank("NCCL_SCOREP_SUMMARY", "%s/summary.%d.json", arguments[6], rank);
  if (nodes > 1) {
    set_of_rank("NCCL_HOSTID", "%s%d", "node", rank * nodes / ranks);
    setenv("NCCL_NET", "Socket", 1), setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  }
  check(set_device(rank % gpus), "cudaSetDevice");
  comm = join();
  check(allocate((void **)&buffer, 2 * LARGEST), "cudaMalloc");
  check(create_stream(&stream, NON_BLOCKING), "cudaStreamCreateWithFlags");
  if (rank == 0) printf("ready\n"), fflush(stdout);
  struct order order;
  memset(&order, 0, sizeof order);
  char line[256];
  for (;;) {
    if (rank == 0) {
      if (!fgets(line, sizeof line, stdin)) break;
      check(sscanf(line, "%15s %zu %d", order.kind, &order.bytes, &order.number) != 3, "reading an order");
      check(order.bytes > LARGEST || order.number < 1, "taking the order");
      share(&order, sizeof order);
    } else if (read(pipes[rank][0], &order, sizeof order) != sizeof order) {
      break;
    }
    measure(&order);
  }
  for (int i = 1; rank == 0 && i < ranks; i++) close(pipes[i][1]);
  check(destroy(comm), "ncclCommDestroy");
  while (rank == 0 && wait(NULL) > 0) {}
  return 0;
}
