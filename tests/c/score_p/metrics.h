/* Score-P's metric service: metric plugins and their counters, one set of ids a thread. */
#ifndef METRICS_H
#define METRICS_H

#include "metric_plugin.h"
#include "true_time.h"
#include <ctype.h>

enum { MOST_PLUGINS = 4, MOST_METRICS = 256, MOST_OF_TOKEN = 20 };
enum { STRICTLY_SYNCHRONOUS = 0, SYNCHRONOUS = 1, ASYNCHRONOUS = 3 };
enum { BEGIN, BEGIN_MPP, END };
/* a synchronous counter has a new value at two events */
enum { MOST_OF_VALUE = 2 };

struct service {
  const char *name;
  void *file;
  struct metric_plugin plugin;
  char *metrics[MOST_METRICS];
  int count;
};
static struct service services[MOST_PLUGINS];
static int service_count;

/* The calling thread's ids, what its counters showed last, and how often. */
struct thread_metrics { int32_t ids[MOST_METRICS]; uint64_t last[MOST_METRICS]; int times[MOST_METRICS]; };
static _Thread_local struct thread_metrics of_thread[MOST_PLUGINS];

/* Score-P frees names and the list, and nothing else. */
static void take_metrics(struct service *service, char *token) {
  struct properties *list = service->plugin.get_event_info(token);
  check(list != NULL, "no list for %s: Score-P aborts", token);
  int given = 0;
  for (; list[given].name; free(list[given].name), given++) {
    check(service->count < MOST_METRICS, "too many metrics");
    service->metrics[service->count++] = strdup(list[given].name);
  }
  check(given <= MOST_OF_TOKEN, "token %s has %d metrics: Score-P reads the list after freeing it", token, given);
  free(list);
}

static void add_counters(void) {
  for (int i = 0; i < service_count; i++) {
    for (int j = 0; j < services[i].count; j++) {
      of_thread[i].ids[j] = services[i].plugin.add_counter(services[i].metrics[j]);
      check(of_thread[i].ids[j] >= 0 || services[i].plugin.synchronicity == ASYNCHRONOUS, "%s is refused: Score-P aborts", services[i].metrics[j]);
    }
  }
}

static void load_service(char *name) {
  check(service_count < MOST_PLUGINS, "too many plugins");
  struct service *service = &services[service_count++];
  char text[128], *tokens, *rest;
  snprintf(text, sizeof text, "lib%s.so", name);
  *service = (struct service){.name = strdup(name), .file = dlopen(text, RTLD_NOW)};
  check(service->file != NULL, "%s", dlerror());
  library = service->file;
  service->plugin = metric_plugin(name);
  const struct metric_plugin *plugin = &service->plugin;
  check(plugin->version == 1, "%s is of version %u", name, plugin->version);
  check(plugin->initialize && plugin->finalize && plugin->get_event_info && plugin->add_counter, "%s lacks a function", name);
  if (plugin->set_clock_function) plugin->set_clock_function(score_p_ticks);
  check(plugin->initialize() == 0, "initialize");
  snprintf(text, sizeof text, "SCOREP_METRIC_%s", name);
  for (char *at = text; *at; at++) *at = (char)toupper(*at);
  tokens = strdup(getenv(text) ? getenv(text) : "");
  for (char *token = strtok_r(tokens, ",", &rest); token; token = strtok_r(NULL, ",", &rest)) take_metrics(service, token);
  free(tokens);
}

/* As with SCOREP_METRIC_PLUGINS=name,name and SCOREP_METRIC_<NAME>=token,token. */
static void load_metrics(void) {
  char *rest, *names = strdup(getenv("SCOREP_METRIC_PLUGINS") ? getenv("SCOREP_METRIC_PLUGINS") : "");
  for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) load_service(name);
  free(names);
  add_counters();
}

/* Score-P tells no plugin without a metric. */
static void synchronize(int mode) {
  for (int i = 0; i < service_count; i++)
    if (services[i].plugin.synchronize && services[i].count > 0) services[i].plugin.synchronize(true, mode);
}

static bool is_read_at_events(const struct metric_plugin *plugin) {
  return plugin->synchronicity == STRICTLY_SYNCHRONOUS || plugin->synchronicity == SYNCHRONOUS;
}

/* Before every enter and leave of the calling thread. A synchronous counter has a value where it has changed. */
static void read_counters(void) {
  for (int i = 0; i < service_count; i++) {
    const struct metric_plugin *plugin = &services[i].plugin;
    if (!is_read_at_events(plugin)) continue;
    for (int j = 0; j < services[i].count; j++) {
      uint64_t *last = &of_thread[i].last[j], value = *last;
      int id = of_thread[i].ids[j];
      if (plugin->synchronicity == STRICTLY_SYNCHRONOUS) value = plugin->get_current_value(id);
      else if (!plugin->get_optional_value(id, &value)) continue;
      int *times = &of_thread[i].times[j];
      *times = value == *last ? *times + 1 : 1;
      check(*times <= MOST_OF_VALUE || plugin->synchronicity == STRICTLY_SYNCHRONOUS, "%s has not changed", services[i].metrics[j]);
      check(value >= *last, "%s falls from %lu to %lu", services[i].metrics[j], (unsigned long)*last, (unsigned long)value);
      *last = value;
    }
  }
}

static void print_counters(const char *thread) {
  read_counters();
  for (int i = 0; i < service_count; i++)
    for (int j = 0; j < services[i].count; j++)
      if (is_read_at_events(&services[i].plugin))
        printf("value\t%s\t%s\t%lu\n", thread, services[i].metrics[j], (unsigned long)of_thread[i].last[j]);
}

static void unload_metrics(void) {
  for (int i = 0; i < service_count; i++) {
    services[i].plugin.finalize();
    dlclose(services[i].file);
  }
}

#endif
