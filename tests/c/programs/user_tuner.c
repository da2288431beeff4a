/* A tuner as users have it, compiled for the interface v2 to v6 (VERSION; v6 without a function for chunks with NO_CHUNKS). It shows what
 * it gets in `user_tuner_seen`. For some sizes it changes NCCL's choice to TREE with SIMPLE on three channels, or changes and fails. */
#include "../nccl/tuner.h"
#include <stdlib.h>

__attribute__((visibility("default"))) struct seen user_tuner_seen;
#define seen user_tuner_seen

struct context { size_t ranks; };

static int begin(void **context, size_t ranks, size_t nodes, void *logger) {
  seen.inits++;
  seen.ranks = ranks, seen.nodes = nodes, seen.logger = logger;
  struct context *new = malloc(sizeof *new);
  new->ranks = ranks;
  *context = seen.context = new;
  return ranks == RANKS_OF_FAILED_INIT ? FAILED_INIT : 0;
}

#if VERSION >= 5
static int init(void **context, uint64_t comm, size_t ranks, size_t nodes, void *logger, void *domains, void *constants) {
  seen.comm = comm, seen.domains = domains, seen.constants = constants;
  return begin(context, ranks, nodes, logger);
}
#else
static int init(size_t ranks, size_t nodes, void *logger, void **context) { return begin(context, ranks, nodes, logger); }
#endif

static int called(void *context, int function, size_t bytes, int pipelined, int *channels) {
  seen.calls++;
  seen.context = context, seen.function = function, seen.bytes = bytes, seen.pipelined = pipelined, seen.channels = channels;
  if (bytes == BYTES_TO_CHANGE || bytes == BYTES_TO_FAIL) *channels = CHANGED_CHANNELS;
  return bytes == BYTES_TO_FAIL ? FAILED_CHOICE : 0;
}

#if VERSION == 2
static int choose(void *context, int function, size_t bytes, int network, int nvlink, int pipelined, int *algorithm, int *protocol,
                  int *channels) {
  seen.network = network, seen.nvlink = nvlink;
  if (bytes == BYTES_TO_CHANGE || bytes == BYTES_TO_FAIL) *algorithm = TREE, *protocol = SIMPLE;
  return called(context, function, bytes, pipelined, channels);
}
#else
static int choose_of(void *context, int function, size_t bytes, int pipelined, float **times, int algorithms, int protocols, int *channels) {
  seen.times = times, seen.algorithms = algorithms, seen.protocols = protocols;
  if (bytes == BYTES_TO_CHANGE || bytes == BYTES_TO_FAIL) ((float *)times)[TREE * protocols + SIMPLE] = 0;
  return called(context, function, bytes, pipelined, channels);
}
#if VERSION == 3
static int choose(void *context, int function, size_t bytes, int pipelined, float **times, int algorithms, int protocols, int *channels) {
  return choose_of(context, function, bytes, pipelined, times, algorithms, protocols, channels);
}
#else
static int choose(void *context, int function, size_t bytes, int pipelined, float **times, int algorithms, int protocols, int registered,
                  int *channels) {
  seen.registered = registered;
  return choose_of(context, function, bytes, pipelined, times, algorithms, protocols, channels);
}
#endif
#endif

static int finalize(void *context) {
  struct context *own = context;
  seen.finalizes++;
  seen.context = context;
  int result = own->ranks == RANKS_OF_FAILED_FINALIZE ? FAILED_FINALIZE : 0;
  free(own);
  return result;
}

#if VERSION >= 6 && !defined NO_CHUNKS
static int chunk(void *context, int function, size_t bytes, int algorithm, int protocol, int channels, size_t *size) {
  seen.chunks++;
  seen.context = context, seen.function = function, seen.bytes = bytes;
  seen.algorithm = algorithm, seen.protocol = protocol, seen.chunk_channels = channels;
  *size /= 2;
  return bytes == BYTES_TO_FAIL ? FAILED_CHOICE : 0;
}
#else
#define chunk NULL
#endif

#define CAT(a, b) a##b
#define NAME(version) CAT(ncclTunerPlugin_v, version)
__attribute__((visibility("default"))) const struct tuner NAME(VERSION) = {"user", init, choose, finalize, chunk};
