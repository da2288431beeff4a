/* NCCL's tuner interface, v2 to v6, declared here on its own; and the plugin as a host uses it through a version's table. */
#ifndef TUNER_H
#define TUNER_H

#include <stddef.h>
#include <stdint.h>

typedef int (*init_nameless)(size_t ranks, size_t nodes, void *logger, void **context);
typedef int (*init_named)(void **context, uint64_t comm, size_t ranks, size_t nodes, void *logger, void *domains, void *constants);
typedef int (*choose_v2)(void *context, int function, size_t bytes, int network, int nvlink, int pipelined, int *algorithm, int *protocol,
                         int *channels);
typedef int (*choose_v3)(void *context, int function, size_t bytes, int pipelined, float **times, int algorithms, int protocols, int *channels);
typedef int (*choose_v4)(void *context, int function, size_t bytes, int pipelined, float **times, int algorithms, int protocols,
                         int registered, int *channels);
typedef int (*choose_chunk)(void *context, int function, size_t bytes, int algorithm, int protocol, int channels, size_t *size);

/* The last member is v6's. */
struct tuner {
  const char *name;
  void *init;
  void *choose;
  int (*finalize)(void *context);
  choose_chunk chunk;
};

/* NCCL's numbers. */
enum { BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, OTHER_FUNCTION };
enum { TREE, RING, COLLNET_DIRECT, COLLNET_CHAIN, NVLS, NVLS_TREE, PAT, ALGORITHMS };
enum { LL, LL128, SIMPLE, PROTOCOLS };
#define TIMES (ALGORITHMS * PROTOCOLS)

/* What a tuner of the user's has got: its counts, and the arguments of its last calls. */
struct seen {
  int inits, calls, chunks, finalizes;
  uint64_t comm;
  size_t ranks, nodes, bytes;
  void *logger, *domains, *constants, *context, *times, *channels;
  int function, pipelined, algorithms, protocols, registered, network, nvlink, algorithm, protocol, chunk_channels;
};

/* Results of the user's tuner, and the sizes and numbers of ranks that it gives them for. */
enum { FAILED_INIT = 3, FAILED_CHOICE = 5, FAILED_FINALIZE = 4 };
enum { RANKS_OF_FAILED_INIT = 13, RANKS_OF_FAILED_FINALIZE = 11 };
enum { BYTES_TO_CHANGE = 4096, BYTES_TO_FAIL = 8192, CHANGED_CHANNELS = 3 };

#endif
