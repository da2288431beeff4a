/* Streams of the library's own: an event there happens at once, whatever the application has queued. */
#ifndef ANCHORS_H
#define ANCHORS_H

#include "launches.h"

/* The host is ahead of the GPU throughout: each launch waits for other work. NUMBER is by how many milliseconds events of the library's own
 * are late, as where all streams share one queue. */
static void runs_ahead(void) {
  driver->delay_own((uint64_t)number * MILLISECONDS);
  struct communicator of = communicator_alone(0xab, 0, 2);
  driver->set_busy(of.stream, of.busy = now() + 200 * MILLISECONDS);
  for (int i = 0; i < 600; i++) {
    enqueue_work(&of, all_reduce("TREE"), 5 * MILLISECONDS);
    pass(5 * MILLISECONDS);
    if (i % 20 == 19) flush();
  }
  check(driver->own_streams() == 1, "%lu streams", (unsigned long)driver->own_streams());
  check(driver->recorded_while_pending() == 0, "an event is recorded again before it has happened");
  end(&of);
  flush();
  check(driver->own_streams() == 0 && driver->events() == 0, "a stream or events are left");
}

/* The driver gives the library no stream: all is timed as before. */
static void no_own_stream(void) {
  driver->fail(OF_cuStreamCreate, 1, UINT64_MAX, ERROR_OUT_OF_MEMORY);
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 20, 100 * MICROSECONDS);
  check(driver->own_streams() == 0, "a stream that could not be made");
  end(&of);
}

/* A stream of the library's own cannot be destroyed. */
static void own_stream_stays(void) {
  driver->fail(OF_cuStreamDestroy_v2, 1, 1, ERROR_LAUNCH_FAILED);
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 20, 100 * MICROSECONDS);
  want.warnings = 1;
  end(&of);
}

#endif
