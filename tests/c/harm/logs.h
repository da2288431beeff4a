/* NCCL's log functions that do what they should not while the plugin calls them. */
#ifndef LOGS_H
#define LOGS_H

#include "../nccl/workers.h"

static atomic_int lines;

/* Ends the thread, whose init counts though it does not return. */
static void end_thread(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
  lines++;
  want.callbacks++;
  pthread_exit(NULL);
}

/* Begins another communicator. */
static void begin_again(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
  if (lines++ > 0) return;
  void *context = init_as(0xef, NULL, 1, &mask_given);
  whole(context);
  finalize(context);
}

static void *begin_once(void *unused) {
  void *context = init();
  whole(context);
  finalize(context);
  return unused;
}

static void log_with(void *function) {
  logger = function;
  pthread_t thread;
  check(pthread_create(&thread, NULL, begin_once, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
  check(lines > 0, "no line");
  begin_once(NULL);
}

static void logged_by_a_thread_that_ends(void) { log_with((void *)end_thread); }
static void logged_by_one_that_begins_again(void) { log_with((void *)begin_again); }

#endif
