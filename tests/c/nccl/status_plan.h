/* Orders of status_host.c for operations whose times on the GPU are planned: they are enqueued at once, and `run` has the GPU begin and
 * end them.
 *
 *   timed COMM COUNT BEGIN LENGTH PERIOD   so many all-reduces; times are nanoseconds after `run`
 *   at KEY BEGIN LENGTH                    an operation that was started
 *   run                                    returns when all of them have ended
 */
#ifndef STATUS_PLAN_H
#define STATUS_PLAN_H

#include "operations.h"

enum { MOST_PLANNED = 8192 };
static struct planned { uint64_t begin, end; void *context, *operation; } planned[MOST_PLANNED];
static int planned_count;

static void plan(void *context, void *operation, uint64_t begin, uint64_t length) {
  check(planned_count < MOST_PLANNED, "too many operations are planned");
  planned[planned_count++] = (struct planned){begin, begin + length, context, operation};
}

static int by_end(const void *one, const void *other) {
  uint64_t ends[2] = {((const struct planned *)one)->end, ((const struct planned *)other)->end};
  return (ends[0] > ends[1]) - (ends[0] < ends[1]);
}

/* The library hears of no stamp before its time, and of no call after its operation's begin. */
static void run_plan(void) {
  qsort(planned, (size_t)planned_count, sizeof *planned, by_end);
  long now = real_nanoseconds();
  uint64_t gpu = gpu_clock();
  for (int i = 0; i < planned_count; i++) {
    struct planned one = planned[i];
    struct timespec end = {(now + (long)one.end) / 1000000000, (now + (long)one.end) % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
    struct event event = a_kernel(one.operation, 0);
    event.ptimer = gpu + one.begin;
    void *kernel = start(one.context, &event);
    state(kernel, KERNEL_CH_STOP, gpu + one.end);
    stop(kernel);
  }
  planned_count = 0;
}

#endif
