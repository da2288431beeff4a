/* NCCL's side of times by CUDA events: events_host LIBRARY DRIVER VERSION SCENARIO [NUMBER] plays a scenario through one version of the
 * interface, with the stand-in for CUDA's driver (cuda_driver.c) in the process, or without where DRIVER is "none". It prints what the
 * summary must say (works.h); tests/cuda_events and tests/cuda_failures.rs compare. Time is true time (true_time.h), of the host and
 * of the GPUs. */
#define _GNU_SOURCE
#include "anchors.h"
#include "bounds.h"
#include "captures.h"
#include "ends.h"
#include "failures.h"
#include "gpus.h"
#include "graph_events.h"
#include "misuse.h"
#include "timings.h"

#define SCENARIO(name) {#name, name}
static const struct { const char *name; void (*play)(void); } scenarios[] = {
  /* misuse.h */
  SCENARIO(stand_in), SCENARIO(misuse),
  /* timings.h */
  SCENARIO(ring), SCENARIO(tree), SCENARIO(alternating), SCENARIO(sends), SCENARIO(lone_sends), SCENARIO(exchange), SCENARIO(nested_exchange), SCENARIO(all_to_all),
  SCENARIO(silent_broadcasts), SCENARIO(silent_broadcasts_in_long_calls), SCENARIO(silent_broadcast_and_ring), SCENARIO(silent_elsewhere), SCENARIO(silent_together),
  SCENARIO(copy_engine),
  /* gpus.h */
  SCENARIO(idle_and_busy), SCENARIO(busy_from_the_first), SCENARIO(slow_first_launch), SCENARIO(late_return), SCENARIO(blocking_launch),
  SCENARIO(several_gpus),
  SCENARIO(no_context), SCENARIO(drift), SCENARIO(long_job), SCENARIO(nothing), SCENARIO(mixture), SCENARIO(threads),
  /* anchors.h */
  SCENARIO(runs_ahead), SCENARIO(no_own_stream), SCENARIO(own_stream_stays),
  /* captures.h */
  SCENARIO(graphs), SCENARIO(graph_told_of_once), SCENARIO(capture_elsewhere), SCENARIO(capture_here), SCENARIO(host_callbacks),
  /* graph_events.h */
  SCENARIO(graph_replays), SCENARIO(graph_replay_at_the_end), SCENARIO(graphs_of_communicators), SCENARIO(graph_replays_unread),
  SCENARIO(graph_of_two_launches), SCENARIO(graph_with_many_launches), SCENARIO(graph_record_fails), SCENARIO(graph_and_old_driver),
  SCENARIO(graph_and_reset), SCENARIO(graph_replays_alone), SCENARIO(graph_never_over), SCENARIO(graph_read_amidst), SCENARIO(graph_launch_without_end),
  SCENARIO(graph_replays_beside_late_looks),
  /* failures.h */
  SCENARIO(fails), SCENARIO(fails_once), SCENARIO(fails_without_a_name), SCENARIO(unknown_error), SCENARIO(destroy_fails), SCENARIO(never_over),
  SCENARIO(destroyed_never_over), SCENARIO(context_goes), SCENARIO(context_goes_at_the_end), SCENARIO(driver_goes_at_the_end),
  /* bounds.h */
  SCENARIO(pool_exhausted), SCENARIO(few_events), SCENARIO(launches_without_operations), SCENARIO(many_kernels), SCENARIO(starved_collector), SCENARIO(exit_starved), SCENARIO(late_stamps),
  SCENARIO(late_stamps_and_capture), SCENARIO(no_calls), SCENARIO(small_ones),
  /* ends.h */
  SCENARIO(destroyed_amidst), SCENARIO(made_again), SCENARIO(reset_at_the_end),
  SCENARIO(reset_and_again), SCENARIO(reset_and_closed), SCENARIO(closed_unanswered), SCENARIO(reset_amidst), SCENARIO(exit_amidst), SCENARIO(exit_unasked), SCENARIO(exit_unanswered), SCENARIO(exit_in_a_launch),
  SCENARIO(exit_under_threads), SCENARIO(thread_dies), SCENARIO(forked),
};

/* The release that this host says it is, as a linked NCCL would. */
__attribute__((visibility("default"))) int ncclGetVersion(int *release) {
  const char *told = getenv("HOST_RELEASE");
  *release = told ? atoi(told) : 0;
  return told == NULL;
}

/* NCCL's function for log lines: with it the library sees that the word for types, too, is a variable of NCCL's, which it may change. */
static void log_line(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}

int main(int count, char **arguments) {
  size_t all = sizeof scenarios / sizeof *scenarios;
  if (count == 1) {
    for (size_t i = 0; i < all; i++) puts(scenarios[i].name);
    return 0;
  }
  check(count >= 5, "usage: events_host LIBRARY DRIVER VERSION SCENARIO [NUMBER]");
  library_path = arguments[1];
  if (strcmp(arguments[2], "none") != 0) load_driver(arguments[2]);
  take_version(arguments[3]);
  number = count > 5 ? atol(arguments[5]) : 0;
  logger = (void *)log_line;
  load();
  keep_true_time();
  for (size_t i = 0; i < all; i++) {
    if (strcmp(scenarios[i].name, arguments[4]) != 0) continue;
    scenarios[i].play();
    print_figures();
    return 0;
  }
  check(false, "no scenario %s", arguments[4]);
}
