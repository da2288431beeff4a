/* Score-P's definitions, as its stand-in keeps them: strings, regions, metrics, sampling sets and attributes. A handle is a number; one
 * of another kind is a fault. */
#ifndef SCORE_P_DEFINITIONS_H
#define SCORE_P_DEFINITIONS_H

#include "stand_in.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What is declared with it is exported. */
#define EXPORTED __attribute__((visibility("default")))

/* Where Score-P aborts the application, or records nonsense, the stand-in aborts. */
static void right(bool is, const char *what, ...) {
  if (is) return;
  va_list more;
  va_start(more, what);
  fputs("Score-P: ", stderr);
  vfprintf(stderr, what, more);
  va_end(more);
  fputs("\n", stderr);
  abort();
}

static struct set_up set_up;

EXPORTED volatile int scorep_measurement_phase = BEFORE;
static enum phase phase = BEFORE;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_main(void) { return getpid() == (pid_t)syscall(SYS_gettid); }

/* Only the main thread, and only between the measurement's begin and the unification. */
static void allowed(const char *function) {
  right(is_main(), "%s on another thread than the main one", function);
  right(phase == WITHIN || phase == AFTER, "%s in phase %d", function, phase);
}

enum kind { STRING = 1, REGION, METRIC, SAMPLING_SET, ATTRIBUTE, LOCATION_GROUP };

struct definition {
  enum kind kind;
  char *name, *unit;
  int type, paradigm, mode, profiling; /* what the kind has of it */
  uint32_t metric;                     /* a sampling set's */
};

static struct definition *definitions;
static uint32_t definition_count;

static uint32_t defined(struct definition definition) {
  pthread_mutex_lock(&lock);
  definitions = realloc(definitions, (definition_count + 1) * sizeof *definitions);
  definitions[definition_count++] = definition;
  uint32_t handle = definition_count;
  pthread_mutex_unlock(&lock);
  return handle;
}

static struct definition definition(uint32_t handle, enum kind kind) {
  pthread_mutex_lock(&lock);
  right(handle > 0 && handle <= definition_count, "handle %u was never given", handle);
  struct definition found = definitions[handle - 1];
  pthread_mutex_unlock(&lock);
  right(found.kind == kind, "handle %u is of kind %d, not %d", handle, found.kind, kind);
  return found;
}

static char *named(const char *name) {
  right(name != NULL, "a definition without a name");
  return strdup(name);
}

EXPORTED uint32_t SCOREP_Definitions_NewString(const char *string) {
  allowed("SCOREP_Definitions_NewString");
  right(string != NULL, "no string");
  for (uint32_t i = 0; i < definition_count; i++)
    if (definitions[i].kind == STRING && strcmp(definitions[i].name, string) == 0) return i + 1;
  return defined((struct definition){.kind = STRING, .name = named(string)});
}

EXPORTED uint32_t SCOREP_Definitions_NewRegion(const char *name, const char *canonical, uint32_t file, uint32_t begin, uint32_t end,
                                               int paradigm, int type) {
  (void)canonical, (void)begin, (void)end;
  allowed("SCOREP_Definitions_NewRegion");
  right(file == 0, "a source file that was never defined");
  right(paradigm >= 0 && paradigm < NO_PARADIGM, "region %s of paradigm %d", name, paradigm);
  right(type >= 0 && type < LAST_REGION_TYPE, "region %s of type %d", name, type);
  return defined((struct definition){.kind = REGION, .name = named(name), .type = type, .paradigm = paradigm});
}

EXPORTED uint32_t SCOREP_Definitions_NewMetric(const char *name, const char *description, int source, int mode, int type, int base,
                                               int64_t exponent, const char *unit, int profiling, uint32_t parent) {
  (void)exponent;
  allowed("SCOREP_Definitions_NewMetric");
  right(description != NULL && unit != NULL, "metric %s without description or unit", name);
  right(source >= 0 && source < 7 && mode >= 0 && mode < 10 && type >= 0 && type < 3 && base >= 0 && base < 2, "metric %s", name);
  right(profiling >= 0 && profiling < 5, "metric %s of profiling type %d", name, profiling);
  right(parent == 0 || definition(parent, METRIC).name != NULL, "metric %s has no parent", name);
  struct definition metric = {.kind = METRIC, .name = named(name), .unit = strdup(unit), .type = type, .mode = mode, .profiling = profiling};
  return defined(metric);
}

EXPORTED uint32_t SCOREP_Definitions_NewSamplingSet(uint8_t count, const uint32_t *metrics, int occurrence, int class) {
  allowed("SCOREP_Definitions_NewSamplingSet");
  right(count == 1 && metrics != NULL, "a sampling set of %d metrics cannot be triggered with one value", count);
  right(occurrence >= 0 && occurrence < 3 && class >= 0 && class < 3, "a sampling set of occurrence %d, class %d", occurrence, class);
  struct definition metric = definition(*metrics, METRIC);
  return defined((struct definition){.kind = SAMPLING_SET, .name = metric.name, .type = metric.type, .metric = *metrics});
}

EXPORTED uint32_t SCOREP_Definitions_NewAttribute(const char *name, const char *description, int type) {
  allowed("SCOREP_Definitions_NewAttribute");
  right(description != NULL, "attribute %s without description", name);
  right(type == ATTRIBUTE_UINT64 || type == ATTRIBUTE_STRING, "attribute %s of type %d", name, type);
  return defined((struct definition){.kind = ATTRIBUTE, .name = named(name), .type = type});
}

static void print_definitions(void) {
  for (uint32_t i = 0; i < definition_count; i++) {
    const struct definition *it = &definitions[i];
    if (it->kind == REGION) printf("region\t%s\t%d\t%d\n", it->name, it->paradigm, it->type);
    if (it->kind == METRIC) printf("metric\t%s\t%s\t%d\t%d\n", it->name, it->unit, it->mode, it->profiling);
    if (it->kind == ATTRIBUTE) printf("attribute\t%s\t%d\n", it->name, it->type);
  }
}

#endif
