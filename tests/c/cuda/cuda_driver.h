/* How a host controls the stand-in for CUDA's driver (cuda_driver.c): the GPUs' clock, what streams are at work on, captures, and
 * failures. The host looks up driver_control. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

/* The functions that the stand-in has. */
#define DRIVER_FUNCTIONS(X)                                                                                                      \
  X(cuCtxGetCurrent) X(cuEventCreate) X(cuEventRecord) X(cuEventElapsedTime) X(cuStreamIsCapturing)                               \
  X(cuThreadExchangeStreamCaptureMode) X(cuGetErrorName) X(cuCtxGetId) X(cuEventDestroy_v2)                               \
  X(cuEventRecordWithFlags) X(cuStreamCreate) X(cuStreamDestroy_v2) X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2)
#define DECLARE_FUNCTION(name) OF_##name,
enum driver_function { DRIVER_FUNCTIONS(DECLARE_FUNCTION) DRIVER_FUNCTION_COUNT };

/* CUDA's numbers of errors. */
#define DRIVER_ERRORS(X)                                                                                                         \
  X(SUCCESS, 0) X(INVALID_VALUE, 1) X(OUT_OF_MEMORY, 2) X(NOT_INITIALIZED, 3) X(DEINITIALIZED, 4) X(INVALID_CONTEXT, 201)           \
  X(INVALID_HANDLE, 400) X(NOT_READY, 600) X(ILLEGAL_ADDRESS, 700) X(CONTEXT_IS_DESTROYED, 709) X(LAUNCH_FAILED, 719)               \
  X(STREAM_CAPTURE_UNSUPPORTED, 900) X(UNKNOWN, 999)
#define DECLARE_ERROR(name, number) ERROR_##name = number,
enum driver_error { DRIVER_ERRORS(DECLARE_ERROR) };

/* In which mode a stream is captured, or a thread lives with captures. */
enum capture_mode { CAPTURE_GLOBAL, CAPTURE_THREAD_LOCAL, CAPTURE_RELAXED };

/* Of a stream that is never done. */
#define FOR_EVER UINT64_MAX

struct driver_control {
  /* What every GPU's clock shows, in nanoseconds: an event happens as soon as its stream is done with what was enqueued before. */
  void (*set_time)(uint64_t time);
  /* A context is current for the thread that makes it. Its GPU's clock is too fast by so many parts per million. */
  void *(*make_context)(double ppm);
  void (*set_current)(void *context);
  /* All calls that have to do with it fail from now on. */
  void (*destroy_context)(void *context);
  /* As cudaDeviceReset does: the context has the same handle, and whoever uses an event or stream of before crashes. */
  void (*reset_context)(void *context);
  /* The same, while the library is about to look at its events: before it asks whether the context is still the same. No driver tells a
   * library of a reset, so one that comes between that question and the next call is beyond it. */
  void (*reset_before_a_look)(void *context);
  /* A stream of the context that is current; stream 0 is there in each. */
  void *(*make_stream)(void);
  /* What is enqueued behind begins then at the earliest. Stream 0 is that of the current context. */
  void (*set_busy)(void *stream, uint64_t until);
  /* The calling thread captures the stream; several at a time. A record there that fails makes the capture invalid. */
  void (*begin_capture)(void *stream, enum capture_mode mode);
  void (*end_capture)(void *stream);
  /* Records that graphs have so far; and one of them, from 0 on, is executed. */
  uint64_t (*graph_records)(void);
  void (*execute_record)(uint64_t record);
  /* Once somebody has an answer about the event of record `asked`, so many records from `first` on have been executed, one each 100 us
   * from `begin` on, all of which is over by then. */
  void (*execute_when_asked)(uint64_t asked, uint64_t first, uint64_t count, uint64_t begin);
  /* How the calling thread lives with captures. */
  enum capture_mode (*mode)(void);
  /* No function may be called by this thread: it is in a callback of CUDA's. */
  void (*forbid)(bool forbidden);
  /* The function fails from its call of that number on, of which the first is 1, that many times; 0: no more. */
  void (*fail)(enum driver_function function, uint64_t from, uint64_t times, int error);
  /* Everything fails: the program is at its end. */
  void (*deinitialize)(void);
  /* Whoever asks for the time between events gets no answer as long as that holds. */
  void (*hold)(bool held);
  /* Returns when somebody waits for that answer. */
  void (*await_held)(void);
  uint64_t (*calls)(enum driver_function function);
  /* Streams that were made by cuStreamCreate and are not destroyed. */
  uint64_t (*own_streams)(void);
  /* Records in all other streams so far. */
  uint64_t (*records)(void);
  /* What is recorded in such streams happens that much later, as where all streams have one queue. */
  void (*delay_own)(uint64_t nanoseconds);
  /* Events there are, and those that were recorded again before they had happened. */
  uint64_t (*events)(void);
  uint64_t (*recorded_while_pending)(void);
};

const struct driver_control *driver_control(void);

#endif
