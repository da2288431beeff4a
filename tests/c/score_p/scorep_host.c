/* Score-P's side and NCCL's in one job: scorep_host MEASUREMENT VERSION SCENARIO [NUMBER] plays a scenario in as many processes as it
 * has, beside the stand-in for Score-P's measurement library (MEASUREMENT, or - where there is none), through a version of NCCL's
 * interface. The library is loaded under the names that users give it, from LD_LIBRARY_PATH, and Score-P's variables in the environment
 * say what with. Without arguments it lists the scenarios.
 *
 * Each line is that of a process behind its rank and a tab, on standard output or standard error; fields are separated by tabs. What
 * the stand-in has recorded comes as scorep_measurement.c says. Besides:
 *
 *   truth COMM RANK FUNC PEER SEQUENCE BYTES TIMING BEGIN END   an operation, with the ticks that the lanes must show
 *   value THREAD COUNTER VALUE                                  a strictly synchronous counter at its end
 *   series METRIC TIME VALUE                                    a value of an asynchronous one
 *   opened COMM TIME, closed COMM TIME                          when NCCL has made a communicator, and destroyed it
 *   end TIME                                                    the end of the measurement
 *   ended STATUS, killed SIGNAL, hangs                          how the process has ended
 */
#define _GNU_SOURCE
/* operations.h has more than is used here */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "apart.h"
#include "clocks.h"
#include "gather.h"
#include "host_regions.h"
#include "lanes.h"
#include "series.h"
#include "wrong.h"

#define SCENARIO(name, ranks) {#name, name, ranks}
static const struct scenario { const char *name; void (*play)(void); int ranks; } scenarios[] = {
  /* lanes.h */
  SCENARIO(lanes, 1), SCENARIO(two_gpus, 1), SCENARIO(many, 1), SCENARIO(communicators, 1), SCENARIO(pairs, 1), SCENARIO(pairs_of_one_size, 1), SCENARIO(exit_amidst, 1),
  SCENARIO(exit_of_a_thread, 1),  SCENARIO(recording_off, 1), SCENARIO(recording_off_and_on, 1), SCENARIO(nothing, 1),
  /* clocks.h */
  SCENARIO(clock_offset, 1), SCENARIO(clock_drift, 1), SCENARIO(clock_coarse, 1), SCENARIO(clock_counts, 1),
  /* host_regions.h */
  SCENARIO(host_regions, 1), SCENARIO(nested_groups, 1),
  /* series.h */
  SCENARIO(windows, 1),
  /* gather.h */
  SCENARIO(gather_all, 4), SCENARIO(gather_missing, 4), SCENARIO(gather_first_missing, 4), SCENARIO(gather_idle, 3), SCENARIO(gather_much, 4), SCENARIO(gather_invented, 1),
  /* apart.h */
  SCENARIO(apart_late, 8), SCENARIO(apart_even, 8),
  /* wrong.h */
  SCENARIO(wrong, 1), SCENARIO(own_lanes, 1), SCENARIO(between, 4),
};

int main(int count, char **arguments) {
  size_t all = sizeof scenarios / sizeof *scenarios;
  if (count == 1) {
    for (size_t i = 0; i < all; i++) puts(scenarios[i].name);
    return 0;
  }
  check(count >= 4, "usage: scorep_host MEASUREMENT VERSION SCENARIO [NUMBER]");
  measurement_path = strcmp(arguments[1], "-") == 0 ? NULL : arguments[1];
  take_version(arguments[2]);
  number = count > 4 ? atol(arguments[4]) : 0;
  for (size_t i = 0; i < all; i++)
    if (strcmp(scenarios[i].name, arguments[3]) == 0) return !run_job(scenarios[i].ranks, scenarios[i].play);
  check(false, "no scenario %s", arguments[3]);
}
