/* For how long a call of NCCL keeps the calling thread, with a plugin's event types and without them in turn: calls
 * LIBCUDART LIBNCCL RANKS GPUS DIRECTORY PAIRS. NCCL loads masked_plugin.c, and PAIRS pairs of turns are made. A
 * process a rank; ranks share GPUs where there are fewer, on pretended nodes: an operation then takes milliseconds,
 * until the GPU turns to the other rank, but its call does not wait for that.
 *
 * A turn is a batch of all-reduces of 8 bytes, each of which is timed from its call to its return, and then the wait
 * for the last one. Rank 0 prints a line a pair: the medians in us with the event types and without them. Rank r writes
 * its summary to DIRECTORY/summary.r.json, if the plugin is this library. Compile it with gcc -O2 calls.c -ldl. */
#define _GNU_SOURCE
#include "loaded.h"
#include "measured.h"
#include <sys/wait.h>
#include <unistd.h>

/* the first calls after a switch of the event types are not measured */
enum { MOST = 16, BEHIND_SWITCH = 5, BATCH = 45, FLOAT32 = 7, SUM = 0, NON_BLOCKING = 1 };

struct unique_id {
  char bytes[128];
};

static void check(int failed, const char *call) {
  if (failed) fprintf(stderr, "calls: %s failed: %d\n", call, failed), _exit(1);
}

static int (*set_device)(int), (*allocate)(void **, size_t);
static int (*create_stream)(void **, unsigned), (*synchronize)(void *);
static int (*unique_id)(struct unique_id *), (*init_rank)(void **, int, struct unique_id, int), (*destroy)(void *);
static int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
static int (*masked_request)(int);

static void *comm, *stream, *buffer;

static int compare(const void *one, const void *other) {
  double difference = *(const double *)one - *(const double *)other;
  return (difference > 0) - (difference < 0);
}

static double reduce(void) {
  double begin = microseconds();
  check(all_reduce(buffer, buffer, 2, FLOAT32, SUM, comm, stream), "ncclAllReduce");
  return microseconds() - begin;
}

/* The median of a batch's calls. */
static double turn(int is_requested) {
  double took[BATCH];
  check(masked_request(is_requested), "a request for event types");
  for (int call = 0; call < BEHIND_SWITCH; call++) reduce();
  for (int call = 0; call < BATCH; call++) took[call] = reduce();
  check(synchronize(stream), "cudaStreamSynchronize");
  qsort(took, BATCH, sizeof *took, compare);
  return took[BATCH / 2];
}

int main(int count, char **arguments) {
  if (count != 7) return fprintf(stderr, "usage: calls LIBCUDART LIBNCCL RANKS GPUS DIRECTORY PAIRS\n"), 1;
  int ranks = atoi(arguments[3]), gpus = atoi(arguments[4]), pairs = atoi(arguments[6]), rank = 0, pipes[MOST][2];
  check(ranks < 2 || ranks > MOST || gpus < 1, "taking so many ranks");
  void *cuda = library(arguments[1]), *nccl = library(arguments[2]);
  set_device = symbol(cuda, "cudaSetDevice"), allocate = symbol(cuda, "cudaMalloc");
  create_stream = symbol(cuda, "cudaStreamCreateWithFlags"), synchronize = symbol(cuda, "cudaStreamSynchronize");
  unique_id = symbol(nccl, "ncclGetUniqueId"), init_rank = symbol(nccl, "ncclCommInitRank");
  destroy = symbol(nccl, "ncclCommDestroy"), all_reduce = symbol(nccl, "ncclAllReduce");
  for (int i = 1; i < ranks; i++) {
    check(pipe(pipes[i]), "pipe");
    if (fork() == 0) {
      rank = i;
      break;
    }
  }
  char text[4096];
  snprintf(text, sizeof text, "%s/summary.%d.json", arguments[5], rank);
  setenv("NCCL_SCOREP_SUMMARY", text, 1);
  if (gpus < ranks) {
    snprintf(text, sizeof text, "node%d", rank);
    setenv("NCCL_HOSTID", text, 1), setenv("NCCL_NET", "Socket", 1), setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  }
  int share = (int)sysconf(_SC_NPROCESSORS_ONLN) / ranks;
  if (share > 1) bind_to(rank * share, share);
  check(set_device(rank % gpus), "cudaSetDevice");
  struct unique_id id;
  if (rank == 0) check(unique_id(&id), "ncclGetUniqueId");
  for (int i = 1; rank == 0 && i < ranks; i++) check(write(pipes[i][1], &id, sizeof id) != sizeof id, "write");
  if (rank) check(read(pipes[rank][0], &id, sizeof id) != sizeof id, "read");
  check(init_rank(&comm, ranks, id, rank), "ncclCommInitRank");
  masked_request = symbol(library("libnccl-profiler-masked.so"), "masked_request");
  check(allocate(&buffer, 4096), "cudaMalloc");
  check(create_stream(&stream, NON_BLOCKING), "cudaStreamCreateWithFlags");
  if (share > 1) bind_to(rank * share + share / 2, 1);
  for (int pair = 0; pair < pairs; pair++) {
    double took[2];
    for (int place = 0; place < 2; place++) {
      int is_requested = (pair + place) % 2;
      took[is_requested] = turn(is_requested);
    }
    if (rank == 0) printf("%.4f %.4f\n", took[1], took[0]), fflush(stdout);
  }
  check(destroy(comm), "ncclCommDestroy");
  while (rank == 0 && wait(NULL) > 0) {}
  return 0;
}
