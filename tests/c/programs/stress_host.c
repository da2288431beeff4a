/* As many callbacks as threads can make, each going over its communicators in turn, to see that none is lost when windows rotate:
 * stress_host LIBRARY THREADS OPERATIONS COMMUNICATORS. Thread n has every second communicator, from n % 2 on. Prints how many operations, kernel channels and steps got a handle. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* NCCL's v5 descriptor as words; the offsets are those of its plugin interface. */
struct descriptor {
  uint64_t type;
  void *parent;
  uint64_t rank;
  uint64_t payload[14];
};

struct table {
  const char *name;
  int (*init)(void **, uint64_t, int *, const char *, int, int, int, void *);
  int (*start)(void *context, void **handle, void *descriptor);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *arguments);
  int (*finalize)(void *context);
};

static struct table *table;
static void *contexts[256];
static int communicators;
static long operations;
static long recorded[3];

static void *start(void *context, uint64_t type, void *parent, const uint64_t *payload, int words) {
  struct descriptor descriptor = {type, parent, 0, {0}};
  memcpy(descriptor.payload, payload, sizeof(uint64_t) * (size_t)words);
  void *handle = NULL;
  table->start(context, &handle, &descriptor);
  return handle;
}

static uint64_t gpu_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1700000000000000000u + (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *work(void *argument) {
  long number = (long)(intptr_t)argument;
  long made[3] = {0, 0, 0};
  const char *texts[4] = {"AllReduce", "ncclFloat32", "RING", "LL"};
  uint64_t text[4];
  for (int i = 0; i < 4; i++) text[i] = (uint64_t)(uintptr_t)texts[i];
  uint64_t coll[10] = {0, text[0], 0, 0, 256, 0, text[1], 2, text[2], text[3]};
  for (long i = 0; i < operations; i++) {
    void *context = contexts[(number + 2 * i) % communicators];
    void *operation = start(context, 2, NULL, coll, 10);
    made[0] += operation != NULL;
    table->stop(operation);
    void *kernels[2];
    for (uint64_t channel = 0; channel < 2; channel++) {
      uint64_t kernel[2] = {channel, gpu_clock()};
      kernels[channel] = start(context, 64, operation, kernel, 2);
      made[1] += kernels[channel] != NULL;
    }
    /* pid 32 bits, channel, peer, steps, chunk, send */
    uint64_t proxy[3] = {(uint64_t)(uint32_t)getpid() | (uint64_t)(number & 255) << 32, 1 | (uint64_t)1 << 32, (uint64_t)1 << 32};
    void *op = start(context, 8, operation, proxy, 3);
    uint64_t none[1] = {0};
    void *step = start(context, 16, op, none, 1);
    made[2] += step != NULL && op != NULL;
    uint64_t bytes = 512;
    table->state(step, 9, &bytes);
    table->stop(step);
    table->stop(op);
    for (int channel = 0; channel < 2; channel++) {
      uint64_t ptimer = gpu_clock();
      table->state(kernels[channel], 22, &ptimer);
      table->stop(kernels[channel]);
    }
  }
  for (int i = 0; i < 3; i++) __atomic_fetch_add(&recorded[i], made[i], __ATOMIC_RELAXED);
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 5) return 2;
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!library || !(table = dlsym(library, "ncclProfiler_v5"))) return 3;
  int threads = atoi(arguments[2]), mask;
  operations = atol(arguments[3]);
  communicators = atoi(arguments[4]);
  if (communicators < 1 || communicators > 256) return 2;
  for (int i = 0; i < communicators; i++) table->init(&contexts[i], 0xab + (uint64_t)i, &mask, NULL, 1, 2, 0, NULL);
  pthread_t all[64];
  for (int i = 0; i < threads && i < 64; i++) pthread_create(&all[i], NULL, work, (void *)(intptr_t)i);
  for (int i = 0; i < threads && i < 64; i++) pthread_join(all[i], NULL);
  for (int i = 0; i < communicators; i++) table->finalize(contexts[i]);
  printf("%ld %ld %ld\n", recorded[0], recorded[1], recorded[2]);
  return 0;
}
