/* Jobs of several processes: what all of them bring together, and what becomes of it where one is missing. */
#ifndef GATHER_H
#define GATHER_H

#include "lanes.h"
#include <sys/resource.h>

/* Two ranks a node, whose clocks began years apart and drift; each rank has a GPU with a clock of its own. */
static void settle_on_nodes(void) {
  static const struct clock clocks[] = {{1e9, 3, 5e9}, {1e9, -20, 77e12}};
  static const struct gpu gpus[] = {{10, 2000000, 1, false}, {-10, -900000, 1, false}, {5, 500000, 1, false}, {0, -2000000, 1, false}};
  int node = rank_of_job / 2;
  setenv("NCCL_HOSTID", node ? "node-b" : "node-a", 1);
  score_p_clock = clocks[node];
  gpu = gpus[rank_of_job];
  nodes_of_communicator = 2;
}

/* An all-reduce with its call of the API, before which its kernel cannot begin. */
static struct operation called_all_reduce(struct communicator *of, size_t count, uint64_t begin, uint64_t end) {
  struct operation operation = all_reduce(of, count, begin, end);
  operation.calls = true;
  return operation;
}

/* How late ranks 0 to 3 begin, microseconds: in the first communicator by a lot, in the others by less than can be known. */
static void work_together(void) {
  struct communicator world = communicator(0xfeed, rank_of_job, 4);
  struct communicator half = communicator(rank_of_job % 2 ? 0xbeef : 0xd00d, rank_of_job / 2, 2);
  const uint64_t from = 200 * SECONDS;
  for (uint64_t i = 0; i < 200; i++) {
    uint64_t at = from + i * 20 * MILLISECONDS, late = rank_of_job == 2 ? 3 * MILLISECONDS : 0;
    add(called_all_reduce(&world, 10000, at + late, at + 4 * MILLISECONDS));
    at += 10 * MILLISECONDS, late = rank_of_job == 3 ? 200 : 0;
    add(called_all_reduce(&half, 20000, at + late, at + 2 * MILLISECONDS));
  }
  play();
  advance_to(210 * SECONDS);
  finalize(world.context);
  finalize(half.context);
}

static void gather_all(void) {
  settle_on_nodes();
  begin();
  work_together();
}

/* The last rank has no substrate plugin. */
static void gather_missing(void) {
  if (rank_of_job == ranks_of_job - 1) unsetenv("SCOREP_SUBSTRATE_PLUGINS");
  gather_all();
}

/* The first one has none: nobody can write for all. */
static void gather_first_missing(void) {
  if (rank_of_job == 0) unsetenv("SCOREP_SUBSTRATE_PLUGINS");
  gather_all();
}

/* The first of three ranks does not use NCCL; of the others, the second is 3 ms late. Clocks do not count nanoseconds. */
static void gather_idle(void) {
  settle_on_nodes();
  score_p_clock.rate = 2.6e9;
  begin();
  if (rank_of_job == 0) return;
  struct communicator of = communicator(0xfeed, rank_of_job - 1, 2);
  for (uint64_t i = 0; i < 20; i++) {
    uint64_t at = 200 * SECONDS + i * 20 * MILLISECONDS, late = rank_of_job == 2 ? 3 * MILLISECONDS : 0;
    add(called_all_reduce(&of, 10000, at + late, at + 4 * MILLISECONDS));
  }
  play();
  finalize(of.context);
}

/* NUMBER communicators a rank: more than is gathered. */
static void gather_much(void) {
  settle_on_nodes();
  begin();
  for (long i = 0; i < number; i++) {
    struct communicator of = communicator(0x10000 + (uint64_t)i, rank_of_job, 4);
    uint64_t from = 200 * SECONDS + (uint64_t)i * 10 * MILLISECONDS;
    for (uint64_t j = 0; j < 5; j++) add(all_reduce(&of, 10000, from + j * MILLISECONDS, from + j * MILLISECONDS + 500 * MICROSECONDS));
    play();
    finalize(of.context);
  }
}

/* One rank of so many that no machine has them (NUMBER), in a process that may take 1 GiB. */
static void gather_invented(void) {
  struct rlimit limit = {1 << 30, 1 << 30};
  check(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  begin();
  struct communicator of = communicator(0xfeed, 0, (int)number);
  add(all_reduce(&of, 10000, 200 * SECONDS, 200 * SECONDS + MILLISECONDS));
  play();
  finalize(of.context);
}

#endif
