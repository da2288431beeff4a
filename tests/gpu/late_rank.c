/* A program for GPUs under a real Score-P: late_rank LIBCUDART LIBNCCL GPUS makes collectives with all GPUs of this machine from one
 * thread, between user regions; every fourth round the last GPU's stream waits 3 ms before one of them. Compile with
 * `scorep --user --nocompiler gcc late_rank.c -ldl`; both libraries are loaded at run time, so neither CUDA nor NCCL need be installed there.
 * What must come out is in docs/gpu-test.md. */
#define _GNU_SOURCE
#include "loaded.h"
#include <scorep/SCOREP_User.h>
#include <unistd.h>

enum { MOST = 16, ROUNDS = 40, GATHERS = 10, FLOAT32 = 7, SUM = 0, SLOW_COUNT = 4096 };
static const size_t LARGEST = 16 << 20;

static int (*set_device)(int), (*allocate)(void **, size_t), (*create_stream)(void **), (*synchronize)(void *);
static int (*launch)(void *, void (*)(void *), void *);
static int (*init_all)(void **, int, const int *), (*group_start)(void), (*group_end)(void), (*destroy)(void *);
static int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
static int (*all_gather)(const void *, void *, size_t, int, void *, void *);

static int gpus;
static void *comms[MOST], *streams[MOST], *send[MOST], *receive[MOST];

static void late(void *unused) {
  (void)unused;
  usleep(3000);
}

static void on_all(void (*what)(int, size_t), size_t count) {
  group_start();
  for (int i = 0; i < gpus; i++) set_device(i), what(i, count);
  group_end();
}

static void reduce(int i, size_t count) { all_reduce(send[i], receive[i], count, FLOAT32, SUM, comms[i], streams[i]); }
static void gather(int i, size_t count) { all_gather(send[i], receive[i], count, FLOAT32, comms[i], streams[i]); }

static void await_all(void) {
  for (int i = 0; i < gpus; i++) set_device(i), synchronize(streams[i]);
}

int main(int count, char **arguments) {
  if (count < 4) return fprintf(stderr, "usage: late_rank LIBCUDART LIBNCCL GPUS\n"), 1;
  void *cuda = library(arguments[1]), *nccl = library(arguments[2]);
  gpus = atoi(arguments[3]) < MOST ? atoi(arguments[3]) : MOST;
  set_device = symbol(cuda, "cudaSetDevice"), allocate = symbol(cuda, "cudaMalloc"), create_stream = symbol(cuda, "cudaStreamCreate");
  synchronize = symbol(cuda, "cudaStreamSynchronize"), launch = symbol(cuda, "cudaLaunchHostFunc");
  init_all = symbol(nccl, "ncclCommInitAll"), destroy = symbol(nccl, "ncclCommDestroy"), group_start = symbol(nccl, "ncclGroupStart");
  group_end = symbol(nccl, "ncclGroupEnd"), all_reduce = symbol(nccl, "ncclAllReduce"), all_gather = symbol(nccl, "ncclAllGather");
  for (int i = 0; i < gpus; i++) {
    set_device(i);
    allocate(&send[i], LARGEST * 4), allocate(&receive[i], LARGEST * 4), create_stream(&streams[i]);
  }
  if (init_all(comms, gpus, NULL) != 0) return fprintf(stderr, "NCCL cannot use %d GPUs\n", gpus), 1;
  SCOREP_USER_REGION_DEFINE(forward)
  SCOREP_USER_REGION_DEFINE(backward)
  int lates = 0;
  for (int round = 0; round < ROUNDS; round++) {
    SCOREP_USER_REGION_BEGIN(forward, "forward", SCOREP_USER_REGION_TYPE_COMMON)
    for (size_t size = 1; size <= LARGEST; size *= 16) {
      if (round % 4 == 3 && size == SLOW_COUNT) set_device(gpus - 1), launch(streams[gpus - 1], late, NULL), lates++;
      on_all(reduce, size);
      await_all();
    }
    SCOREP_USER_REGION_END(forward)
    SCOREP_USER_REGION_BEGIN(backward, "backward", SCOREP_USER_REGION_TYPE_COMMON)
    for (int i = 0; i < GATHERS; i++) on_all(gather, 1 << 20);
    await_all();
    SCOREP_USER_REGION_END(backward)
  }
  /* NCCL's proxy threads tell of the last stamps a moment later */
  usleep(300000);
  for (int i = 0; i < gpus; i++) destroy(comms[i]);
  printf("rank %d is %d times 3 ms late\n", gpus - 1, lates);
  return 0;
}
