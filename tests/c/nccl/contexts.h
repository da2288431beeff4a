/* Contexts: those that NCCL never gave, those that are over, and many. */
#ifndef CONTEXTS_H
#define CONTEXTS_H

#include "operations.h"

static void null_arguments(void) {
  void *context = init_as(0xab, "\xff\xfe not UTF-8 %s%n", 0, NULL);
  int result = version->number < 4    ? ((init_v1)table.init)(NULL, NULL)
               : version->number == 4 ? ((init_v4)table.init)(NULL, NULL, NULL, 0xac, 1, 2, 0, NULL)
                                      : ((init_v5)table.init)(NULL, 0xac, NULL, NULL, 1, 2, 0, NULL);
  check(result == 0, "init without a place for the context");
  want.callbacks++;
  void *handle = GARBAGE;
  check(table.start(context, &handle, NULL) == 0 && handle == NULL, "start without a descriptor");
  struct event event = a_coll();
  void *descriptor = at_the_edge(descriptor_size(version));
  put_descriptor(&event, descriptor, version);
  check(table.start(context, NULL, descriptor) == 0, "start without a place for the handle");
  want.callbacks++;
  want.events++;
  /* it was recorded, and nobody can stop it */
  recorded(4096);
  want.unfinished++;
  stop(NULL);
  state(NULL, SEND_WAIT, 1);
  state_alone(NULL, KERNEL_CH_STOP);
  finalize(NULL);
  whole(context);
  finalize(context);
}

/* An operation that must not get a handle. */
static void refused(void *context, bool counted) {
  struct event event = a_coll();
  check(!is_recorded(start(context, &event)), "a handle for context %p", context);
  want.ignored_handles += counted;
}

static void odd_contexts(void) {
  void *living = init(), *ended = init();
  struct event event = a_coll();
  whole(living);
  whole(ended);
  finalize(ended);
  refused(NULL, true);
  refused((void *)(uintptr_t)0x7fffdeadbeefULL, true);
  refused((void *)~(uintptr_t)0, true);
  refused(ended, true);
  refused((char *)living + 1, true);                  /* an index never used */
  refused((char *)living + (1ULL << 28), true);       /* another generation */
  refused((void *)((uintptr_t)living ^ 1ULL << 60), true); /* another process' */
  refused((void *)((uintptr_t)living | 0xfffffffULL), true);
  refused(&event, true);
  finalize(ended), want.ignored_handles++;
  finalize((void *)(uintptr_t)0x1234), want.ignored_handles++;
  whole(living);
  finalize(living);
  refused(living, true);
}

static void ranks(void) {
  void *context = init_as(0xab, "name", 5, &mask_given);
  struct event event = a_coll();
  event.rank = version->told ? 0 : 5;
  for (int i = 0; i < 3; i++) {
    enqueue(context, event, 4096);
    event.rank = 7 + i;
  }
  finalize(context);
  puts("expect rank 5");
}

static void made_again(void) {
  for (int i = 0; i < 100; i++) {
    load();
    void *contexts[3];
    for (int j = 0; j < 3; j++) contexts[j] = init();
    for (int j = 0; j < 3; j++) whole(contexts[j]);
    for (int j = 0; j < 3; j++) finalize(contexts[j]);
    check(dlclose(library) == 0, "dlclose");
  }
  load();
}

/* As many as a job may make that runs for long: the figures are all there, the memory for them is bounded. */
static void others(void) {
  for (uint64_t i = 0; i < 1000; i++) {
    void *context = init_as(0x1000 + i, NULL, 0, &mask_given);
    struct event event = a_coll();
    event.comm = 0x1000 + i;
    void *operation = enqueue(context, event, 4096);
    kernel(context, operation, 0);
    transfer(context, operation, 512);
    timed(true, true);
    finalize(context);
    if (i % 100 == 0) flush();
  }
  /* with that short a settling time, children of a host that is not let run may come too late */
  want.orphans = want.gpu_timed = want.proxy_timed = want.transfers = want.transfer_bytes = ANY;
  /* those that have ended for long enough are taken together */
  pause_milliseconds(500);
  flush();
  printf("expect communicators %d\n", 100);
}

/* 4096 are recorded; what happens in those beyond is dropped and counted. */
static void many_communicators(void) {
  enum { ALL = 5000, RECORDED = 4096 };
  static void *contexts[ALL];
  for (int i = 0; i < ALL; i++) contexts[i] = init_as(0x1000 + (uint64_t)i, NULL, 0, &mask_given);
  for (int i = 0; i < ALL; i++) {
    if (i < RECORDED) {
      struct event event = a_coll();
      event.comm = 0x1000 + (uint64_t)i;
      enqueue(contexts[i], event, 4096);
    } else {
      refused(contexts[i], false);
      want.dropped++;
    }
  }
  for (int i = 0; i < ALL; i++) finalize(contexts[i]);
  want.warnings = ANY;
}

#endif
