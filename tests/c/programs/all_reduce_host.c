/* A program that uses NCCL without Score-P, as the plugin sees it: loads the library named by the first argument, takes the
 * table of the interface version named by the second, makes one all-reduce, and ends. The structures are declared here in C,
 * as NCCL's plugin interface has them. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct coll {
  uint64_t sequence;
  const char *func;
  const void *send;
  void *receive;
  size_t count;
  int root;
  const char *datatype;
  uint8_t channels, warps;
  const char *algorithm, *protocol;
  void *group; /* v5 */
};

struct proxy_op {
  pid_t pid;
  uint8_t channel;
  int peer, steps, chunk, send;
};

struct kernel_ch {
  uint8_t channel;
  uint64_t ptimer;
};

union payload {
  struct coll coll;
  struct proxy_op proxy_op;
  struct { int step; } proxy_step;
  struct kernel_ch kernel_ch;
};

struct descriptor_v4 {
  uint8_t type;
  void *parent;
  int rank;
  union payload payload;
};

struct descriptor_v5 {
  uint64_t type;
  void *parent;
  int rank;
  union payload payload;
};

struct table {
  const char *name;
  void *init;
  int (*start)(void *context, void **handle, void *descriptor);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *arguments);
  int (*finalize)(void *context);
};

typedef int (*init_v4)(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int (*init_v5)(void **, uint64_t, int *, const char *, int, int, int, void *);

static struct table table;
static int version;
static void *context;

static void check(int right, const char *what) {
  if (!right) {
    fprintf(stderr, "%s\n", what);
    exit(1);
  }
}

static void *start(uint64_t type, void *parent, union payload payload) {
  struct descriptor_v4 v4 = {(uint8_t)type, parent, 0, payload};
  struct descriptor_v5 v5 = {type, parent, 0, payload};
  void *handle = (void *)(uintptr_t)0xdeadbeef; /* NCCL does not clear it before */
  check(table.start(context, &handle, version == 4 ? (void *)&v4 : (void *)&v5) == 0, "start failed");
  return handle;
}

static void *proxy_thread(void *operation) {
  union payload payload;
  memset(&payload, 0, sizeof payload);
  payload.kernel_ch.ptimer = 1000;
  void *kernel = start(64, operation, payload);
  memset(&payload, 0, sizeof payload);
  payload.proxy_op = (struct proxy_op){getpid(), 3, 1, 1, 4096, 1};
  void *proxy = start(8, operation, payload);
  memset(&payload, 0, sizeof payload);
  void *step = start(16, proxy, payload);
  uint64_t argument = 4096;
  check(table.state(step, 9, &argument) == 0, "state failed");
  check(table.stop(step) == 0 && table.stop(proxy) == 0, "stop failed");
  argument = 51000;
  check(table.state(kernel, 22, &argument) == 0 && table.stop(kernel) == 0, "kernel stop failed");
  /* what must be harmless: twice, NULL, invented, NULL arguments */
  check(table.stop(kernel) == 0 && table.stop(NULL) == 0, "odd stops failed");
  check(table.stop((void *)(uintptr_t)0x1234) == 0 && table.state(step, 9, NULL) == 0, "odd calls failed");
  return NULL;
}

int main(int count, char **arguments) {
  check(count == 3, "usage: all_reduce_host LIBRARY VERSION");
  version = atoi(arguments[2]);
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  check(library != NULL, dlerror());
  char symbol[32];
  snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version);
  struct table *found = dlsym(library, symbol);
  check(found != NULL, "no table");
  table = *found;
  int mask = 0;
  int result = version == 4 ? ((init_v4)table.init)(&context, &mask, NULL, 0xab, 1, 2, 0, NULL)
                            : ((init_v5)table.init)(&context, 0xab, &mask, NULL, 1, 2, 0, NULL);
  check(result == 0 && context != NULL, "init failed");
  check((mask & (2 | 4 | 8 | 16)) == (2 | 4 | 8 | 16), "mask lacks types");
  union payload payload;
  memset(&payload, 0, sizeof payload);
  payload.coll = (struct coll){.func = "AllReduce", .count = 1024, .datatype = "ncclFloat32", .channels = 1, .algorithm = "RING", .protocol = "LL"};
  void *operation = start(2, NULL, payload);
  check(operation != NULL, "no handle");
  check(table.stop(operation) == 0, "stop failed");
  pthread_t thread;
  check(pthread_create(&thread, NULL, proxy_thread, operation) == 0, "no thread");
  pthread_join(thread, NULL);
  check(table.finalize(context) == 0, "finalize failed");
  check(dlclose(library) == 0, "dlclose failed");
  printf("mask %d\n", mask);
  return 0;
}
