/* A job that lasts, in real time or in time that the host makes: lasting_host LIBRARY VERSION SECONDS EVENTS real|made.
 *
 * EVENTS events a second, in all-reduces over the network: calls, launches, kernels, proxy operations and steps. With
 * `made`, a second is over as soon as its events are, and Score-P's clock, the GPU's and CLOCK_MONOTONIC_RAW show the
 * time that the job has made. A short communicator is made and destroyed at every 24th part of the job, as in a job
 * whose ranks change.
 *
 * A line `at SECONDS EVENTS KIB THREADS DESCRIPTORS` at every 24th part, and each minute of real time; then
 * `expect FIELD NUMBER`. */
/* operations.h and footprint.h have more than is used here */
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../score_p/metric_plugin.h"
#include "footprint.h"
#include "operations.h"
#include <sys/syscall.h>

#define SECOND 1000000000ul

/* Most events that are made before the library has taken them in: no collector is as fast as time that is made. */
enum { AT_ONCE = 5000 };

enum { PARTS = 24, CHANNELS = 2, STEPS = 2, EVENTS_OF_AN_OPERATION = 4 + CHANNELS + 2 + 2 * STEPS };

/* The time of the job, in nanoseconds since its begin; stands still in real time. */
static atomic_ulong passed;
static bool is_made;

static uint64_t made_time(void) { return 100 * SECOND + passed; }

/* The program is linked with -rdynamic: this comes before the system's. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  if (!is_made || clock != CLOCK_MONOTONIC_RAW) return (int)syscall(SYS_clock_gettime, clock, time);
  *time = (struct timespec){(time_t)(made_time() / SECOND), (long)(made_time() % SECOND)};
  return 0;
}

static void pass(uint64_t nanoseconds) {
  if (is_made) passed += nanoseconds;
}

static uint64_t gpu_time(void) { return is_made ? 1700000000000000000u + made_time() : gpu_clock(); }

/* Descriptors, without the directory's own. */
static long descriptors(void) {
  DIR *directory = opendir("/proc/self/fd");
  check(directory != NULL, "no /proc/self/fd");
  long found = -1;
  for (struct dirent *entry; (entry = readdir(directory));) found += entry->d_name[0] != '.';
  closedir(directory);
  return found;
}

static void mark(uint64_t seconds) {
  flush();
  printf("at %lu %ld %ld %ld %ld\n", seconds, (long)want.events, anonymous_kib(), threads(), descriptors());
  fflush(stdout);
}

/* A send or a receive of the operation, 10 us in all. */
static void proxy(void *context, void *operation, bool send) {
  struct event event = a_proxy_op(operation);
  event.send = send, event.steps = STEPS;
  void *proxy = start(context, &event);
  for (int number = 0; number < STEPS; number++) {
    event = a_step(proxy, number);
    void *step = start(context, &event);
    state(step, send ? SEND_GPU_WAIT : RECV_WAIT, 0);
    pass(2000);
    state(step, send ? SEND_PEER_WAIT : RECV_FLUSH_WAIT, 4096);
    pass(1000);
    state(step, send ? SEND_WAIT : RECV_GPU_WAIT, 4096);
    pass(2000);
    stop(step);
    if (send) sent(4096);
  }
  stop(proxy);
}

/* An all-reduce as NCCL enqueues it, and its children: `EVENTS_OF_AN_OPERATION` events. */
static void all_reduce(void *context) {
  struct event event = {.type = GROUP_API, .rank = rank_of_this_process};
  void *group = start(context, &event), *kernels[CHANNELS];
  state_alone(group, GROUP_START_RETURNS);
  event = a_call(COLL_API, "AllReduce", false), event.parent = group;
  void *call = start(context, &event);
  stop(call);
  state_alone(group, GROUP_END_BEGINS);
  event = (struct event){.type = KERNEL_LAUNCH, .parent = group, .rank = rank_of_this_process};
  stop(start(context, &event));
  event = a_coll(), event.parent = call, event.channels = CHANNELS;
  void *operation = enqueue(context, event, 4096);
  stop(group);
  pass(3000);
  for (uint8_t channel = 0; channel < CHANNELS; channel++) {
    event = a_kernel(operation, channel), event.ptimer = gpu_time();
    kernels[channel] = start(context, &event);
  }
  proxy(context, operation, true);
  proxy(context, operation, false);
  for (int channel = 0; channel < CHANNELS; channel++) {
    state(kernels[channel], KERNEL_CH_STOP, gpu_time());
    stop(kernels[channel]);
  }
  timed(true, true);
}

static void short_communicator(int number) {
  void *context = init_as(0xcd00 + (uint64_t)number, "short", rank_of_this_process, &mask_given);
  for (int i = 0; i < 10; i++) all_reduce(context);
  finalize(context);
}

/* A second of the job, in hundredths: real ones are slept through to their end. */
static void second(void *context, long operations, long begun) {
  uint64_t end = passed + SECOND;
  for (long made = 0, hundredth = 1; hundredth <= 100; hundredth++) {
    for (; made < operations * hundredth / 100; made++) {
      all_reduce(context);
      if (is_made && passed + SECOND / (uint64_t)operations < end) pass(SECOND / (uint64_t)operations / 2);
    }
    long left = begun + hundredth * (long)SECOND / 100 - real_nanoseconds();
    if (!is_made && left > 0) nanosleep(&(struct timespec){0, left % (long)SECOND}, NULL);
  }
  if (is_made && passed < end) passed = end;
}

int main(int count, char **arguments) {
  check(count == 6, "usage: lasting_host LIBRARY VERSION SECONDS EVENTS real|made");
  library_path = arguments[1];
  take_version(arguments[2]);
  check(version->api, "version %d has no calls of the API", version->number);
  long seconds = atol(arguments[3]), operations = atol(arguments[4]) / EVENTS_OF_AN_OPERATION;
  check(seconds >= PARTS && operations > 0, "too short, or too few events");
  is_made = strcmp(arguments[5], "made") == 0;
  load();
  /* Score-P's clock alone: without a measurement, no timeline of operations is kept for it */
  if (is_made) metric_plugin("nccl_plugin").set_clock_function(made_time);
  void *context = init();
  long begun = real_nanoseconds(), taken_in = 0;
  for (long number = 1; number <= seconds; number++) {
    second(context, operations, begun + (number - 1) * (long)SECOND);
    if (is_made && ((long)want.events - taken_in >= AT_ONCE || number % 60 == 0)) flush(), taken_in = want.events;
    bool of_a_part = number % (seconds / PARTS) == 0;
    if (of_a_part) short_communicator((int)(number / (seconds / PARTS)));
    if (of_a_part || (!is_made && number % 60 == 0)) mark((uint64_t)number);
  }
  finalize(context);
  print_wanted();
  return 0;
}
