/* Clocks that go backwards, jump or stand still: the system's, and Score-P's. */
#ifndef WILD_CLOCKS_H
#define WILD_CLOCKS_H

#include "../score_p/metric_plugin.h"
#include "moments.h"
#include <sys/syscall.h>

/* How the system's clocks are bent. CLOCK_MONOTONIC is never ahead of the kernel's, by which waits end. */
static const char *bend = "";
static _Thread_local uint64_t dice = 88172645463325252u;

static uint64_t throw(void) {
  dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
  return dice;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = (int)syscall(SYS_clock_gettime, clock, time);
  if (result != 0 || !*bend) return result;
  if (strcmp(bend, "behind") == 0) time->tv_sec -= (time_t)(throw() % 3600);
  if (strcmp(bend, "negative") == 0 && clock != CLOCK_MONOTONIC) time->tv_sec = -(time_t)(throw() % 4000000000), time->tv_nsec = 0;
  if (strcmp(bend, "far") == 0 && clock != CLOCK_MONOTONIC) time->tv_sec = INT64_MAX - (time_t)(throw() % 2), time->tv_nsec = 999999999;
  if (strcmp(bend, "anything") == 0) time->tv_sec = (time_t)(throw() >> (1 + throw() % 63)), time->tv_nsec = (long)(throw() % 1000000000);
  return 0;
}

/* Score-P's clock, which counts nanoseconds until it goes wild. */
static const char *score_p_goes;
static atomic_ulong readings;

static uint64_t score_p_ticks(void) {
  uint64_t reading = ++readings, good = gpu_clock();
  if (reading < 1000) return good;
  if (strcmp(score_p_goes, "backwards") == 0) return good - (reading - 1000) * 1000000;
  if (strcmp(score_p_goes, "still") == 0) return 1700000000000000000u;
  if (strcmp(score_p_goes, "zero") == 0) return 0;
  if (strcmp(score_p_goes, "anything") == 0) return throw();
  if (strcmp(score_p_goes, "signed") == 0) return (uint64_t)INT64_MAX - 500 + reading % 1000;
  if (strcmp(score_p_goes, "wrapping") == 0) return UINT64_MAX - 500 + reading % 1000;
  if (strcmp(score_p_goes, "jumping") == 0) return good + reading / 100 % 2 * 3600000000000u;
  return good;
}

static void bend_clocks(void) { bend = words[0]; }
static void straighten_clocks(void) { bend = ""; }

/* wild_system MOMENT behind|negative|far|not */
static void wild_system(void) {
  record_with(bend_clocks, straighten_clocks);
  /* stamps of the GPU need not fit such a clock */
  if (strcmp(words[0], "not") != 0) want.out_of_step = ANY;
  if (strcmp(words[0], "behind") != 0) return;
  /* events may be given up by such a clock, and are counted then */
  printf("any figures\nleast operations %ld\nmost operations %ld\n", want.operations, want.operations);
}

/* wild_score_p 0 backwards|still|zero|anything|signed|wrapping|jumping */
static void wild_score_p(void) {
  score_p_goes = words[0];
  struct metric_plugin plugin = metric_plugin("nccl_plugin");
  plugin.set_clock_function(score_p_ticks);
  check(plugin.initialize() == 0, "initialize");
  plugin.synchronize(true, 0);
  operate_often(init());
  void *context = init_as(0xcd, NULL, 0, &mask_given);
  operate_often(context);
  finalize(context);
  plugin.synchronize(true, 2);
  plugin.finalize();
  account();
  /* the GPU's stamps do not fit such a clock */
  want.out_of_step = ANY;
}

#endif
