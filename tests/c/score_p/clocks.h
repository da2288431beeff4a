/* The GPU's clock beside Score-P's: a minute with an operation every 100 ms, and the clocks as they may be. */
#ifndef CLOCKS_H
#define CLOCKS_H

#include "lanes.h"

static void minute(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 4);
  uint64_t from = now() + 10 * MILLISECONDS;
  for (uint64_t i = 0; i < 600; i++) {
    uint64_t at = from + i * 100 * MILLISECONDS;
    add(all_reduce(&of, 100000, at, at + (50 + i) * MICROSECONDS));
  }
  play();
  finalize(of.context);
}

/* NUMBER nanoseconds apart. */
static void clock_offset(void) {
  gpu.offset = number;
  score_p_clock = (struct clock){2.6e9, 0, 12345};
  minute();
}

/* NUMBER parts per million faster, or slower. */
static void clock_drift(void) {
  gpu.ppm = (double)number;
  gpu.offset = -900000;
  score_p_clock = (struct clock){2.6e9, 0, 12345};
  minute();
}

/* Score-P's has NUMBER ticks a second, and the GPU's moves in steps of 10 ns. */
static void clock_coarse(void) {
  gpu.offset = 1300000, gpu.step = 10;
  score_p_clock = (struct clock){(double)number, 0, 777};
  minute();
}

/* The GPU's stamps count steps of 10 ns, as AMD's do. */
static void clock_counts(void) {
  gpu.step = 10, gpu.counts_steps = true;
  score_p_clock = (struct clock){1e9, 0, 777};
  minute();
}

#endif
