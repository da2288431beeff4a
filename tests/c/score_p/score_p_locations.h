/* Score-P's locations and their events, as its stand-in keeps them. Times of a location do not fall, its regions nest, and it takes
 * memory of the measurement. */
#ifndef SCORE_P_LOCATIONS_H
#define SCORE_P_LOCATIONS_H

#include "score_p_definitions.h"

enum {
  CHUNK = 1 << 20,      /* a location's first piece of the trace */
  LOCATION_PAGES = 4,   /* what it takes besides */
  OWN_PAGES = 64,       /* what the measurement takes at first */
  DEPTH = 256
};

/* SCOREP_PAGE_SIZE. */
#define PAGE page_size()
static uint64_t page_size(void) {
  const char *told = getenv("SCOREP_PAGE_SIZE");
  return told ? strtoull(told, NULL, 10) << 10 : 8192;
}

struct score_p_event {
  char what; /* '<' enter, '>' leave, '=' counter */
  uint64_t time, value;
  uint32_t handle;
  char *attributes;
};

struct SCOREP_Location {
  uint32_t number;
  int type, paradigm;
  char *name, *attributes;
  uint64_t last;
  uint32_t stack[DEPTH];
  int depth;
  struct score_p_event *events;
  size_t count, room;
};
typedef struct SCOREP_Location location;

static location *locations[4096];
static uint32_t location_count;

/* The calling thread's. */
static _Thread_local location *own_location;

static uint64_t pages_used;
static uint64_t begun;

/* Whether the trace was written to its file for want of memory. */
static bool is_flushed;
static bool has_flushed(void) { return is_flushed; }
static bool recording = true;
static uint64_t vanished;

static void take_pages(uint64_t pages) {
  pages_used += pages;
  right(pages_used * PAGE <= set_up.memory, "Out of memory. Please increase SCOREP_TOTAL_MEMORY=%lu and try again.", (unsigned long)set_up.memory);
}

static location *new_location(int type, int paradigm, const char *name) {
  right(location_count < sizeof locations / sizeof *locations, "too many locations");
  take_pages(LOCATION_PAGES + (set_up.tracing ? (CHUNK + PAGE - 1) / PAGE : 0));
  location *made = calloc(1, sizeof *made);
  *made = (location){.number = location_count, .type = type, .paradigm = paradigm, .name = named(name)};
  locations[location_count++] = made;
  return made;
}

static void is_location(const location *which) {
  bool found = false;
  for (uint32_t i = 0; i < location_count; i++) found |= locations[i] == which;
  right(found, "%p is no location", (const void *)which);
}

static void record(location *at, struct score_p_event event) {
  right(event.time >= at->last, "Wrong timestamp order on location %u: %lu (last recorded) > %lu (current).", at->number,
        (unsigned long)at->last, (unsigned long)event.time);
  at->last = event.time;
  if (event.what != '=') event.attributes = at->attributes, at->attributes = NULL;
  if (at->count == at->room) {
    at->room = at->room ? 2 * at->room : 64;
    at->events = realloc(at->events, at->room * sizeof *at->events);
  }
  at->events[at->count++] = event;
}

static void enter(location *at, uint64_t time, uint32_t region) {
  definition(region, REGION);
  right(at->type != METRIC_LOCATION, "a region on a metric location");
  if (!recording) { vanished++; return; }
  right(at->depth < DEPTH, "too deep");
  at->stack[at->depth++] = region;
  record(at, (struct score_p_event){.what = '<', .time = time, .handle = region});
}

static void leave(location *at, uint64_t time, uint32_t region) {
  definition(region, REGION);
  if (!recording) { vanished++; return; }
  right(at->depth > 0, "Exit event for other than current region occurred at location %u: none is entered", at->number);
  uint32_t current = at->stack[at->depth - 1];
  right(current == region, "Exit event for other than current region occurred at location %u: Expected exit for region %u. Exited region %u",
        at->number, current, region);
  at->depth--;
  record(at, (struct score_p_event){.what = '>', .time = time, .handle = region});
}

/* A location that others than its thread write to: one of no thread. */
static void writable(location *at, const char *function) {
  allowed(function);
  is_location(at);
  right(at->type != CPU_LOCATION, "%s on the location of a thread", function);
}

