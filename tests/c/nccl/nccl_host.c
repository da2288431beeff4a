/* Every odd order in which NCCL calls a profiler plugin: nccl_host LIBRARY VERSION SCENARIO [NUMBER] plays one scenario through one
 * version of the interface and prints what the summary must say; tests/conformance.rs runs them all and compares. */
#define _GNU_SOURCE
#include "children.h"
#include "contexts.h"
#include "families.h"
#include "handles.h"
#include "kernels.h"
#include "listeners.h"
#include "network.h"
#include "processes.h"
#include "score_p.h"
#include "settings.h"
#include "threads.h"
#include "types.h"
#include "ways.h"

#define SCENARIO(name) {#name, name}
static const struct { const char *name; void (*play)(void); } scenarios[] = {
  /* contexts.h */
  SCENARIO(null_arguments), SCENARIO(odd_contexts), SCENARIO(ranks), SCENARIO(made_again), SCENARIO(many_communicators), SCENARIO(others),
  /* types.h */
  SCENARIO(every_type), SCENARIO(datatypes), SCENARIO(odd_names), SCENARIO(huge_counts),
  /* handles.h */
  SCENARIO(nothing_before_the_start), SCENARIO(stopped_again), SCENARIO(invented_handles), SCENARIO(every_state),
  SCENARIO(stopped_after_finalize),
  /* children.h */
  SCENARIO(children_in_every_order), SCENARIO(restarted_steps), SCENARIO(many_states), SCENARIO(aborted), SCENARIO(pxn),
  /* families.h */
  SCENARIO(split_share), SCENARIO(shrink_abort), SCENARIO(shrunk_again),
  /* kernels.h */
  SCENARIO(odd_stamps), SCENARIO(early_stamps), SCENARIO(odd_channels), SCENARIO(to_oneself_with_kernel),
  SCENARIO(to_oneself_without_kernel), SCENARIO(invisible_calls), SCENARIO(calls_without_end), SCENARIO(parents_of_others),
  SCENARIO(graph), SCENARIO(copy_engine),
  /* threads.h */
  SCENARIO(finalized_under_threads), SCENARIO(starved_at_the_end), SCENARIO(two_threads), SCENARIO(stopped_by_two), SCENARIO(storm),
  SCENARIO(finalized_while_busy), SCENARIO(last_callbacks), SCENARIO(short_threads), SCENARIO(moved_between_threads), SCENARIO(small_memory),
  /* listeners.h */
  SCENARIO(send_among_many), SCENARIO(send_among_endless), SCENARIO(communicator_among_many), SCENARIO(steps_again),
  SCENARIO(callbacks_at_exit),
  /* network.h */
  SCENARIO(progress_threads), SCENARIO(network_plugins),
  /* settings.h */
  SCENARIO(min_bytes), SCENARIO(masks), SCENARIO(one_mask),
  /* processes.h */
  SCENARIO(forked), SCENARIO(forked_communicator), SCENARIO(forked_under_threads), SCENARIO(forked_before_init), SCENARIO(forked_amidst_init), SCENARIO(cancelled),
  SCENARIO(without_finalize), SCENARIO(exit_under_threads), SCENARIO(exit_of_a_thread), SCENARIO(fault),
  /* ways.h */
  SCENARIO(all_devices), SCENARIO(a_thread_a_device), SCENARIO(one_thread_with_groups), SCENARIO(group_of_collectives),
  /* score_p.h */
  SCENARIO(score_p), SCENARIO(reaped), SCENARIO(counters_at_their_end),
};

int main(int count, char **arguments) {
  size_t all = sizeof scenarios / sizeof *scenarios;
  if (count == 1) {
    for (size_t i = 0; i < all; i++) puts(scenarios[i].name);
    return 0;
  }
  check(count >= 4, "usage: nccl_host LIBRARY VERSION SCENARIO [NUMBER]");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = count > 4 ? atol(arguments[4]) : 0;
  load();
  for (size_t i = 0; i < all; i++) {
    if (strcmp(scenarios[i].name, arguments[3]) != 0) continue;
    scenarios[i].play();
    print_wanted();
    return 0;
  }
  check(false, "no scenario %s", arguments[3]);
}
