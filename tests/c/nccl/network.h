/* Progress threads and network plugins. */
#ifndef NETWORK_H
#define NETWORK_H

#include "operations.h"
#include <pthread.h>

enum { IDLE = 13, ACTIVE = 14, ASLEEP = 15, AWAKE = 16, APPEND = 17, APPEND_END = 18 };

/* What NCCL's own networks pass (version 1 of both). */
struct infiniband { uint8_t type; struct { int device; uint64_t request; int opcode, queue_pair; size_t length; } request; };
struct sockets { uint8_t type; struct { int descriptor, operation; size_t length; } transfer; };

/* One event of a progress thread: its states come between start and stop. */
static void reported(void *context, int first, int second, int appended) {
  struct event event = {.type = PROXY_CTRL};
  void *handle = start(context, &event);
  check(handle != NULL, "no handle for a progress thread's state");
  state(handle, first, 0);
  if (second) state(handle, second, (uint64_t)(unsigned)appended | 0xabcdefULL << 32);
  stop(handle);
}

static void *progress(void *context) {
  reported(context, IDLE, 0, 0);
  for (int i = 0; i < 3; i++) {
    reported(context, ASLEEP, AWAKE, 0);
    reported(context, APPEND, APPEND_END, 5);
    reported(context, ACTIVE, 0, 0);
    reported(context, APPEND, APPEND_END, i);
    reported(context, IDLE, 0, 0);
  }
  return NULL;
}

static void progress_threads(void) {
  void *context = init();
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) check(pthread_create(&threads[i], NULL, progress, context) == 0, "thread");
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  finalize(context);
  /* the progress thread of a family has the context of its first communicator, dead or alive */
  progress(context);
  printf("expect /progress_threads/threads 3\nexpect /progress_threads/sleeps 9\nexpect /progress_threads/appends 18\nexpect /progress_threads/appended 54\n"
         "expect /progress_threads/active 9\nexpect /progress_threads/idle 12\n");
}

/* An event of a network plugin, which stops at once; some send an update before. */
static void net_event(void *context, void *step, int64_t plugin, void *contents) {
  struct event event = {.type = NET_PLUGIN, .parent = step, .plugin = plugin, .contents = contents};
  void *handle = start(context, &event);
  check(is_recorded(handle) == ((version->types & NET_PLUGIN) != 0), "handle %p", handle);
  if (!(version->types & NET_PLUGIN)) want.unknown_events++;
  state(handle, 21, (uint64_t)(uintptr_t)contents), stop(handle);
}

static void network_plugins(void) {
  void *context = init(), *operation = coll(context);
  struct infiniband posted = {.type = 1, .request = {.device = 2, .opcode = 1, .length = 4096}};
  struct sockets begun = {.type = 1, .transfer = {.descriptor = 9, .length = 100}};
  for (int i = 0; i < 6; i++) {
    posted.request.queue_pair = 40 + i % 3;
    net_event(context, operation, 0x10001, &posted);
  }
  posted.request.device = 3, posted.request.length = 0; /* a receive */
  net_event(context, operation, 0x10001, &posted);
  for (begun.transfer.operation = 0; begun.transfer.operation < 2; begun.transfer.operation++) net_event(context, NULL, 0x20001, &begun);
  posted.type = begun.type = 2; /* types of event that nobody knows yet */
  net_event(context, operation, 0x10001, &posted), net_event(context, operation, 0x20001, &begun);
  /* newer contents, other plugins, and nothing: none of it is read */
  const int64_t others[] = {0x10002, 0x20002, 0x30001, 0, -1};
  for (int i = 0; i < 5; i++) net_event(context, operation, others[i], (void *)8);
  net_event(context, operation, 0x10001, NULL), net_event(context, operation, 0x20001, NULL);
  timed(false, false);
  finalize(context);
  if (!(version->types & NET_PLUGIN)) return;
  static const struct { const char *field; long value; } rows[][3] = {
    {{"events", 6}, {"ends", 3}, {"bytes", 6 * 4096}}, {{"events", 1}, {"ends", 1}, {"bytes", 0}},
    {{"events", 1}, {"ends", 1}, {"bytes", 100}},      {{"events", 1}, {"ends", 1}, {"bytes", 100}},
    {{"events", 9}, {"bytes", 0}, {"bytes", 0}},
  };
  for (int row = 0; row < 5; row++)
    for (int i = 0; i < 3; i++) printf("expect /network_events/%d/%s %ld\n", row, rows[row][i].field, rows[row][i].value);
  printf("expect /network_events/0/merged_device 2\nexpect /network_events/1/merged_device 3\n");
}

#endif
