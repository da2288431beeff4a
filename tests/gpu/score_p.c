/* MPI, CUDA and NCCL in one program, for Score-P: score_p LIBCUDART LIBNCCL GPUS NODES DIRECTORY. A rank is a process
 * of MPI; ranks share GPUs where there are fewer. With several NODES the ranks are on pretended nodes, with sockets
 * over loopback between them.
 *
 * Each step computes on two streams. Beside the computation of the one, the other has an all-reduce, an exchange with
 * the neighbours of a ring, and in every second step an exchange of all with all. Rank 1 comes 3 ms late to every
 * fifth step's all-reduce. Then MPI makes the same exchange of the ring, through memory of the host, and an
 * MPI_Allreduce ends the step. Rank r writes what it did, and how long its steps took, to DIRECTORY/did.r.json.
 *
 * Compile it with `scorep --user --cuda --mpp=mpi --thread=pthread mpicc -O2 score_p.c -ldl`. The libraries are loaded
 * at run time, so neither CUDA nor NCCL need be installed there. */
#define _GNU_SOURCE
#include "loaded.h"
#include <mpi.h>
#ifdef SCOREP_USER_ENABLE
#include <scorep/SCOREP_User.h>
#else
#define SCOREP_USER_REGION_DEFINE(handle)
#define SCOREP_USER_REGION_BEGIN(handle, name, type)
#define SCOREP_USER_REGION_END(handle)
#endif

enum { STEPS = 100, LATE_RANK = 1, LATE_EVERY = 5, FLOAT32 = 7, SUM = 0, NON_BLOCKING = 1, MOST = 64 };
enum { TO_DEVICE = 1, TO_HOST = 2, ON_DEVICE = 3 };
/* floats sent around the ring, and from each to each */
static const size_t AROUND = 1 << 20, TO_EACH = 1 << 18;
static const unsigned long long LATE = 3000000, BESIDE = 400000, BEFORE = 200000;

/* Waits on the GPU until its clock of nanoseconds has advanced by `time`. */
static const char *WAIT = ".version 6.3\n.target sm_75\n.address_size 64\n"
                          ".visible .entry wait(.param .u64 time) {\n"
                          ".reg .u64 %now, %end;\n.reg .pred %waits;\n"
                          "ld.param.u64 %end, [time];\nmov.u64 %now, %globaltimer;\nadd.u64 %end, %end, %now;\n"
                          "again:\nmov.u64 %now, %globaltimer;\nsetp.lt.u64 %waits, %now, %end;\n@%waits bra again;\n"
                          "ret;\n}\n";

struct unique_id {
  char bytes[128];
};

static void check(int failed, const char *call) {
  if (failed) fprintf(stderr, "score_p: %s failed: %d\n", call, failed), MPI_Abort(MPI_COMM_WORLD, 1);
}

static int (*set_device)(int), (*allocate)(void **, size_t), (*allocate_pinned)(void **, size_t);
static int (*clear)(void *, int, size_t);
static int (*create_stream)(void **, unsigned), (*synchronize)(void *);
static int (*copy)(void *, const void *, size_t, int, void *);
static int (*load)(void **, const void *), (*function_of)(void **, void *, const char *);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
static int (*unique_id)(struct unique_id *), (*init_rank)(void **, int, struct unique_id, int), (*destroy)(void *);
static int (*group_start)(void), (*group_end)(void);
static int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
static int (*send_to)(const void *, size_t, int, int, void *, void *);
static int (*receive_from)(void *, size_t, int, int, void *, void *);

static int rank, ranks, gpus;
static void *comm, *streams[2], *wait_kernel;
static float *from, *to;
/* pinned memory of the host, for MPI */
static float *sent, *received;
/* operations and bytes of NCCL's functions, and those that the rank sent by MPI */
static unsigned long long did[3][2], by_mpi[2];

static void look_up(const char *cudart, const char *libnccl) {
  void *cuda = library(cudart), *driver = library("libcuda.so.1"), *nccl = library(libnccl);
  set_device = symbol(cuda, "cudaSetDevice"), allocate = symbol(cuda, "cudaMalloc");
  allocate_pinned = symbol(cuda, "cudaMallocHost");
  clear = symbol(cuda, "cudaMemset"), copy = symbol(cuda, "cudaMemcpyAsync");
  create_stream = symbol(cuda, "cudaStreamCreateWithFlags"), synchronize = symbol(cuda, "cudaStreamSynchronize");
  load = symbol(driver, "cuModuleLoadData"), function_of = symbol(driver, "cuModuleGetFunction");
  launch = symbol(driver, "cuLaunchKernel");
  unique_id = symbol(nccl, "ncclGetUniqueId"), init_rank = symbol(nccl, "ncclCommInitRank");
  destroy = symbol(nccl, "ncclCommDestroy");
  group_start = symbol(nccl, "ncclGroupStart"), group_end = symbol(nccl, "ncclGroupEnd");
  all_reduce = symbol(nccl, "ncclAllReduce");
  send_to = symbol(nccl, "ncclSend"), receive_from = symbol(nccl, "ncclRecv");
}

static void count(int function, size_t floats) {
  did[function][0]++, did[function][1] += floats * sizeof(float);
}

static void compute(unsigned long long nanoseconds, void *stream) {
  void *arguments[] = {&nanoseconds};
  check(launch(wait_kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, NULL), "cuLaunchKernel");
}

