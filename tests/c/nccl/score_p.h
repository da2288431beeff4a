/* Score-P beside NCCL. */
#ifndef SCORE_P_H
#define SCORE_P_H

#include "../score_p/metric_plugin.h"
#include "operations.h"

/* Both of the library's metric plugins as Score-P uses them, NCCL in between. Whatever fails inside, Score-P gets no NULL, no
 * refusal and no counter that falls. */
static void score_p(void) {
  const char *names[] = {"nccl_plugin", "nccl_series_plugin"};
  char asked[] = "*";
  struct metric_plugin plugins[2];
  int32_t ids[2][256], counts[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    plugins[i] = metric_plugin(names[i]);
    struct metric_plugin *plugin = &plugins[i];
    if (plugin->set_clock_function) plugin->set_clock_function(gpu_clock);
    check(plugin->initialize() == 0, "initialize");
    if (plugin->synchronize) plugin->synchronize(true, 0);
    struct properties *all = plugin->get_event_info(asked);
    check(all != NULL, "no list of counters");
    for (; all[counts[i]].name && counts[i] < 256; counts[i]++) {
      ids[i][counts[i]] = plugin->add_counter(all[counts[i]].name);
      /* one of the second plugin, which is asynchronous, may be refused */
      check(i == 1 || ids[i][counts[i]] >= 0, "a counter is refused");
    }
  }
  static uint64_t last[256];
  void *context = init();
  for (int round = 0; round < 5; round++) {
    struct event event = a_coll();
    void *operation = start(context, &event);
    stop(operation);
    kernel(context, operation, 0);
    transfer(context, operation, 64);
    flush();
    for (int j = 0; plugins[0].get_current_value && j < counts[0]; j++) {
      uint64_t value = plugins[0].get_current_value(ids[0][j]);
      check(value >= last[j], "counter %d falls", j);
      last[j] = value;
    }
  }
  finalize(context);
  for (int i = 0; i < 2; i++) {
    if (plugins[i].synchronize) plugins[i].synchronize(true, 2);
    plugins[i].finalize();
  }
  fflush(stdout);
  exit(0);
}

/* Waits until a counter is there; the test's patience is the limit. */
static void await_counter(struct metric_plugin *plugin, char *name, uint64_t value) {
  while (plugin->get_current_value(plugin->add_counter(name)) < value) flush(), pause_milliseconds(10);
}

/* Operations that nothing more comes of are counted while their communicator lives on: those with a step that never stops after the
 * deadline, as unfinished, and those whose kernel channels never came once a later operation has run. */
static void reaped(void) {
  struct metric_plugin plugin = metric_plugin("nccl_plugin");
  void *context = init();
  for (int i = 0; i < 3; i++) {
    void *operation = coll(context);
    struct event event = a_proxy_op(operation);
    void *proxy = start(context, &event);
    event = a_step(proxy, 0);
    start(context, &event);
    want.unfinished++;
  }
  await_counter(&plugin, "nccl_unfinished_ops", 3);
  for (int i = 0; i < 3; i++) coll(context);
  kernel(context, coll(context), 0);
  timed(true, false);
  await_counter(&plugin, "nccl_ops", 7);
  finalize(context);
}

/* Counters never fall, however much is counted: Score-P aborts the application over one that does. */
static void counters_at_their_end(void) {
  struct metric_plugin plugin = metric_plugin("nccl_plugin");
  char asked[] = "*";
  static uint64_t last[256];
  void *context = init();
  struct event event = a_coll();
  event.count = SIZE_MAX;
  struct properties *all = plugin.get_event_info(asked);
  for (int round = 0; round < 4; round++) {
    void *operation = start(context, &event);
    stop(operation);
    kernel(context, operation, 0);
    flush();
    for (int j = 0; all[j].name && j < 256; j++) {
      uint64_t value = plugin.get_current_value(plugin.add_counter(all[j].name));
      check(value >= last[j], "%s falls from %llu to %llu", all[j].name, (unsigned long long)last[j], (unsigned long long)value);
      last[j] = value;
    }
  }
  finalize(context);
  fflush(stdout);
  exit(0);
}

#endif
