/* What a recording and a second plugin must not change: what lives long among many others, what never ends, what comes last. */
#ifndef LISTENERS_H
#define LISTENERS_H

#include "threads.h"

static struct event a_group(void) { return (struct event){.type = GROUP}; }

/* A send that is under way while NUMBER other events begin and, perhaps, end. */
static void long_send(bool ending) {
  void *context = init();
  void *operation = coll(context);
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  event = a_group();
  for (long i = 0; i < number; i++) {
    void *group = start(context, &event);
    if (ending) stop(group);
  }
  state(step, SEND_WAIT, 4096);
  stop(step), stop(proxy);
  sent(4096), timed(false, true);
  finalize(context);
}

static void send_among_many(void) { long_send(true); }
static void send_among_endless(void) { long_send(false), want.warnings = ANY; }

static void communicator_among_many(void) {
  void *world = init();
  coll(world);
  for (long i = 0; i < number; i++) finalize(init());
  for (int i = 0; i < 10; i++) whole(world);
  finalize(world);
  /* more than the collector can follow at that speed */
  want.warnings = ANY;
}

/* A step that the core does not record, since its operation is another process', is started again and again; then a send. */
static void steps_again(void) {
  void *context = init();
  struct event event = a_proxy_op(NULL);
  event.pid = getpid() + 1;
  event = a_step(start(context, &event), 0);
  want.foreign_proxy_ops++;
  for (long i = 0; i < number; i++) start(context, &event);
  want.orphans = number;
  whole(context);
  finalize(context);
}

static void *late_context, *late_handle;

static void *late_work(void *unused) {
  (void)unused;
  stop(late_handle);
  whole(late_context);
  return NULL;
}

/* Runs when the process ends: what the main thread and a new one do then is recorded like anything before. */
static void at_the_end(void) {
  struct event event = a_coll();
  void *handle = start(late_context, &event);
  check(is_recorded(handle), "a start at the end is not recorded");
  recorded(4096);
  stop(handle);
  pthread_t thread;
  check(pthread_create(&thread, NULL, late_work, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
  finalize(late_context);
  want.gpu_timed = want.proxy_timed = want.out_of_step = ANY;
  print_wanted();
}

static void callbacks_at_exit(void) {
  late_context = init();
  whole(late_context);
  struct event event = a_coll();
  late_handle = start(late_context, &event);
  recorded(4096);
  /* registered after the plugin's, so called before them */
  check(atexit(at_the_end) == 0, "no atexit");
  exit(0);
}

#endif
