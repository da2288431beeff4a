/* What the stand-in for CUDA's driver (cuda_driver.c) knows: contexts, streams, events and captures; and what holds for each call of one
 * of its functions. */
#ifndef DRIVER_STATE_H
#define DRIVER_STATE_H

#include "cuda_driver.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))

enum { MOST_EVENTS = 1 << 20, MOST_STREAMS = 4096, MOST_CONTEXTS = 256, MOST_RECORDS = 1 << 14 };

/* Handles are numbers: nothing that the library hands in is followed. */
enum { FIRST_CONTEXT = 0x10000, FIRST_STREAM = 0x20000, FIRST_EVENT = 0x1000000 };

struct context { double ppm; bool destroyed; int resets; uint64_t busy; };
struct stream {
  int context, resets;
  uint64_t busy;
  bool captured, is_invalid, is_own, is_destroyed;
  enum capture_mode mode;
  pthread_t captures;
};
struct event { int context, resets; enum { NEW, RECORDED, NOT_RECORDED, DESTROYED } state; uint64_t happens; bool in_graph, is_own; };
struct failure { uint64_t from, times; int error; };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t now, calls[DRIVER_FUNCTION_COUNT], pending_records;
static struct context contexts[MOST_CONTEXTS];
static struct stream streams[MOST_STREAMS];
static struct event events[MOST_EVENTS];
static int context_count, stream_count, event_count, destroyed_events;
static uint64_t own_stream_count, other_record_count, own_delay;
static struct event *records[MOST_RECORDS]; /* of graphs */
static uint64_t record_count;
static struct { struct event *asked; uint64_t first, count, begin; } next_replay;
static struct failure failures[DRIVER_FUNCTION_COUNT];
static bool deinitialized;
static pid_t owner;
static _Atomic bool is_held, is_waiting;
/* The next who asks for a context's number waits until the context was reset. */
static _Atomic bool is_reset_next, is_number_asked;
static _Thread_local enum capture_mode thread_mode = CAPTURE_GLOBAL;
static _Thread_local int current = -1;
static _Thread_local bool forbidden, has_pushed;
static _Thread_local int before_push;
static _Thread_local bool is_of_program;

/* Score-P's, of a process that it measures. Its CUDA adapter looks up the location of who records an event. */
#ifdef UNDER_SCORE_P
static _Thread_local int depth;
API int *scorep_get_in_measurement(void);
API int *scorep_get_in_measurement(void) { return &depth; }
#endif

#define NAME_FUNCTION(name) #name,
static const char *const names[] = {DRIVER_FUNCTIONS(NAME_FUNCTION)};

/* The process ends: the library did what it must not. */
static _Noreturn void wrong(enum driver_function function, const char *what) {
  fprintf(stderr, "libcuda stand-in: %s: %s\n", names[function], what);
  abort();
}

/* What holds for every call: its error, if it fails. Takes the lock. */
static int enter(enum driver_function function) {
  pthread_mutex_lock(&lock);
  calls[function]++;
  if (forbidden) wrong(function, "called within a callback of CUDA's");
  if (getpid() != owner) wrong(function, "called in a forked process");
  if (deinitialized && function != OF_cuGetErrorName) return ERROR_DEINITIALIZED;
  const struct failure *failure = &failures[function];
  bool fails = failure->times > 0 && calls[function] >= failure->from && calls[function] - failure->from < failure->times;
  return fails ? failure->error : ERROR_SUCCESS;
}

static int leave(int error) {
  pthread_mutex_unlock(&lock);
  return error;
}

/* Whether a call that a capture does not bear is one, by the rules of cuThreadExchangeStreamCaptureMode. */
static bool breaks_a_capture(void) {
  if (thread_mode == CAPTURE_RELAXED) return false;
  for (int i = 0; i < stream_count; i++) {
    const struct stream *stream = &streams[i];
    if (!stream->captured || stream->mode == CAPTURE_RELAXED) continue;
    if (pthread_equal(stream->captures, pthread_self())) return true;
    if (thread_mode == CAPTURE_GLOBAL && stream->mode == CAPTURE_GLOBAL) return true;
  }
  return false;
}

static struct event *event_of(enum driver_function function, void *handle) {
  uintptr_t place = (uintptr_t)handle - FIRST_EVENT;
  if ((uintptr_t)handle < FIRST_EVENT || place >= (uintptr_t)event_count) wrong(function, "there is no such event");
  if (events[place].resets != contexts[events[place].context].resets) wrong(function, "an event of a context that was reset");
  if (events[place].state == DESTROYED) wrong(function, "an event that was destroyed");
  return &events[place];
}

/* The stream's, or NULL for stream 0. */
static struct stream *stream_of(enum driver_function function, void *handle) {
  uintptr_t place = (uintptr_t)handle - FIRST_STREAM;
  if (handle == NULL) return NULL;
  if ((uintptr_t)handle < FIRST_STREAM || place >= (uintptr_t)stream_count) wrong(function, "there is no such stream");
  if (streams[place].resets != contexts[streams[place].context].resets) wrong(function, "a stream of a context that was reset");
  if (streams[place].is_destroyed) wrong(function, "a stream that was destroyed");
  return &streams[place];
}

#endif