static void exchange(int source, int target, const float *out, float *in, size_t floats) {
  check(send_to(out, floats, FLOAT32, target, comm, streams[0]), "ncclSend"), count(1, floats);
  check(receive_from(in, floats, FLOAT32, source, comm, streams[0]), "ncclRecv"), count(2, floats);
}

/* The exchange of the ring as a program makes it with an MPI that does not read the GPU's memory. */
static void exchange_by_mpi(int source, int target) {
  size_t bytes = AROUND * sizeof(float);
  check(copy(sent, from, bytes, TO_HOST, streams[0]), "cudaMemcpyAsync");
  check(synchronize(streams[0]), "cudaStreamSynchronize");
  MPI_Sendrecv(sent, (int)AROUND, MPI_FLOAT, target, 0, received, (int)AROUND, MPI_FLOAT, source, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  by_mpi[0]++, by_mpi[1] += bytes;
  check(copy(to, received, bytes, TO_DEVICE, streams[0]), "cudaMemcpyAsync");
  check(synchronize(streams[0]), "cudaStreamSynchronize");
}

static void run_step(int number) {
  int is_late = rank == LATE_RANK && number % LATE_EVERY == LATE_EVERY - 1;
  compute(is_late ? LATE : BEFORE, streams[0]);
  compute(BESIDE, streams[1]);
  size_t floats = (size_t)1 << (12 + number % 12);
  check(all_reduce(from, from, floats, FLOAT32, SUM, comm, streams[0]), "ncclAllReduce"), count(0, floats);
  compute(BESIDE, streams[1]);
  int previous = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks;
  check(group_start(), "ncclGroupStart");
  exchange(previous, next, from, to, AROUND);
  check(group_end(), "ncclGroupEnd");
  if (number % 2) {
    check(group_start(), "ncclGroupStart");
    for (int peer = 0; peer < ranks; peer++)
      if (peer != rank) exchange(peer, peer, from + (size_t)peer * TO_EACH, to + (size_t)peer * TO_EACH, TO_EACH);
    check(group_end(), "ncclGroupEnd");
    size_t own = (size_t)rank * TO_EACH;
    check(copy(to + own, from + own, TO_EACH * sizeof(float), ON_DEVICE, streams[0]), "cudaMemcpyAsync");
  }
  for (int i = 0; i < 2; i++) check(synchronize(streams[i]), "cudaStreamSynchronize");
  exchange_by_mpi(previous, next);
  int here = number, there;
  MPI_Allreduce(&here, &there, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static void report(const char *directory, double seconds) {
  char path[4096];
  snprintf(path, sizeof path, "%s/did.%d.json", directory, rank);
  FILE *file = fopen(path, "w");
  check(!file, path);
  fprintf(file, "{\"rank\": %d, \"ranks\": %d, \"gpus\": %d, \"steps\": %d, \"late_rank\": %d, \"late\": %d, \"did\": {", rank,
          ranks, gpus, STEPS, LATE_RANK, STEPS / LATE_EVERY);
  static const char *const NAMES[] = {"AllReduce", "Send", "Recv"};
  for (int i = 0; i < 3; i++) fprintf(file, "%s\"%s\": [%llu, %llu]", i ? ", " : "", NAMES[i], did[i][0], did[i][1]);
  fprintf(file, "}, \"mpi\": [%llu, %llu], \"seconds\": %.3f}\n", by_mpi[0], by_mpi[1], seconds);
  check(fclose(file), path);
}

int main(int arguments, char **values) {
  MPI_Init(&arguments, &values);
  if (arguments != 6) return fprintf(stderr, "usage: score_p LIBCUDART LIBNCCL GPUS NODES DIRECTORY\n"), 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int nodes = atoi(values[4]);
  gpus = atoi(values[3]);
  check(ranks < 2 || ranks > MOST || gpus < 1 || nodes < 1, "taking so many ranks");
  if (nodes > 1) {
    char node[32];
    snprintf(node, sizeof node, "node%d", rank * nodes / ranks);
    setenv("NCCL_HOSTID", node, 1), setenv("NCCL_NET", "Socket", 1), setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  }
  look_up(values[1], values[2]);
  check(set_device(rank % gpus), "cudaSetDevice");
  size_t bytes = (AROUND > TO_EACH * MOST ? AROUND : TO_EACH * MOST) * sizeof(float);
  check(allocate((void **)&from, bytes) || allocate((void **)&to, bytes), "cudaMalloc");
  check(clear(from, 0, bytes), "cudaMemset");
  bytes = AROUND * sizeof(float);
  check(allocate_pinned((void **)&sent, bytes) || allocate_pinned((void **)&received, bytes), "cudaMallocHost");
  void *module;
  check(load(&module, WAIT), "cuModuleLoadData"), check(function_of(&wait_kernel, module, "wait"), "cuModuleGetFunction");
  for (int i = 0; i < 2; i++) check(create_stream(&streams[i], NON_BLOCKING), "cudaStreamCreateWithFlags");
  struct unique_id id;
  if (rank == 0) check(unique_id(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  check(init_rank(&comm, ranks, id, rank), "ncclCommInitRank");
  SCOREP_USER_REGION_DEFINE(region)
  double begun = MPI_Wtime();
  for (int number = 0; number < STEPS; number++) {
    SCOREP_USER_REGION_BEGIN(region, "step", SCOREP_USER_REGION_TYPE_COMMON)
    run_step(number);
    SCOREP_USER_REGION_END(region)
  }
  double seconds = MPI_Wtime() - begun;
  check(destroy(comm), "ncclCommDestroy");
  report(values[5], seconds);
  MPI_Finalize();
  return 0;
}
