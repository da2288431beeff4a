/* The least that an NCCL profiler plugin can do, interface v5: it asks for the event types in EMPTY_PLUGIN_MASK
 * (default: calls of the API and operations) and does nothing when it is called. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { OPERATIONS = 1 | 2 | 4, CALLS = 256 | 512 | 1024 };

static int init(void **context, uint64_t communicator, int *mask, const char *name, int nodes, int ranks, int rank,
                void *logger) {
  (void)communicator, (void)name, (void)nodes, (void)ranks, (void)rank, (void)logger;
  static int own;
  const char *wanted = getenv("EMPTY_PLUGIN_MASK");
  *mask = wanted ? atoi(wanted) : OPERATIONS | CALLS;
  *context = &own;
  return 0;
}

static int start_event(void *context, void **handle, void *descriptor) {
  (void)context, (void)descriptor;
  *handle = NULL;
  return 0;
}

static int stop_event(void *handle) {
  (void)handle;
  return 0;
}

static int record_event_state(void *handle, int state, void *arguments) {
  (void)handle, (void)state, (void)arguments;
  return 0;
}

static int finalize(void *context) {
  (void)context;
  return 0;
}

struct plugin {
  const char *name;
  int (*init)(void **, uint64_t, int *, const char *, int, int, int, void *);
  int (*start_event)(void *, void **, void *);
  int (*stop_event)(void *);
  int (*record_event_state)(void *, int, void *);
  int (*finalize)(void *);
};

__attribute__((visibility("default"))) const struct plugin ncclProfiler_v5 = {
  "empty", init, start_event, stop_event, record_event_state, finalize};
