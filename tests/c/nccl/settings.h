/* What the settings bring about. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "threads.h"

static void min_bytes(void) {
  void *context = init();
  for (int i = 0; i < 10; i++) {
    struct event event = a_coll();
    event.count = i % 2 ? 1 : 100000;
    void *operation = start(context, &event);
    check(is_recorded(operation) != (i % 2), "operation %d: handle %p", i, operation);
    stop(operation);
    if (i % 2) {
      want.skipped++;
      /* what NCCL makes of NULL as parent: it is missing with its operation, not for itself */
      event = a_step(operation, 0);
      check(!is_recorded(start(context, &event)), "a child of nothing");
    } else {
      recorded(400000);
      kernel(context, operation, 0);
      timed(true, false);
    }
  }
  finalize(context);
}

/* The release that this host says it is, as a linked NCCL would. */
__attribute__((visibility("default"))) int ncclGetVersion(int *release) {
  const char *told = getenv("HOST_RELEASE");
  *release = told ? atoi(told) : 0;
  return told == NULL;
}

static void print_mask(void) {
  void *context = init();
  printf("mask %d\n", mask_given);
  finalize(context);
}

/* What NCCL is asked for. With a number, an NCCL of that version of the interface comes first. */
static void masks(void) {
  const struct version *own = version;
  if (number) {
    char first[8];
    snprintf(first, sizeof first, "%ld", number);
    take_version(first);
    load();
    print_mask();
    version = own;
    load();
  }
  print_mask();
}

/* NCCL's mask is one for the whole process: what every init writes to is looked at by all other communicators meanwhile. */
static _Atomic int shared_mask;

static void *init_again(void *unused) {
  (void)unused;
  for (int i = 0; i < 2000; i++) finalize(init_as(0xab, NULL, 0, (int *)&shared_mask));
  over = true;
  return NULL;
}

static void one_mask(void) {
  void *context = init_as(0xab, NULL, 0, (int *)&shared_mask);
  int asked = shared_mask;
  pthread_t thread;
  pthread_create(&thread, NULL, init_again, NULL);
  while (!over) {
    int now = shared_mask;
    check(now == asked, "the mask of all communicators is 0x%x for a while, not 0x%x", now, asked);
  }
  pthread_join(thread, NULL);
  finalize(context);
}

#endif
