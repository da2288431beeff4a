/* A profiler plugin as others write them, for the tests of a chain: compiled for interface v4, v6 and v7 (VERSION). It counts the
 * callbacks by type, checks that the contexts, handles and parents it gets are its own, and writes its counts as JSON to the file
 * named by SECOND_PLUGIN_REPORT when its host exits. SECOND_PLUGIN_MASK is the event types it asks for; SECOND_PLUGIN_FAIL makes it
 * fail: init, context (NULL), start (NULL handles), error (from every start). The structures are declared here in C, as NCCL's
 * plugin interface has them, as far as they are looked at. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPES 16
enum { GROUP = 0, COLL = 1, P2P = 2, PROXY_OP = 3, PROXY_STEP = 4, KERNEL_CH = 6, GROUP_API = 8, COLL_API = 9, P2P_API = 10, KERNEL_PHASE = 15 };

struct descriptor {
#if VERSION == 4
  uint8_t type;
#else
  uint64_t type;
#endif
  void *parent;
  int rank;
  union {
    struct {
      uint64_t sequence;
      const char *func;
      const void *send;
      void *receive;
      size_t count;
      int root;
      const char *datatype;
      uint8_t channels, warps;
      const char *algorithm, *protocol;
      void *group; /* since v5 */
    } coll;
    struct {
      const char *func;
      void *buffer;
      const char *datatype;
      size_t count;
      int peer;
      uint8_t channels;
      void *group; /* since v5 */
    } p2p;
  } payload;
};

struct context {
  uint64_t magic;
  int ended;
};

struct event {
  uint64_t magic;
  struct context *context;
  unsigned type;
  int stopped;
};

#define CONTEXT UINT64_C(0x636f6e74657874)
#define EVENT UINT64_C(0x6576656e74)

static uint64_t inits, finalizes, starts[TYPES], stops, states, parents, groups, elements, wrong;

static void add(uint64_t *counter, uint64_t amount) { __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED); }

static void check(int right) { add(&wrong, !right); }

static int fails(const char *how) {
  const char *wanted = getenv("SECOND_PLUGIN_FAIL");
  return wanted != NULL && strcmp(wanted, how) == 0;
}

static int introduce(void **context, int *mask, int nodes, int ranks, int rank) {
  const char *wanted = getenv("SECOND_PLUGIN_MASK");
  add(&inits, 1);
  check(nodes > 0 && ranks > 0 && rank >= 0 && rank < ranks);
  *mask = wanted ? atoi(wanted) : 4095;
  if (fails("init"))
    return 3;
  if (fails("context"))
    return 0;
  struct context *new = calloc(1, sizeof *new);
  new->magic = CONTEXT;
  *context = new;
  return 0;
}

#if VERSION == 4
static int init(void **context, int *mask, const char *name, uint64_t id, int nodes, int ranks, int rank, void *logger) {
#else
static int init(void **context, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank, void *logger) {
#endif
  (void)logger;
  check(id != 0 && (name == NULL || strlen(name) < 256));
  return introduce(context, mask, nodes, ranks, rank);
}

/* Which parents an event may have in this version. */
static int fits(unsigned type, unsigned parent) {
  switch (type) {
  case COLL: return parent == (VERSION == 4 ? GROUP : COLL_API);
  case P2P: return parent == (VERSION == 4 ? GROUP : P2P_API);
  case PROXY_OP:
  case KERNEL_CH: return parent == COLL || parent == P2P;
  case PROXY_STEP: return parent == PROXY_OP;
  case KERNEL_PHASE: return parent == KERNEL_CH;
  default: return parent == GROUP_API;
  }
}

/* The group of an operation: up to v4 that is its parent. */
static void check_group(struct event *group) {
  if (VERSION == 4 || group == NULL)
    return;
  check(group->magic == EVENT && group->type == GROUP);
  add(&groups, 1);
}

static int start(void *context, void **handle, struct descriptor *descriptor) {
  struct context *own = context;
  check(own != NULL && own->magic == CONTEXT && !own->ended);
  unsigned type = (unsigned)__builtin_ctzll(descriptor->type);
  check(descriptor->type != 0 && type < (VERSION == 4 ? 8 : TYPES));
  add(&starts[type % TYPES], 1);
  if (fails("error")) {
    *handle = (void *)(uintptr_t)0xdead;
    return 3;
  }
  struct event *parent = descriptor->parent;
  if (parent != NULL) {
    check(parent->magic == EVENT && fits(type, parent->type));
    add(&parents, 1);
  }
  if (type == COLL) {
    check(descriptor->payload.coll.func == NULL || strlen(descriptor->payload.coll.func) < 64);
    add(&elements, descriptor->payload.coll.count);
    check_group(descriptor->payload.coll.group);
  } else if (type == P2P) {
    check(descriptor->payload.p2p.func == NULL || strlen(descriptor->payload.p2p.func) < 64);
    add(&elements, descriptor->payload.p2p.count);
    check_group(descriptor->payload.p2p.group);
  }
  *handle = NULL;
  if (fails("start"))
    return 0;
  struct event *event = calloc(1, sizeof *event);
  *event = (struct event){EVENT, own, type, 0};
  *handle = event;
  return 0;
}

static int stop(void *handle) {
  struct event *event = handle;
  add(&stops, 1);
  check(event != NULL && event->magic == EVENT && !event->context->ended);
  check(event != NULL && !__atomic_exchange_n(&event->stopped, 1, __ATOMIC_RELAXED));
  return 0;
}

static int state(void *handle, int number, uint64_t *arguments) {
  struct event *event = handle;
  add(&states, 1);
  check(event != NULL && event->magic == EVENT && !event->stopped && !event->context->ended);
  check(number >= 0 && number < 32 && (number != 22 || arguments == NULL || *arguments != 0));
  return 0;
}

static int finalize(void *context) {
  struct context *own = context;
  add(&finalizes, 1);
  check(own != NULL && own->magic == CONTEXT && !own->ended);
  own->ended = 1;
  return 0;
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("SECOND_PLUGIN_REPORT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file == NULL)
    return;
  fprintf(file, "{\"init\":%lu,\"finalize\":%lu,\"stop\":%lu,\"state\":%lu,\"parents\":%lu,\"groups\":%lu,\"elements\":%lu,\"wrong\":%lu,\"start\":[",
          inits, finalizes, stops, states, parents, groups, elements, wrong);
  for (int type = 0; type < TYPES; type++)
    fprintf(file, "%s%lu", type ? "," : "", starts[type]);
  fprintf(file, "]}\n");
  fclose(file);
}

#define CAT(a, b) a##b
#define NAME(version) CAT(ncclProfiler_v, version)
__attribute__((visibility("default"))) const struct {
  const char *name;
  void *init, *start, *stop, *state, *finalize;
} NAME(VERSION) = {"second", init, start, stop, state, finalize};
