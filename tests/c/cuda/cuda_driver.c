/* A stand-in for CUDA's driver, libcuda.so.1, with the functions that the library uses and no others. A GPU is a clock that the host
 * sets; a stream is how long it is at work (cuda_driver.h). Functions answer as the driver's do, and fail when they are told to.
 * What would harm a job or give wrong times ends the process with a line that says what it was: calls that break a capture under
 * way, a record into a captured stream, events and streams of different contexts or of none, calls from where CUDA must not be
 * called.
 *
 * Held against driver 580 on an H200: an event that was never recorded and events of two contexts are CUDA_ERROR_INVALID_HANDLE there,
 * those of a destroyed context CUDA_ERROR_CONTEXT_IS_DESTROYED; elapsed times and records need no current context; who uses an event
 * whose context was reset meanwhile crashes. Of captures the stand-in is stricter: there, of calls about events, cuEventQuery alone broke
 * one. */
#include "driver_control.h"
#include <time.h>

API int cuCtxGetCurrent(void **context) {
  int error = enter(OF_cuCtxGetCurrent);
  if (error) return leave(error);
  *context = current < 0 ? NULL : (void *)(uintptr_t)(FIRST_CONTEXT + current);
  return leave(ERROR_SUCCESS);
}

API int cuEventCreate(void **event, unsigned flags) {
  int error = enter(OF_cuEventCreate);
  if (breaks_a_capture()) wrong(OF_cuEventCreate, "breaks a capture");
  if (error) return leave(error);
  if (current < 0) return leave(ERROR_INVALID_CONTEXT);
  if (contexts[current].destroyed) return leave(ERROR_CONTEXT_IS_DESTROYED);
  if (flags != 0) wrong(OF_cuEventCreate, "the event would have no time, or wait");
  if (event_count == MOST_EVENTS) wrong(OF_cuEventCreate, "too many events");
  events[event_count] = (struct event){.context = current, .resets = contexts[current].resets};
  *event = (void *)(uintptr_t)(FIRST_EVENT + event_count++);
  return leave(ERROR_SUCCESS);
}

API int cuEventDestroy_v2(void *handle) {
  int error = enter(OF_cuEventDestroy_v2);
  if (breaks_a_capture()) wrong(OF_cuEventDestroy_v2, "breaks a capture");
  struct event *event = event_of(OF_cuEventDestroy_v2, handle);
  if (event->in_graph) wrong(OF_cuEventDestroy_v2, "a graph has the event");
  if (error) return leave(error);
  if (contexts[event->context].destroyed) return leave(ERROR_CONTEXT_IS_DESTROYED);
  event->state = DESTROYED;
  destroyed_events++;
  return leave(ERROR_SUCCESS);
}

/* When something recorded in a stream of the library's own happens: at once, by the host's true time, which is ahead of `now` while the
 * host sets both. */
static uint64_t own_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool has_happened(const struct event *event) {
  return event->happens <= now || (event->is_own && event->happens <= own_time());
}

API int cuEventRecord(void *handle, void *of) {
  int error = enter(OF_cuEventRecord);
  struct event *event = event_of(OF_cuEventRecord, handle);
  struct stream *stream = stream_of(OF_cuEventRecord, of);
#ifdef UNDER_SCORE_P
  if (depth == 0) wrong(OF_cuEventRecord, "Score-P sees it");
  if (!is_of_program) wrong(OF_cuEventRecord, "a thread without a location");
#endif
  int context = stream ? stream->context : current;
  if (context < 0) wrong(OF_cuEventRecord, "stream 0 of no context");
  other_record_count += !stream || !stream->is_own;
  if (event->context != context) wrong(OF_cuEventRecord, "the event is another context's than the stream");
  if (stream && stream->captured) wrong(OF_cuEventRecord, "the stream is captured");
  if (stream && stream->is_own && stream->context != current) wrong(OF_cuEventRecord, "the library's stream, in another context");
  if (event->in_graph) wrong(OF_cuEventRecord, "a graph has the event");
  if (!error && contexts[context].destroyed) error = ERROR_CONTEXT_IS_DESTROYED;
  if (error) {
    event->state = NOT_RECORDED;
    return leave(error);
  }
  pending_records += event->state == RECORDED && !has_happened(event);
  uint64_t busy = stream ? stream->is_own ? own_time() + own_delay : stream->busy : contexts[context].busy;
  event->state = RECORDED, event->happens = busy > now ? busy : now;
  event->is_own = stream && stream->is_own;
  return leave(ERROR_SUCCESS);
}

