/* What may befall a job that is measured, and what it does: harm_host LIBRARY VERSION SCENARIO [NUMBER [WORD]...] plays one scenario
 * through one version of the interface and ends with status 3. It prints what the summary must say as nccl_host does, and besides
 *
 *   least FIELD VALUE, most FIELD VALUE   bounds of a figure that is not known exactly
 *   any figures                           nothing is known of them
 *   failed NAME                           the call that was made to fail, or none
 *
 * tests/harm runs them all, and without arguments the host lists them. */
/* timers for a thread, and what files of any size take */
#define _GNU_SOURCE
#include "disks.h"
#include "ends.h"
#include "file_systems.h"
#include "forks.h"
#include "limits.h"
#include "logs.h"
#include "other_user.h"
#include "signals.h"
#include "stacks.h"
#include "system_calls.h"
#include "wild_clocks.h"

#define SCENARIO(name) {#name, name}
static const struct { const char *name; void (*play)(void); } scenarios[] = {
  /* signals.h */
  SCENARIO(interrupted), SCENARIO(interrupted_by_callbacks),
  /* forks.h */
  SCENARIO(forked_amid_recording), SCENARIO(forked_in_a_handler), SCENARIO(forked_in_silence),
  /* logs.h */
  SCENARIO(logged_by_a_thread_that_ends), SCENARIO(logged_by_one_that_begins_again),
  /* stacks.h */
  SCENARIO(small_stacks), SCENARIO(begun_on_a_small_stack),
  /* limits.h */
  SCENARIO(limited), SCENARIO(locked),
  /* system_calls.h */
  SCENARIO(refused), SCENARIO(refusable_calls), SCENARIO(interrupted_for_ever),
  /* disks.h */
  SCENARIO(failing),
  /* file_systems.h */
  SCENARIO(left_to_own_threads), SCENARIO(file_system_that_never_answers), SCENARIO(descriptors_taken), SCENARIO(standard_streams_closed), SCENARIO(descriptors_closed_again_and_again), SCENARIO(removed), SCENARIO(moved_to_another_root),
  /* ends.h */
  SCENARIO(main_thread_that_ends_first), SCENARIO(left_within_the_loader), SCENARIO(ended_in_a_crowd), SCENARIO(ended_within_an_init),
  /* wild_clocks.h */
  SCENARIO(wild_system), SCENARIO(wild_score_p),
  /* other_user.h */
  SCENARIO(attack),
};

int main(int count, char **arguments) {
  size_t all = sizeof scenarios / sizeof *scenarios;
  if (count == 1) {
    for (size_t i = 0; i < all; i++) puts(scenarios[i].name);
    return 0;
  }
  check(count >= 4, "usage: harm_host LIBRARY VERSION SCENARIO [NUMBER [WORD]...]");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = count > 4 ? atol(arguments[4]) : 0;
  for (int i = 5; i < count && i < 7; i++) words[i - 5] = arguments[i];
  load();
  for (size_t i = 0; i < all; i++) {
    if (strcmp(scenarios[i].name, arguments[3]) != 0) continue;
    scenarios[i].play();
    print_wanted();
    return 3;
  }
  check(false, "no scenario %s", arguments[3]);
}
