/* The host's side of the stand-in for CUDA's driver: the functions of struct driver_control, which set the clock, contexts, streams,
 * captures and failures. */
#ifndef DRIVER_CONTROL_H
#define DRIVER_CONTROL_H

#include "driver_state.h"

static void check(bool right, const char *what) {
  if (right) return;
  fprintf(stderr, "libcuda stand-in: the host: %s\n", what);
  abort();
}

static int context_of(void *handle) {
  uintptr_t place = (uintptr_t)handle - FIRST_CONTEXT;
  check((uintptr_t)handle >= FIRST_CONTEXT && place < (uintptr_t)context_count, "there is no such context");
  return (int)place;
}

/* NULL for stream 0. */
static struct stream *own_stream(void *handle) {
  uintptr_t place = (uintptr_t)handle - FIRST_STREAM;
  if (handle == NULL) return NULL;
  check((uintptr_t)handle >= FIRST_STREAM && place < (uintptr_t)stream_count, "there is no such stream");
  return &streams[place];
}

/* Time never goes back. */
static void set_time(uint64_t time) {
  pthread_mutex_lock(&lock);
  if (time > now) now = time;
  pthread_mutex_unlock(&lock);
}

static void *make_context(double ppm) {
  pthread_mutex_lock(&lock);
  check(context_count < MOST_CONTEXTS, "too many contexts");
  contexts[current = context_count++] = (struct context){.ppm = ppm};
  is_of_program = true;
  pthread_mutex_unlock(&lock);
  return (void *)(uintptr_t)(FIRST_CONTEXT + current);
}

static void set_current(void *context) {
  pthread_mutex_lock(&lock);
  current = context ? context_of(context) : -1;
  is_of_program = true;
  pthread_mutex_unlock(&lock);
}

static void destroy_context(void *context) {
  pthread_mutex_lock(&lock);
  contexts[context_of(context)].destroyed = true;
  pthread_mutex_unlock(&lock);
}

static void reset_context(void *context) {
  pthread_mutex_lock(&lock);
  contexts[context_of(context)].resets++, contexts[context_of(context)].busy = 0;
  pthread_mutex_unlock(&lock);
}

static void reset_before_a_look(void *context) {
  is_number_asked = false;
  is_reset_next = true;
  while (!is_number_asked) usleep(100);
  reset_context(context);
  is_reset_next = false;
}

static void *make_stream(void) {
  pthread_mutex_lock(&lock);
  check(stream_count < MOST_STREAMS && current >= 0, "too many streams, or no context");
  int place = stream_count++;
  streams[place] = (struct stream){.context = current, .resets = contexts[current].resets};
  pthread_mutex_unlock(&lock);
  return (void *)(uintptr_t)(FIRST_STREAM + place);
}

static void set_busy(void *handle, uint64_t until) {
  pthread_mutex_lock(&lock);
  struct stream *stream = own_stream(handle);
  check(stream || current >= 0, "stream 0 of no context");
  *(stream ? &stream->busy : &contexts[current].busy) = until;
  pthread_mutex_unlock(&lock);
}

static void begin_capture(void *handle, enum capture_mode mode) {
  pthread_mutex_lock(&lock);
  struct stream *stream = own_stream(handle);
  check(stream && !stream->captured, "stream 0, or a stream that is captured already, cannot be captured");
  stream->captured = true, stream->mode = mode, stream->captures = pthread_self();
  pthread_mutex_unlock(&lock);
}

static void end_capture(void *handle) {
  pthread_mutex_lock(&lock);
  struct stream *stream = own_stream(handle);
  check(stream && stream->captured, "the stream is not captured");
  stream->captured = stream->is_invalid = false;
  pthread_mutex_unlock(&lock);
}

static void execute_record(uint64_t record) {
  pthread_mutex_lock(&lock);
  check(record < record_count, "no graph has such a record");
  records[record]->state = RECORDED, records[record]->happens = now;
  pthread_mutex_unlock(&lock);
}

static void execute_when_asked(uint64_t asked, uint64_t first, uint64_t count, uint64_t begin) {
  pthread_mutex_lock(&lock);
  check(asked < record_count && first + count <= record_count, "no graph has such a record");
  check(begin + count * 100000 <= now, "an event would happen in the future");
  next_replay.asked = records[asked], next_replay.first = first, next_replay.count = count, next_replay.begin = begin;
  pthread_mutex_unlock(&lock);
}

static enum capture_mode mode(void) { return thread_mode; }
static void forbid(bool is_forbidden) { forbidden = is_forbidden; }

static void fail(enum driver_function function, uint64_t from, uint64_t times, int error) {
  pthread_mutex_lock(&lock);
  failures[function] = (struct failure){from, times, error};
  pthread_mutex_unlock(&lock);
}

static void deinitialize(void) {
  pthread_mutex_lock(&lock);
  deinitialized = true;
  pthread_mutex_unlock(&lock);
}

static void hold(bool held) {
  is_waiting = false;
  is_held = held;
}

static void await_held(void) {
  while (!is_waiting) usleep(100);
}

static uint64_t locked(const uint64_t *value) {
  pthread_mutex_lock(&lock);
  uint64_t found = *value;
  pthread_mutex_unlock(&lock);
  return found;
}

static uint64_t own_streams(void) { return locked(&own_stream_count); }
static uint64_t other_records(void) { return locked(&other_record_count); }

static void delay_own(uint64_t nanoseconds) {
  pthread_mutex_lock(&lock);
  own_delay = nanoseconds;
  pthread_mutex_unlock(&lock);
}

static uint64_t calls_of(enum driver_function function) { return locked(&calls[function]); }
static uint64_t graph_records(void) { return locked(&record_count); }
static uint64_t recorded_while_pending(void) { return locked(&pending_records); }

static uint64_t made_events(void) {
  pthread_mutex_lock(&lock);
  uint64_t made = (uint64_t)(event_count - destroyed_events);
  pthread_mutex_unlock(&lock);
  return made;
}

#endif