/* A driver before CUDA 11.1 has no such function. */
#ifndef OLD_DRIVER
API int cuEventRecordWithFlags(void *handle, void *of, unsigned flags) {
  int error = enter(OF_cuEventRecordWithFlags);
  struct event *event = event_of(OF_cuEventRecordWithFlags, handle);
  struct stream *stream = stream_of(OF_cuEventRecordWithFlags, of);
  if (flags != 1) wrong(OF_cuEventRecordWithFlags, "an event of the graph alone has no time");
  if (!stream || !stream->captured) wrong(OF_cuEventRecordWithFlags, "the stream is not captured");
  if (stream->is_invalid) wrong(OF_cuEventRecordWithFlags, "the capture is invalid");
  if (event->context != stream->context) wrong(OF_cuEventRecordWithFlags, "breaks a capture");
  if (event->state != NEW) wrong(OF_cuEventRecordWithFlags, "the event has a time of before");
  if (record_count == MOST_RECORDS) wrong(OF_cuEventRecordWithFlags, "too many records");
  if (error) stream->is_invalid = true;
  if (error) return leave(error);
  if (event->in_graph) wrong(OF_cuEventRecordWithFlags, "another record has the event");
  event->in_graph = true;
  records[record_count++] = event;
  return leave(ERROR_SUCCESS);
}
#endif

API int cuEventElapsedTime(float *milliseconds, void *first, void *last) {
  for (; is_held; usleep(1000)) is_waiting = true;
  int error = enter(OF_cuEventElapsedTime);
  if (breaks_a_capture()) wrong(OF_cuEventElapsedTime, "breaks a capture");
  const struct event *events[] = {event_of(OF_cuEventElapsedTime, first), event_of(OF_cuEventElapsedTime, last)};
  if (events[0]->context != events[1]->context) wrong(OF_cuEventElapsedTime, "events of two contexts");
  for (int i = 0; i < 2; i++)
    if (events[i]->state == NEW && events[i]->in_graph) return leave(ERROR_INVALID_HANDLE);
  if (events[0]->state == NEW || events[1]->state == NEW) wrong(OF_cuEventElapsedTime, "an event that was never recorded");
  if (error) return leave(error);
  const struct context *context = &contexts[events[0]->context];
  if (context->destroyed) return leave(ERROR_CONTEXT_IS_DESTROYED);
  if (events[0]->state != RECORDED || events[1]->state != RECORDED) return leave(ERROR_INVALID_HANDLE);
  if (!has_happened(events[0]) || !has_happened(events[1])) return leave(ERROR_NOT_READY);
  double nanoseconds = (double)(int64_t)(events[1]->happens - events[0]->happens);
  *milliseconds = (float)(nanoseconds * (1 + context->ppm * 1e-6) / 1e6);
  if (next_replay.asked == events[1]) {
    next_replay.asked = NULL;
    for (uint64_t i = 0; i < next_replay.count; i++) {
      struct event *event = records[next_replay.first + i];
      event->state = RECORDED, event->happens = next_replay.begin + i * 100000;
    }
  }
  return leave(ERROR_SUCCESS);
}

/* One context a thread, behind which the one before comes back. */
API int cuCtxPushCurrent_v2(void *context) {
  int error = enter(OF_cuCtxPushCurrent_v2);
  uintptr_t place = (uintptr_t)context - FIRST_CONTEXT;
  if ((uintptr_t)context < FIRST_CONTEXT || place >= (uintptr_t)context_count) wrong(OF_cuCtxPushCurrent_v2, "there is no such context");
  if (has_pushed) wrong(OF_cuCtxPushCurrent_v2, "a context that was pushed before was not popped");
  if (!error && contexts[place].destroyed) error = ERROR_CONTEXT_IS_DESTROYED;
  if (!error) before_push = current, current = (int)place, has_pushed = true;
  return leave(error);
}

API int cuCtxPopCurrent_v2(void **context) {
  int error = enter(OF_cuCtxPopCurrent_v2);
  if (!has_pushed) wrong(OF_cuCtxPopCurrent_v2, "no context was pushed");
  *context = (void *)(uintptr_t)(FIRST_CONTEXT + current);
  current = before_push, has_pushed = false;
  return leave(error);
}

