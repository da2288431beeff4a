/* CUDA fails, or never answers. */
#ifndef FAILURES_H
#define FAILURES_H

#include "launches.h"

/* Works of every sort, a kernel after the other and several at a time. */
static void some_works(struct communicator *of, int rounds) {
  const struct work works[] = {send_to(1), receive_from(1)};
  for (int i = 0; i < rounds; i++) {
    enqueue_alone(of, all_reduce("TREE"), 2, 100 * MICROSECONDS);
    enqueue_works(of, works, 2, 100 * MICROSECONDS);
    enqueue_work(of, all_reduce("NVLS"), 100 * MICROSECONDS);
    go_on_to(of->busy);
    flush();
  }
}

/* From the failure on no function is called any more. */
static void no_more_calls(struct communicator *of) {
  flush();
  uint64_t before = driver_calls();
  some_works(of, 10);
  uint64_t calls = driver_calls() - before;
  check(calls == 0, "%lu calls after a failure", (unsigned long)calls);
}

/* What was done before the failure may be timed or not; each operation is one or the other. */
static void any_of_them(void) {
  puts("any");
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = i == WHY_cuda_failed ? ANY : 0;
}

/* NUMBER is that of the function times 100, and of the call from which on it fails. */
static void fails(void) {
  enum driver_function function = (enum driver_function)(number / 100);
  is_mode_kept = function != OF_cuThreadExchangeStreamCaptureMode;
  check(function < DRIVER_FUNCTION_COUNT, "no such function");
  driver->fail(function, (uint64_t)number % 100, UINT64_MAX, ERROR_LAUNCH_FAILED);
  struct communicator of = communicator_alone(0xab, 0, 2);
  some_works(&of, 40);
  if (driver->calls(function) >= (uint64_t)number % 100) puts("failed");
  if (function != OF_cuGetErrorName && function != OF_cuStreamIsCapturing) {
    any_of_them();
    want.warnings = 1;
    no_more_calls(&of);
  } else if (function == OF_cuStreamIsCapturing) {
    /* nobody knows whether the stream is captured */
    puts("any");
    untimed[WHY_graph] = ANY;
  }
  end(&of);
}

/* A single call fails, and none would fail later. */
static void fails_once(void) {
  enum driver_function function = (enum driver_function)(number / 100);
  is_mode_kept = function != OF_cuThreadExchangeStreamCaptureMode;
  driver->fail(function, (uint64_t)number % 100, 1, ERROR_LAUNCH_FAILED);
  struct communicator of = communicator_alone(0xab, 0, 2);
  some_works(&of, 40);
  check(driver->calls(function) >= (uint64_t)number % 100, "it did not fail");
  any_of_them();
  want.warnings = 1;
  no_more_calls(&of);
  end(&of);
}

/* Nor can CUDA tell what the error is called. */
static void fails_without_a_name(void) {
  driver->fail(OF_cuGetErrorName, 1, UINT64_MAX, ERROR_UNKNOWN);
  number = 100 * OF_cuEventRecord + 5;
  fails_once();
}

/* Events cannot be destroyed: they have timed all there was, and time nothing more. */
static void destroy_fails(void) {
  driver->fail(OF_cuEventDestroy_v2, 3, 1, ERROR_LAUNCH_FAILED);
  struct communicator of = communicator_alone(0xab, 0, 2);
  some_works(&of, 5);
  end(&of);
  flush();
  has_events = false, without_events = WHY_cuda_failed;
  of = communicator(0xac, 0, 2, of.gpu, of.stream);
  want.warnings = 1;
  no_more_calls(&of);
  end(&of);
}

static void unknown_error(void) {
  driver->fail(OF_cuEventRecord, 5, 1, 12345);
  struct communicator of = communicator_alone(0xab, 0, 2);
  some_works(&of, 5);
  any_of_them();
  want.warnings = 1;
  no_more_calls(&of);
  end(&of);
}

/* A stream that is never done: its kernels have no time, those in others have theirs, and the process ends all the same. */
static void never_over(void) {
  struct communicator of = communicator_alone(0xab, 0, 2), stuck = communicator(0xac, 0, 2, of.gpu, driver->make_stream());
  enqueue_alone(&stuck, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  flush();
  has_events = false;
  for (int i = 0; i < 10; i++) {
    enqueue_work(&stuck, all_reduce("TREE"), FOR_EVER);
    has_events = true;
    enqueue_alone(&of, all_reduce("TREE"), 2, 100 * MICROSECONDS);
    has_events = false;
  }
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  want.unfinished = ANY;
  end(&of);
  flush();
}

/* As above, and the communicator is destroyed. */
static void destroyed_never_over(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 3, 100 * MICROSECONDS);
  has_events = false;
  for (int i = 0; i < 10; i++) enqueue_work(&of, all_reduce("TREE"), FOR_EVER);
  for (int i = 0; i < CAUSE_COUNT; i++) untimed[i] = ANY;
  want.unfinished = ANY;
  end_at_once(&of);
  flush();
}

/* The context goes away with kernels under way. */
static void context_goes(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  flush();
  for (int i = 0; i < 10; i++) enqueue_work(&of, all_reduce("TREE"), SECONDS);
  any_of_them();
  driver->destroy_context(of.gpu);
  go_on_to(of.busy);
  flush();
  enqueue_alone(&of, all_reduce("TREE"), 2, 100 * MICROSECONDS);
  want.warnings = 1;
  no_more_calls(&of);
  finalize(of.context);
}

/* It goes when all is over, as at the end of a program: nothing is asked about then. */
static void context_goes_at_the_end(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  end(&of);
  driver->destroy_context(of.gpu);
}

/* The driver shuts down with kernels under way, before the library writes its figures: those that were timed stay. */
static void driver_goes_at_the_end(void) {
  struct communicator of = communicator_alone(0xab, 0, 2);
  enqueue_alone(&of, all_reduce("TREE"), 10, 100 * MICROSECONDS);
  flush();
  for (int i = 0; i < 3; i++) enqueue_work(&of, all_reduce("TREE"), SECONDS);
  any_of_them();
  want.warnings = want.unfinished = ANY;
  driver->deinitialize();
}

#endif
