/* Plays a capture as NCCL would make its calls: in the recorded order and at the recorded pace, each recorded thread on a thread of its
 * own. The first one is the application's thread that plays; the others are NCCL's own.
 *
 * The GPU's stamps are passed as recorded. Where the machine was late, what follows is as late, and so are the stamps of the operations
 * that follow: a GPU runs nothing before it is enqueued, and the plugin would not believe it. */
#ifndef REPLAY_H
#define REPLAY_H

#include "capture.h"
#include <semaphore.h>
#include <threads.h>

/* Calls between two waits for the collector where the pace is not the recorded one, so that no machine is too slow for it. */
enum { CALLS_AT_A_TIME = 4096 };

/* How late a call may be before those that follow are as late, ns. */
enum { UNNOTICED = 200000 };

enum { KERNEL_PHASE_STOP = 31 };

struct thread {
  struct replay *replay;
  uint32_t number;
  sem_t turn;
  thrd_t thread;
};

struct replay {
  struct capture capture;
  double pace; /* times the recorded one; 0 is as fast as can be */
  /* told of every call of the main thread before it is made, unless NULL */
  void (*before)(struct replay *replay, const struct call *call);
  void *application; /* its own */
  /* what the plugin gave back, by what the recorded one gave */
  void **contexts, **handles;
  int64_t *late; /* by how much the operation was late that an event belongs to, ns; by the event's recorded handle */
  struct thread *threads; /* the main thread first */
  size_t count;
  size_t next; /* of the calls; whoever has the turn has it */
  int64_t begin; /* ns of CLOCK_MONOTONIC */
  int64_t lateness; /* of all calls to come, ns */
  int64_t due; /* when the call that is made was due, with the lateness that is known */
};

static struct thread *thread_of(struct replay *replay, uint32_t number) {
  size_t place = 0;
  while (place < replay->count && replay->threads[place].number != number) place++;
  if (place < replay->count) return &replay->threads[place];
  replay->threads = realloc(replay->threads, (place + 1) * sizeof *replay->threads);
  check(replay->threads != NULL, "no memory for threads");
  replay->threads[replay->count++] = (struct thread){.replay = replay, .number = number};
  return &replay->threads[place];
}

static struct replay *replay_of(const char *path, double pace) {
  struct replay *replay = calloc(1, sizeof *replay);
  check(replay != NULL, "no memory");
  replay->capture = read_capture(path);
  replay->pace = pace;
  replay->handles = calloc(replay->capture.handles, sizeof *replay->handles);
  replay->contexts = calloc(replay->capture.contexts, sizeof *replay->contexts);
  replay->late = calloc(replay->capture.handles, sizeof *replay->late);
  check(replay->handles != NULL && replay->late != NULL && replay->contexts != NULL, "no memory");
  for (size_t i = 0; i < replay->capture.count; i++) thread_of(replay, replay->capture.calls[i].thread);
  return replay;
}

static int64_t now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* What the call is late by now makes all that follow as late. */
static void note_lateness(struct replay *replay) {
  int64_t late = now() - replay->due - UNNOTICED;
  if (late > 0) replay->lateness += late, replay->due += late;
}

/* Waits for the moment at which a call was made. */
static void await(struct replay *replay, const struct call *call) {
  if (replay->pace == 0) {
    if (replay->next % CALLS_AT_A_TIME == 0) flush();
    return;
  }
  /* times of different threads may fall */
  int64_t since = (int64_t)(call->time - replay->capture.calls[0].time);
  replay->due = replay->begin + replay->lateness + (since > 0 ? (int64_t)((double)since / replay->pace) : 0);
  struct timespec moment = {replay->due / 1000000000, replay->due % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL) != 0) {}
  note_lateness(replay);
}

static void make(struct replay *replay, const struct call *call) {
  struct event event = call->event;
  void *handle = replay->handles[call->handle], **context = &replay->contexts[call->context];
  int64_t *late = &replay->late[call->handle];
  switch (call->kind) {
    case INIT: *context = init_of(event.comm, event.comm_name, call->nodes, call->ranks, event.rank, &(int){0}); break;
    case START:
      event.parent = replay->handles[call->parent];
      *late = event.type & (COLL | P2P) ? replay->lateness : replay->late[call->parent];
      if (event.ptimer) event.ptimer += (uint64_t)*late;
      /* another process' operation stays another's */
      event.pid = getpid() ^ (event.pid != replay->capture.pid);
      replay->handles[call->handle] = start(*context, &event);
      if (event.type & (COLL | P2P) && replay->pace > 0) {
        /* the machine may have stood still just before the library looked at its clock */
        note_lateness(replay);
        *late = replay->lateness;
      }
      break;
    case STATE: {
      bool is_stamp = call->state == KERNEL_CH_STOP || call->state == KERNEL_PHASE_STOP;
      if (call->has_argument) state(handle, call->state, call->argument + (is_stamp ? (uint64_t)*late : 0));
      else state_alone(handle, call->state);
      break;
    }
    case STOP: stop(handle); break;
    case FINALIZE: finalize(*context); break;
    case OTHER: break;
  }
}

/* Makes the thread's calls up to the next one of another thread, which has the turn then. */
static void take_turn(struct thread *thread) {
  struct replay *replay = thread->replay;
  bool is_main = thread == replay->threads;
  for (; replay->next < replay->capture.count; replay->next++) {
    const struct call *call = &replay->capture.calls[replay->next];
    if (call->thread != thread->number) {
      sem_post(&thread_of(replay, call->thread)->turn);
      return;
    }
    await(replay, call);
    if (is_main && replay->before) replay->before(replay, call);
    make(replay, call);
  }
  /* all calls are made */
  for (size_t i = 0; i < replay->count; i++) sem_post(&replay->threads[i].turn);
}

static int take_turns(void *argument) {
  struct thread *thread = argument;
  for (;;) {
    while (sem_wait(&thread->turn) != 0) {}
    if (thread->replay->next == thread->replay->capture.count) return 0;
    take_turn(thread);
  }
}

/* Plays it all; the calling thread is the main thread. */
static void play(struct replay *replay) {
  for (size_t i = 0; i < replay->count; i++) check(sem_init(&replay->threads[i].turn, 0, i == 0) == 0, "no semaphore");
  replay->begin = now();
  /* Score-P does not see C11's threads, as it does not see those that a library creates */
  for (size_t i = 1; i < replay->count; i++)
    check(thrd_create(&replay->threads[i].thread, take_turns, &replay->threads[i]) == thrd_success, "no thread");
  take_turns(&replay->threads[0]);
  for (size_t i = 1; i < replay->count; i++) thrd_join(replay->threads[i].thread, NULL);
}

#endif
