/* A profiler plugin, interface v5, that is the one of the file MASKED_PLUGIN. masked_request(0) takes the event types
 * from NCCL that the plugin has requested, and masked_request(1) requests them again: NCCL reads them at each call. So
 * one process has its steps with them and without them. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int init_function(void **, uint64_t, int *, const char *, int, int, int, void *);

struct plugin {
  const char *name;
  init_function *init;
  void *others[4];
};

__attribute__((visibility("default"))) struct plugin ncclProfiler_v5;

static init_function *own_init;
/* NCCL has one mask for all communicators */
static int *mask;
static int requested;

static int init(void **context, uint64_t communicator, int *of_nccl, const char *name, int nodes, int ranks, int rank,
                void *logger) {
  const int status = own_init(context, communicator, of_nccl, name, nodes, ranks, rank, logger);
  mask = of_nccl;
  requested = *of_nccl;
  return status;
}

__attribute__((visibility("default"))) int masked_request(int is_requested) {
  if (!mask) return -1;
  __atomic_store_n(mask, is_requested ? requested : 0, __ATOMIC_RELAXED);
  return 0;
}

__attribute__((constructor)) static void load(void) {
  const char *file = getenv("MASKED_PLUGIN");
  void *library = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : NULL;
  const struct plugin *own = library ? dlsym(library, "ncclProfiler_v5") : NULL;
  if (!own) {
    fprintf(stderr, "MASKED_PLUGIN: %s\n", file ? dlerror() : "not set");
    return;
  }
  ncclProfiler_v5 = *own;
  own_init = own->init;
  ncclProfiler_v5.init = init;
}
