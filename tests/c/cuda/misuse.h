/* The stand-in for CUDA's driver itself: that it answers as the driver does, and ends the process where the library would do harm. */
#ifndef MISUSE_H
#define MISUSE_H

#include "stamps.h"
#include <signal.h>
#include <sys/wait.h>

/* The driver's functions, found as the library finds them. */
static struct {
  int (*context)(void **);
  int (*create)(void **, unsigned);
  int (*record)(void *, void *);
  int (*elapsed)(float *, void *, void *);
  int (*capturing)(void *, int *);
  int (*exchange)(int *);
  int (*name)(int, const char **);
} cuda;

static void look_up_cuda(void) {
  const char *const names[] = {"cuCtxGetCurrent", "cuEventCreate", "cuEventRecord", "cuEventElapsedTime", "cuStreamIsCapturing",
                               "cuThreadExchangeStreamCaptureMode", "cuGetErrorName"};
  void *loaded = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), **places = (void **)&cuda;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) places[i] = dlsym(loaded, names[i]);
}

static void answers(int found, int wanted, const char *what) { check(found == wanted, "%s: %d, not %d", what, found, wanted); }

static void *captures_for_ever(void *stream) {
  driver->begin_capture(stream, CAPTURE_GLOBAL);
  return NULL;
}

/* A stream that another thread captures. */
static void *captured_stream(void) {
  void *stream = driver->make_stream();
  pthread_t thread;
  pthread_create(&thread, NULL, captures_for_ever, stream);
  pthread_join(thread, NULL);
  return stream;
}

static void stand_in(void) {
  look_up_cuda();
  void *events[3], *found;
  float milliseconds = 0;
  int mode = CAPTURE_RELAXED, captured = 0;
  const char *name;
  answers(cuda.create(events, 0), ERROR_INVALID_CONTEXT, "an event without a context");
  check(cuda.context(&found) == 0 && found == NULL, "a context");
  void *context = driver->make_context(0), *stream = driver->make_stream();
  check(cuda.context(&found) == 0 && found == context, "another context");
  for (int i = 0; i < 3; i++) answers(cuda.create(&events[i], 0), 0, "an event");
  answers(cuda.record(events[0], stream), 0, "in an idle stream");
  driver->set_busy(stream, now() + 1500 * MICROSECONDS);
  answers(cuda.record(events[1], stream), 0, "in a busy stream");
  true_time_is(now() + 1500 * MICROSECONDS - 1);
  answers(cuda.elapsed(&milliseconds, events[0], events[1]), ERROR_NOT_READY, "a nanosecond before");
  true_time_is(now() + 1);
  check(cuda.elapsed(&milliseconds, events[0], events[1]) == 0 && milliseconds == 1.5f, "%f ms", milliseconds);
  check(cuda.elapsed(&milliseconds, events[1], events[0]) == 0 && milliseconds == -1.5f, "%f ms", milliseconds);
  check(cuda.name(ERROR_NOT_READY, &name) == 0 && strcmp(name, "CUDA_ERROR_NOT_READY") == 0, "the name is %s", name);
  answers(cuda.name(12345, &name), ERROR_INVALID_VALUE, "a name of no error");
  driver->fail(OF_cuEventRecord, 4, 1, ERROR_LAUNCH_FAILED);
  const int results[] = {0, ERROR_LAUNCH_FAILED, 0};
  for (int i = 0; i < 3; i++) answers(cuda.record(events[2], NULL), results[i], "the fourth record fails");
  check(driver->calls(OF_cuEventRecord) == 5 && driver->events() == 3, "calls are not counted");
  void *other = captured_stream();
  check(cuda.capturing(other, &captured) == 0 && captured == 1 && cuda.capturing(stream, &captured) == 0 && captured == 0, "captures");
  answers(cuda.record(events[2], stream), 0, "a record breaks no capture");
  check(cuda.exchange(&mode) == 0 && mode == CAPTURE_GLOBAL && driver->mode() == CAPTURE_RELAXED, "mode %d", mode);
  answers(cuda.elapsed(&milliseconds, events[0], events[1]), 0, "in the relaxed mode");
  driver->end_capture(other);
  driver->destroy_context(context);
  answers(cuda.elapsed(&milliseconds, events[0], events[1]), ERROR_CONTEXT_IS_DESTROYED, "of a context that is gone");
  answers(cuda.record(events[0], stream), ERROR_CONTEXT_IS_DESTROYED, "of a context that is gone");
  driver->make_context(0);
  answers(cuda.create(&found, 0), 0, "an event of another context");
  driver->deinitialize();
  answers(cuda.create(&found, 0), ERROR_DEINITIALIZED, "at the end");
  exit(0);
}

/* What must end the process, by NUMBER. */
static void misuse(void) {
  look_up_cuda();
  void *event, *other_event, *found, *stream;
  float milliseconds;
  int mode = 7;
  void *context = driver->make_context(0);
  stream = driver->make_stream();
  check(cuda.create(&event, 0) == 0 && cuda.record(event, stream) == 0, "an event");
  driver->make_context(0);
  check(cuda.create(&other_event, 0) == 0 && cuda.record(other_event, NULL) == 0, "an event");
  switch (number) {
    case 0: cuda.record(NULL, stream); break;
    case 1: cuda.record(event, (void *)(uintptr_t)0xaaaaaaaaaaaaaaaa); break;
    case 2: cuda.record(other_event, stream); break;
    case 3: cuda.record(event, NULL); break;
    case 4: cuda.elapsed(&milliseconds, event, other_event); break;
    case 5: cuda.create(&event, 0), cuda.elapsed(&milliseconds, event, event); break;
    case 6: cuda.create(&event, 2); break;
    case 7: cuda.record(other_event, captured_stream()); break;
    case 8: captured_stream(), cuda.create(&event, 0); break;
    case 9: captured_stream(), cuda.elapsed(&milliseconds, event, event); break;
    case 10: driver->begin_capture(stream, CAPTURE_THREAD_LOCAL), cuda.create(&event, 0); break;
    case 11: cuda.exchange(&mode); break;
    case 12: driver->forbid(true), cuda.context(&found); break;
    case 14: driver->reset_context(context), cuda.record(event, stream); break;
    case 15:
      driver->reset_context(context), driver->set_current(context);
      if (cuda.create(&event, 0) == 0) cuda.record(event, stream);
      break;
    case 13:
      if (fork() == 0) cuda.context(&found);
      if (wait(&mode) > 0 && WIFSIGNALED(mode)) raise(WTERMSIG(mode));
      break;
    default: break;
  }
  check(false, "misuse %ld goes unnoticed", number);
}

#endif
