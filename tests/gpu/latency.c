/* What an all-reduce takes, with whatever profiler plugin NCCL loads: latency LIBCUDART LIBNCCL RANKS [DIRECTORY]. A
 * process a rank and GPU.
 *
 * It says `ready`, then reads lines `BYTES OPERATIONS BATCHES SINGLES` until there are no more. For each it makes
 * BATCHES batches of so many all-reduces back to back, then SINGLES all-reduces one at a time, and prints us an
 * operation: of each batch, a bar, of each single one. Rank r writes its summary to DIRECTORY/summary.r.json, if the
 * plugin is this library. Both libraries are loaded at run time, so neither CUDA nor NCCL need be installed where it is
 * compiled: gcc -O2 latency.c -ldl. */
#define _GNU_SOURCE
#include "loaded.h"
#include "measured.h"
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 16, LARGEST = 64 << 20, FLOAT32 = 7, SUM = 0, NON_BLOCKING = 1 };

struct unique_id {
  char bytes[128];
};

struct order {
  size_t bytes;
  int operations, batches, singles;
};

static void check(int failed, const char *what) {
  if (failed) fprintf(stderr, "latency: %s failed: %d\n", what, failed), _exit(1);
}

static int (*set_device)(int), (*allocate)(void **, size_t), (*create_stream)(void **, unsigned), (*synchronize)(void *);
static int (*unique_id)(struct unique_id *), (*init_rank)(void **, int, struct unique_id, int), (*destroy)(void *);
static int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);

static void *comm, *stream, *buffer;

/* So many all-reduces, and the wait for the last one; us an operation. */
static double reduce(size_t bytes, int operations) {
  double begin = microseconds();
  for (int i = 0; i < operations; i++) check(all_reduce(buffer, buffer, bytes / 4, FLOAT32, SUM, comm, stream), "ncclAllReduce");
  check(synchronize(stream), "cudaStreamSynchronize");
  return (microseconds() - begin) / operations;
}

static void measure(const struct order *order, int rank) {
  reduce(order->bytes, 20);
  for (int part = 0; part < 2; part++) {
    int repeats = part ? order->singles : order->batches;
    for (int i = 0; i < repeats; i++) {
      double took = reduce(order->bytes, part ? 1 : order->operations);
      if (rank == 0) printf("%.3f ", took);
    }
    if (rank == 0) printf(part ? "\n" : "| ");
  }
  if (rank == 0) fflush(stdout);
}

int main(int count, char **arguments) {
  if (count < 4) return fprintf(stderr, "usage: latency LIBCUDART LIBNCCL RANKS [DIRECTORY]\n"), 1;
  int ranks = atoi(arguments[3]) < MOST ? atoi(arguments[3]) : MOST, rank = 0, pipes[MOST][2];
  void *cuda = library(arguments[1]), *nccl = library(arguments[2]);
  set_device = symbol(cuda, "cudaSetDevice"), allocate = symbol(cuda, "cudaMalloc");
  create_stream = symbol(cuda, "cudaStreamCreateWithFlags"), synchronize = symbol(cuda, "cudaStreamSynchronize");
  unique_id = symbol(nccl, "ncclGetUniqueId"), init_rank = symbol(nccl, "ncclCommInitRank"), destroy = symbol(nccl, "ncclCommDestroy");
  all_reduce = symbol(nccl, "ncclAllReduce");
  for (int i = 1; i < ranks; i++) {
    check(pipe(pipes[i]), "pipe");
    if (fork() == 0) {
      rank = i;
      /* a rank that kept an end of rank 0's open would never hear that there are no more lines */
      for (int j = 1; j <= i; j++) close(pipes[j][1]);
      break;
    }
  }
  if (count > 4) {
    char path[4096];
    snprintf(path, sizeof path, "%s/summary.%d.json", arguments[4], rank);
    setenv("NCCL_SCOREP_SUMMARY", path, 1);
  }
  int share = sysconf(_SC_NPROCESSORS_ONLN) / ranks;
  if (share > 1) bind_to(rank * share, share);
  check(set_device(rank), "cudaSetDevice");
  struct unique_id id;
  if (rank == 0) check(unique_id(&id), "ncclGetUniqueId");
  for (int i = 1; rank == 0 && i < ranks; i++) check(write(pipes[i][1], &id, sizeof id) != sizeof id, "write");
  if (rank) check(read(pipes[rank][0], &id, sizeof id) != sizeof id, "read");
  check(init_rank(&comm, ranks, id, rank), "ncclCommInitRank");
  check(allocate(&buffer, LARGEST), "cudaMalloc");
  check(create_stream(&stream, NON_BLOCKING), "cudaStreamCreateWithFlags");
  reduce(LARGEST, 1);
  if (share > 1) bind_to(rank * share + share / 2, 1);
  if (rank == 0) printf("ready\n"), fflush(stdout);
  struct order order;
  char line[256];
  for (;;) {
    if (rank == 0) {
      if (!fgets(line, sizeof line, stdin)) break;
      if (sscanf(line, "%zu %d %d %d", &order.bytes, &order.operations, &order.batches, &order.singles) != 4) return 1;
      for (int i = 1; i < ranks; i++) check(write(pipes[i][1], &order, sizeof order) != sizeof order, "write");
    } else if (read(pipes[rank][0], &order, sizeof order) != sizeof order) {
      break;
    }
    measure(&order, rank);
  }
  for (int i = 1; rank == 0 && i < ranks; i++) close(pipes[i][1]);
  check(destroy(comm), "ncclCommDestroy");
  while (rank == 0 && wait(NULL) > 0) {}
  return 0;
}
