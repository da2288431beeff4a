/* Score-P's metric plugin interface, version 1, as its host sees it. */
#ifndef METRIC_PLUGIN_H
#define METRIC_PLUGIN_H

#include "../nccl/plugin.h"

/* What Score-P's plugin interface calls SCOREP_Metric_Plugin_Info and SCOREP_Metric_Plugin_MetricProperties. */
struct properties {
  char *name, *description;
  int mode, type, base;
  int64_t exponent;
  char *unit;
};
struct metric_plugin {
  uint32_t version;
  int run_per, synchronicity;
  uint64_t interval;
  int32_t (*initialize)(void);
  void (*finalize)(void);
  struct properties *(*get_event_info)(char *);
  int32_t (*add_counter)(char *);
  uint64_t (*get_current_value)(int32_t);
  bool (*get_optional_value)(int32_t, uint64_t *);
  void (*set_clock_function)(uint64_t (*)(void));
  uint64_t (*get_all_values)(int32_t, void **);
  void (*synchronize)(bool, int);
  uint64_t reserved[92];
};

/* One of the library's: nccl_plugin, or nccl_series_plugin. */
static struct metric_plugin metric_plugin(const char *name) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "SCOREP_MetricPlugin_%s_get_info", name);
  struct metric_plugin (*get)(void) = (struct metric_plugin(*)(void))dlsym(library, symbol);
  check(get != NULL, "no %s", symbol);
  return get();
}

#endif