/* Whether the stand-in has this fault, as an unknown release may: STAND_IN_FAULT names it. */
static bool is_faulty(const char *fault) {
  const char *named = getenv("STAND_IN_FAULT");
  return named && strcmp(named, fault) == 0;
}

EXPORTED location *SCOREP_Location_CreateNonCPULocation(location *parent, int type, int paradigm, const char *name, uint32_t group) {
  allowed("SCOREP_Location_CreateNonCPULocation");
  right(!is_faulty("abort"), "a location is made in another way here");
  while (is_faulty("hang")) sleep(1);
  if (is_faulty("exit")) exit(7);
  if (is_faulty("none")) return NULL;
  if (parent) is_location(parent);
  right(type != CPU_LOCATION, "SCOREP_CreateNonCPULocation() does not support creation of CPU locations.");
  right(type == GPU_LOCATION || (type == METRIC_LOCATION && paradigm == NO_PARADIGM), "Only GPU locations support a paradigm.");
  right(type != GPU_LOCATION || (paradigm >= 0 && paradigm <= NO_PARADIGM), "location %s of paradigm %d", name, paradigm);
  definition(group, LOCATION_GROUP);
  right(!has_flushed() || !set_up.profiling, "location %s after the trace was written to its file: its profile begins in used memory", name);
  return new_location(type, paradigm, name);
}

EXPORTED void SCOREP_Location_SetName(location *which, const char *name) {
  allowed("SCOREP_Location_SetName");
  is_location(which);
  which->name = named(name);
}

EXPORTED void SCOREP_Location_EnterRegion(location *at, uint64_t time, uint32_t region) {
  writable(at, "SCOREP_Location_EnterRegion");
  enter(at, time, region);
}

EXPORTED void SCOREP_Location_ExitRegion(location *at, uint64_t time, uint32_t region) {
  writable(at, "SCOREP_Location_ExitRegion");
  leave(at, time, region);
}

EXPORTED void SCOREP_Location_TriggerCounterUint64(location *at, uint64_t time, uint32_t set, uint64_t value) {
  writable(at, "SCOREP_Location_TriggerCounterUint64");
  struct definition found = definition(set, SAMPLING_SET);
  right(found.type == VALUE_UINT64, "metric %s is not of type UINT64", found.name);
  if (!recording) { vanished++; return; }
  record(at, (struct score_p_event){.what = '=', .time = time, .handle = set, .value = value});
}

/* Attributes wait for the location's next enter or leave; a counter has none. There are none without a trace. */
EXPORTED void SCOREP_Location_AddAttribute(location *at, uint32_t attribute, const void *value) {
  writable(at, "SCOREP_Location_AddAttribute");
  struct definition found = definition(attribute, ATTRIBUTE);
  right(value != NULL, "attribute %s has no value", found.name);
  if (!recording || !set_up.tracing) return;
  char *before = at->attributes ? at->attributes : strdup(""), *now;
  char pattern[64];
  snprintf(pattern, sizeof pattern, "\t%s=", found.name);
  right(strstr(before, pattern) == NULL, "attribute %s twice", found.name);
  int length = found.type == ATTRIBUTE_UINT64
                   ? asprintf(&now, "%s%s%lu", before, pattern, *(const unsigned long *)value)
                   : asprintf(&now, "%s%s%s", before, pattern, definition(*(const uint32_t *)value, STRING).name);
  right(length > 0, "no memory");
  free(before);
  at->attributes = now;
}

static void print_locations(void) {
  for (uint32_t i = 0; i < location_count; i++) {
    const location *it = locations[i];
    right(it->depth == 0, "region %u on location %s is never left", it->depth ? it->stack[it->depth - 1] : 0, it->name);
    right(it->attributes == NULL, "attributes on location %s belong to no event", it->name);
    printf("location\t%u\t%d\t%d\t%s\n", it->number, it->type, it->paradigm, it->name);
    for (size_t j = 0; j < it->count; j++) {
      const struct score_p_event *event = &it->events[j];
      const char *what = event->what == '<' ? "enter" : event->what == '>' ? "leave" : "counter";
      printf("event\t%u\t%lu\t%s\t%s", it->number, (unsigned long)event->time, what, definitions[event->handle - 1].name);
      if (event->what == '=') printf("\t%lu", (unsigned long)event->value);
      printf("%s\n", event->attributes ? event->attributes : "");
    }
  }
}

#endif
