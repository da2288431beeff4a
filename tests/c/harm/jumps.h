/* Threads that a handler takes out of a callback (siglongjmp) where that is worst: amid their first one, and for good. */
#ifndef JUMPS_H
#define JUMPS_H

#include "signals.h"
#include <dirent.h>
#include <sys/stat.h>

static void leave_at(int signal) {
  struct sigaction action = {.sa_handler = leave_callback};
  check(sigaction(signal, &action, NULL) == 0, "no handler");
}

/* A thread's next allocation of that size on raises a signal before it is made. */
static _Thread_local volatile size_t alarming = SIZE_MAX;

int posix_memalign(void **place, size_t alignment, size_t size) {
  if (size >= alarming) {
    alarming = SIZE_MAX;
    raise(SIGUSR1);
  }
  static int (*next)(void **, size_t, size_t);
  if (!next) next = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
  return next(place, alignment, size);
}

/* Makes a callback, which must be left. */
static void be_taken_out_of(void *context, struct event event) {
  char descriptor[256];
  put_descriptor(&event, descriptor, version);
  void *handle = NULL;
  if (sigsetjmp(before_the_callback, 1) != 0) return;
  is_within = 1;
  table.start(context, &handle, descriptor);
  check(false, "the callback was not left");
}

/* Of what a thread makes at its first callback, some kilobytes. */
static void *begin_badly(void *context) {
  alarming = 4096;
  be_taken_out_of(context, a_coll());
  whole(context);
  return NULL;
}

static void *begin_well(void *context) {
  whole(context);
  return NULL;
}

static void play_on_a_thread(void *(*play)(void *), void *context) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, play, context) == 0, "no thread");
  pthread_join(thread, NULL);
}

/* The thread and those after it are as others. */
static void left_in_its_first_callback(void) {
  void *context = init();
  leave_at(SIGUSR1);
  play_on_a_thread(begin_badly, context);
  play_on_a_thread(begin_well, context);
  finalize(context);
}

static atomic_bool is_out;

/* A function's name may not be read where it is. */
static void *leave_and_idle(void *context) {
  whole(context);
  struct event event = a_coll();
  event.func = at_the_edge(0);
  be_taken_out_of(context, event);
  is_out = true;
  while (!over) pause_milliseconds(1);
  return NULL;
}

static off_t size_of_recording(void) {
  DIR *here = opendir(".");
  check(here != NULL, "no directory");
  off_t size = 0;
  struct stat found;
  for (struct dirent *entry; (entry = readdir(here));)
    if (strstr(entry->d_name, ".jsonl.gz") && stat(entry->d_name, &found) == 0) size += found.st_size;
  closedir(here);
  return size;
}

/* Until a part has been written, whole: its memory is free when the file grows no more. Two parts do not fit. */
static void wait_for_part(off_t before) {
  while (size_of_recording() == before) pause_milliseconds(1);
  for (off_t size = 0; size != size_of_recording(); pause_milliseconds(400)) size = size_of_recording();
}

/* One thread leaves a callback and makes no other. The recording has 1 MiB, and writes a part when half of that is in use: here, three times.
 * The first time it waits a second for the end of the callback. If it did so again, the memory would be full meanwhile. */
static void left_and_idle(void) {
  void *context = init();
  wait_for_part(0);
  leave_at(SIGSEGV);
  pthread_t thread;
  check(pthread_create(&thread, NULL, leave_and_idle, context) == 0, "no thread");
  while (!is_out) pause_milliseconds(1);
  for (int part = 0; part < 3; part++) {
    off_t before = size_of_recording();
    for (int i = 0; i < 3100; i++) {
      coll(context);
      if (i % 256 == 0) flush();
    }
    while (part > 0 && size_of_recording() == before) {
      for (int i = 0; i < 4; i++) coll(context);
      pause_milliseconds(1);
    }
    wait_for_part(before);
  }
  over = true;
  pthread_join(thread, NULL);
  finalize(context);
  /* the operations of all whole callbacks, though the thread may look at them for ever, as far as anybody knows */
  printf("any figures\nleast operations %ld\nmost operations %ld\nmost dropped 1\n", want.operations, want.operations);
}

#endif
