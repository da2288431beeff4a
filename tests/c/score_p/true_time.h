/* True time, which no clock shows, and the clocks: the machine's, Score-P's, one a node, and the GPUs'. What a clock shows at a true
 * time is known exactly.
 *
 * Each process has a true time of its own, in nanoseconds, which stands still until the host moves it on: so a run takes no longer than
 * its callbacks, whatever time passes in it. A message takes the sender's time along (ipc.h), so what happens in two processes is in the
 * right order. CLOCK_MONOTONIC_RAW, which the library compares Score-P's clock with, shows it; deadlines are kept by other clocks. */
#ifndef TRUE_TIME_H
#define TRUE_TIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MICROSECONDS UINT64_C(1000)
#define MILLISECONDS UINT64_C(1000000)
#define SECONDS UINT64_C(1000000000)

/* When every process begins. */
#define BEGIN_OF_TIME (100 * SECONDS)

static _Atomic uint64_t true_time = BEGIN_OF_TIME;

static uint64_t now(void) { return true_time; }

/* Never back. */
static void advance_to(uint64_t time) {
  if (time > true_time) true_time = time;
}

/* The program is linked with -rdynamic: this comes before the system's. */
int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_MONOTONIC_RAW) return (int)syscall(SYS_clock_gettime, clock, time);
  *time = (struct timespec){(time_t)(now() / SECONDS), (long)(now() % SECONDS)};
  return 0;
}

/* A clock: nominal ticks a second, by how much it is too fast, in parts per million, and what it shows at true time 0. */
struct clock { double rate, ppm, offset; };

static uint64_t shown(const struct clock *clock, uint64_t time) {
  /* long double holds both exactly: 64 bits */
  long double ticks = (long double)time * (clock->rate / 1e9) * (1 + (long double)clock->ppm * 1e-6L);
  return (uint64_t)(ticks + (long double)clock->offset);
}

/* Score-P's clock in this process. */
static struct clock score_p_clock = {1e9, 0, 0};

static uint64_t score_p_ticks(void) { return shown(&score_p_clock, now()); }

/* A GPU's clock: nanoseconds near those of the machine's time of day, each with an offset of its own and steps of so many nanoseconds.
 * Some count those steps. */
struct gpu { double ppm; int64_t offset; unsigned step; bool counts_steps; };

/* That of the communicators to come. */
static struct gpu gpu = {0, 0, 1, false};

static uint64_t gpu_stamp(const struct gpu *of, uint64_t time) {
  const struct clock clock = {1e9, of->ppm, 1.7e18};
  uint64_t stamp = shown(&clock, time) + (uint64_t)of->offset;
  return of->counts_steps ? stamp / of->step : stamp - stamp % of->step;
}

/* The same numbers in every run. */
static uint64_t chance_state = 1;
static uint64_t chance(uint64_t below) {
  chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (chance_state >> 33) % below;
}

#endif
