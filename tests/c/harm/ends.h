/* Programs that end in unusual ways. */
#ifndef ENDS_H
#define ENDS_H

#include "moments.h"

static void *record_all(void *unused) {
  void *context = init();
  operate_often(context);
  finalize(context);
  account();
  return unused;
}

/* Called after the library's own functions for the end. */
static void end_as_host(void) {
  print_wanted();
  fflush(stdout);
  _exit(3);
}

/* The main thread ends by pthread_exit, and the process with its last thread. */
static void main_thread_that_ends_first(void) {
  pthread_t thread;
  atexit(end_as_host);
  check(pthread_create(&thread, NULL, record_all, NULL) == 0 && pthread_detach(thread) == 0, "no thread");
  pthread_exit(NULL);
}

/* The process ends while NUMBER threads call at full speed. */
static void ended_in_a_crowd(void) {
  pthread_t thread;
  shared_context = init();
  for (long i = 0; i < number; i++) check(pthread_create(&thread, NULL, work, "ceaseless") == 0, "no thread");
  sleep(2);
  puts("any figures");
}

/* For the constructor of a library, in which the thread holds the loader's lock: the process ends there. */
__attribute__((visibility("default"))) void record_and_leave(void);
void record_and_leave(void) {
  record_all(NULL);
  print_wanted();
  fflush(stdout);
  exit(3);
}

static void leave(void) { exit(3); }

/* A signal handler ends the process within an init, at its NUMBERth allocation: programs/locked_memory.c is preloaded. */
static void ended_within_an_init(void) {
  void (*lock_memory_at)(long, void (*)(void));
  *(void **)&lock_memory_at = dlsym(RTLD_DEFAULT, "lock_memory_at");
  check(lock_memory_at != NULL, "no memory to lock");
  operate_often(init());
  puts("any figures");
  fflush(stdout);
  lock_memory_at(number, leave);
  init();
  check(false, "an init allocates less often");
}

/* left_within_the_loader 0 LIBRARY */
static void left_within_the_loader(void) {
  void *found = dlopen(words[0], RTLD_NOW);
  check(found == NULL, "it was loaded: %s", found ? "" : dlerror());
}

#endif
