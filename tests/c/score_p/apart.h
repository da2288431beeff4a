/* Eight ranks without MPI, as torchrun starts them: each process is a job of its own for Score-P. */
#ifndef APART_H
#define APART_H

#include "gather.h"

/* Two nodes of four ranks. The nodes' clocks began years apart and drift; each rank has a GPU with a clock of its own. */
static void settle_apart(void) {
  static const struct clock clocks[] = {{1e9, 3, 5e9}, {1e9, -20, 77e12}};
  int rank = rank_of_job, node = rank / 4;
  setenv("NCCL_HOSTID", node ? "node-b" : "node-a", 1);
  score_p_clock = clocks[node];
  gpu = (struct gpu){rank % 3 * 5, (rank - 4) * 700000, 1, false};
  nodes_of_communicator = 2;
  char text[4096];
  snprintf(text, sizeof text, "%d", rank);
  setenv("RANK", text, 1);
  setenv("WORLD_SIZE", "8", 1);
  snprintf(text, sizeof text, "%s.rank%d", getenv("SCOREP_EXPERIMENT_DIRECTORY"), rank);
  setenv("SCOREP_EXPERIMENT_DIRECTORY", text, 1);
  rank_of_job = 0, ranks_of_job = 1;
}

/* NUMBER all-reduces of all ranks, 20 ms apart, and a tenth as many of each node's ranks. Of the former, `late_rank` begins every tenth
 * one 3 ms late; all others begin within 2 us. All ranks end 100 us after the last one has begun. */
static void reduce_apart(int late_rank) {
  int rank = rank_of_job;
  settle_apart();
  begin();
  struct communicator world = communicator(0xfeed, rank, 8);
  nodes_of_communicator = 1;
  struct communicator node = communicator(0xbeef00 + (uint64_t)(rank / 4), rank % 4, 4);
  for (uint64_t i = 0; i < (uint64_t)number; i++) {
    uint64_t at = 200 * SECONDS + i * 20 * MILLISECONDS, late = late_rank >= 0 && i % 10 == 0 ? 3 * MILLISECONDS : 0;
    add(called_all_reduce(&world, 10000, at + chance(2000) + (rank == late_rank ? late : 0), at + late + 100 * MICROSECONDS));
    at += 10 * MILLISECONDS;
    if (i % 10 == 0) add(called_all_reduce(&node, 20000, at + chance(2000), at + 100 * MICROSECONDS));
  }
  play();
  advance_to(now() + SECONDS);
  finalize(world.context);
  finalize(node.context);
}

static void apart_late(void) { reduce_apart(5); }
static void apart_even(void) { reduce_apart(-1); }

#endif