/* A stream of the library's own. */
API int cuStreamCreate(void **stream, unsigned flags) {
  int error = enter(OF_cuStreamCreate);
  if (breaks_a_capture()) wrong(OF_cuStreamCreate, "breaks a capture");
  if (error) return leave(error);
  if (current < 0) return leave(ERROR_INVALID_CONTEXT);
  if (contexts[current].destroyed) return leave(ERROR_CONTEXT_IS_DESTROYED);
  if (flags != 1) wrong(OF_cuStreamCreate, "the stream would wait for the legacy stream");
  if (stream_count == MOST_STREAMS) wrong(OF_cuStreamCreate, "too many streams");
  streams[stream_count] = (struct stream){.context = current, .resets = contexts[current].resets, .is_own = true};
  *stream = (void *)(uintptr_t)(FIRST_STREAM + stream_count++);
  own_stream_count++;
  return leave(ERROR_SUCCESS);
}

API int cuStreamDestroy_v2(void *handle) {
  int error = enter(OF_cuStreamDestroy_v2);
  if (breaks_a_capture()) wrong(OF_cuStreamDestroy_v2, "breaks a capture");
  struct stream *stream = stream_of(OF_cuStreamDestroy_v2, handle);
  if (!stream || !stream->is_own) wrong(OF_cuStreamDestroy_v2, "the application's stream");
  if (error) return leave(error);
  if (contexts[stream->context].destroyed) return leave(ERROR_CONTEXT_IS_DESTROYED);
  stream->is_destroyed = true;
  own_stream_count--;
  return leave(ERROR_SUCCESS);
}

API int cuStreamIsCapturing(void *of, int *status) {
  int error = enter(OF_cuStreamIsCapturing);
  const struct stream *stream = stream_of(OF_cuStreamIsCapturing, of);
  int context = stream ? stream->context : current;
  if (!error && context < 0) error = ERROR_INVALID_CONTEXT;
  if (!error && contexts[context].destroyed) error = ERROR_CONTEXT_IS_DESTROYED;
  if (!error) *status = !stream || !stream->captured ? 0 : stream->is_invalid ? 2 : 1;
  return leave(error);
}

API int cuThreadExchangeStreamCaptureMode(int *mode) {
  int error = enter(OF_cuThreadExchangeStreamCaptureMode);
  if (*mode < CAPTURE_GLOBAL || *mode > CAPTURE_RELAXED) wrong(OF_cuThreadExchangeStreamCaptureMode, "there is no such mode");
  if (error) return leave(error);
  int before = (int)thread_mode;
  thread_mode = (enum capture_mode)*mode, *mode = before;
  return leave(ERROR_SUCCESS);
}

/* As documented: no two contexts have the same number, and one that was destroyed has none. */
API int cuCtxGetId(void *context, unsigned long long *id) {
  while (is_reset_next) {
    is_number_asked = true;
    usleep(100);
  }
  int error = enter(OF_cuCtxGetId);
  uintptr_t place = (uintptr_t)context - FIRST_CONTEXT;
  if ((uintptr_t)context < FIRST_CONTEXT || place >= (uintptr_t)context_count) wrong(OF_cuCtxGetId, "there is no such context");
  if (!error && contexts[place].destroyed) error = ERROR_CONTEXT_IS_DESTROYED;
  if (!error) *id = (unsigned long long)place * 1000 + (unsigned long long)contexts[place].resets;
  return leave(error);
}

API int cuGetErrorName(int number, const char **name) {
  int error = enter(OF_cuGetErrorName);
  *name = NULL;
#define FIND_ERROR(known, value) if (number == (value)) *name = (value) ? "CUDA_ERROR_" #known : "CUDA_" #known;
  if (!error) { DRIVER_ERRORS(FIND_ERROR) }
  return leave(error ? error : *name ? ERROR_SUCCESS : ERROR_INVALID_VALUE);
}

static void take_lock(void) { pthread_mutex_lock(&lock); }
static void release_lock(void) { pthread_mutex_unlock(&lock); }

API const struct driver_control *driver_control(void) {
  static const struct driver_control control = {
    set_time,    make_context, set_current,   destroy_context, reset_context,      reset_before_a_look, make_stream, set_busy,
    begin_capture, end_capture, graph_records, execute_record, execute_when_asked, mode,                forbid,      fail,
    deinitialize, hold, await_held, calls_of,      own_streams,     other_records,     delay_own,          made_events,         recorded_while_pending};
  /* a fork in the middle of another thread's call must not leave the child the lock of a thread that it lacks */
  if (owner == 0) pthread_atfork(take_lock, release_lock, release_lock);
  owner = getpid();
  return &control;
}
