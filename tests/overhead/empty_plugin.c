/* The least that a strictly synchronous metric plugin can do: counters that are always 0. Score-P calls it empty_plugin. */
#include <scorep/SCOREP_MetricPlugins.h>
#include <stdlib.h>
#include <string.h>

static int32_t initialize(void) {
  return 0;
}

static void finalize(void) {
}

/* One counter a token, which is its name: a token for each, as Score-P reads a list of several after it has freed it. */
static SCOREP_Metric_Plugin_MetricProperties *get_event_info(char *token) {
  SCOREP_Metric_Plugin_MetricProperties *list = calloc(2, sizeof *list);
  list->name = strdup(token);
  list->mode = SCOREP_METRIC_MODE_ACCUMULATED_START;
  list->value_type = SCOREP_METRIC_VALUE_UINT64;
  list->base = SCOREP_METRIC_BASE_DECIMAL;
  return list;
}

static int32_t add_counter(char *name) {
  return name[0];
}

static uint64_t get_current_value(int32_t id) {
  (void)id;
  return 0;
}

SCOREP_METRIC_PLUGIN_ENTRY(empty_plugin) {
  return (SCOREP_Metric_Plugin_Info){
      .plugin_version = SCOREP_METRIC_PLUGIN_VERSION,
      .run_per = SCOREP_METRIC_PER_THREAD,
      .sync = SCOREP_METRIC_STRICTLY_SYNC,
      .initialize = initialize,
      .finalize = finalize,
      .get_event_info = get_event_info,
      .add_counter = add_counter,
      .get_current_value = get_current_value,
  };
}
