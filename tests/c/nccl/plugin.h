/* The plugin as a host uses it: loaded by dlopen or linked with it, called through a version's table. Every call is
 * counted, every answer looked at. What the plugin may read ends at a page that nobody may touch. */
#ifndef PLUGIN_H
#define PLUGIN_H

#include "../check.h"
#include "interface.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct table {
  const char *name;
  void *init;
  int (*start)(void *context, void **handle, void *descriptor);
  int (*stop)(void *handle);
  int (*state)(void *handle, int state, void *arguments);
  int (*finalize)(void *context);
};

typedef int (*init_v1)(void **, int *);
typedef int (*init_v4)(void **, int *, const char *, uint64_t, int, int, int, void *);
typedef int (*init_v5)(void **, uint64_t, int *, const char *, int, int, int, void *);

/* A handle as NCCL leaves it before a start. */
#define GARBAGE ((void *)(uintptr_t)0xdeadbeefdeadbeef)

static const char *library_path;
static void *library;
static struct table table;
/* NCCL's function for log lines, which v4 and later hand to init: that of the library that HOST_NCCL names. */
static void *logger;
static const struct version *version;

static inline void load(void) {
  const char *nccl = getenv("HOST_NCCL");
  if (nccl) {
    void *loaded = dlopen(nccl, RTLD_NOW);
    check(loaded != NULL, "%s", dlerror());
    logger = dlsym(loaded, "stand_in_log");
  }
  /* as NCCL has it, for a plugin that the program is linked with */
  bool linked = strcasecmp(library_path, "STATIC_PLUGIN") == 0;
  library = dlopen(linked ? NULL : library_path, RTLD_NOW | RTLD_LOCAL);
  check(library != NULL, "%s", dlerror());
  char symbol[32];
  snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version->number);
  struct table *found = dlsym(library, symbol);
  check(found != NULL, "no table %s", symbol);
  table = *found;
}

static inline void take_version(const char *number) {
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
    if (versions[i].number == atoi(number)) version = &versions[i];
  check(version != NULL, "no version %s", number);
}

/* Takes in all that was recorded. */
static inline void flush(void) {
  int (*flush)(unsigned) = (int (*)(unsigned))dlsym(library, "scorep_nccl_flush");
  check(flush != NULL, "no flush");
  flush(100000);
}

/* The last `size` bytes before a page that must not be read; one place per thread. */
static inline void *at_the_edge(size_t size) {
  static _Thread_local char *page;
  size_t length = (size_t)sysconf(_SC_PAGESIZE);
  if (!page) {
    page = mmap(NULL, 2 * length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(page != MAP_FAILED && mprotect(page + length, length, PROT_NONE) == 0, "no page");
  }
  return page + length - size;
}

/* What the summary must say; a field that nothing is said of must be 0. */
#define FIELDS(X)                                                                                                                \
  X(callbacks) X(events) X(dropped) X(unfinished) X(invisible) X(out_of_step) X(ignored_handles) X(foreign_proxy_ops) X(skipped)   \
  X(unknown_events) X(orphans) X(operations) X(bytes) X(gpu_timed) X(proxy_timed) X(transfers) X(transfer_bytes) X(warnings)
#define DECLARE_FIELD(name) atomic_long name;
static struct { FIELDS(DECLARE_FIELD) } want;

static void *init_of(uint64_t id, const char *name, int nodes, int ranks, int rank, int *mask) {
  void *context = GARBAGE;
  int result;
  if (version->number < 4) result = ((init_v1)table.init)(&context, mask);
  else if (version->number == 4) result = ((init_v4)table.init)(&context, mask, name, id, nodes, ranks, rank, logger);
  else result = ((init_v5)table.init)(&context, id, mask, name, nodes, ranks, rank, logger);
  check(result == 0 && context != NULL && context != GARBAGE, "init: %d, context %p", result, context);
  want.callbacks++;
  return context;
}

/* A communicator of two ranks on one node. */
static inline void *init_as(uint64_t id, const char *name, int rank, int *mask) { return init_of(id, name, 1, 2, rank, mask); }

static inline void *start(void *context, const struct event *event) {
  void *handle = GARBAGE;
  size_t size = descriptor_size(version);
  void *descriptor = at_the_edge(size);
  put_descriptor(event, descriptor, version);
  int result = table.start(context, &handle, descriptor);
  check(result == 0 && handle != GARBAGE, "start of type 0x%llx: %d, handle %p", (unsigned long long)event->type, result, handle);
  want.callbacks++;
  want.events++;
  return handle;
}

static inline void stop(void *handle) {
  check(table.stop(handle) == 0, "stop");
  want.callbacks++;
}

static inline void state(void *handle, int number, uint64_t argument) {
  uint64_t *place = at_the_edge(version->number < 4 ? 16 : 8);
  *place = argument;
  check(table.state(handle, number, place) == 0, "state %d", number);
  want.callbacks++;
}

static inline void state_alone(void *handle, int number) {
  check(table.state(handle, number, NULL) == 0, "state %d", number);
  want.callbacks++;
}

static inline void finalize(void *context) {
  check(table.finalize(context) == 0, "finalize");
  want.callbacks++;
}

/* The machine's own time, also where that of the library and of the GPUs is made. */
static inline long real_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The GPU's clock, near enough to that of the callbacks. */
static inline uint64_t gpu_clock(void) { return 1700000000000000000u + (uint64_t)real_nanoseconds(); }

#endif
