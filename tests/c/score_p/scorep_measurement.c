/* A stand-in for libscorep_measurement of Score-P 8.4 and 9.0: the functions that the lanes and the host's regions are written with, strict
 * where the real one aborts the application. It keeps all that is recorded, and prints it in the end, fields separated by tabs:
 *
 *   begin TIME                                      the begin of the measurement
 *   region NAME PARADIGM TYPE
 *   metric NAME UNIT MODE PROFILING                 PROFILING: 0 is exclusive, a sum
 *   attribute NAME TYPE
 *   location NUMBER TYPE PARADIGM NAME              TYPE: 0 is a thread, 1 a GPU
 *   event LOCATION TIME enter REGION [NAME=VALUE]...
 *   event LOCATION TIME leave REGION [NAME=VALUE]...
 *   event LOCATION TIME counter METRIC VALUE
 *   memory USED TOTAL                               bytes
 *   vanished EVENTS                                 made while recording was off
 *
 * A symbol is left out, or the library has another name, in copies that the tests make. */
#define _GNU_SOURCE
#include "score_p_locations.h"

static uint32_t group;

/* What every function of the stand-in's own and of Score-P's is declared as; nobody includes it. */
#define DECLARE(name, parameters) void stand_in_##name parameters;
STAND_IN(DECLARE)

EXPORTED void stand_in_begin(const struct set_up *told) {
  right(phase == BEFORE && location_count == 0, "begun twice");
  set_up = *told;
  begun = set_up.clock();
  group = defined((struct definition){.kind = LOCATION_GROUP, .name = named("Process")});
  take_pages(OWN_PAGES);
  const char *used = getenv("STAND_IN_USED"); /* MiB of the trace until now */
  if (used) take_pages((strtoull(used, NULL, 10) << 20) / PAGE);
  stand_in_know_thread("Master thread");
}

EXPORTED void stand_in_know_thread(const char *name) {
  pthread_mutex_lock(&lock);
  own_location = new_location(CPU_LOCATION, NO_PARADIGM, name);
  pthread_mutex_unlock(&lock);
}

EXPORTED void stand_in_enter_phase(enum phase next) {
  right(next == phase + 1, "phase %d after %d", next, phase);
  phase = next;
  scorep_measurement_phase = next < AFTER ? next : AFTER;
}

EXPORTED void stand_in_switch_recording(bool on) { recording = on; }
EXPORTED void stand_in_flush(void) { is_flushed = true; }

EXPORTED void stand_in_print(void) {
  printf("begin\t%lu\n", (unsigned long)begun);
  print_definitions();
  print_locations();
  printf("memory\t%lu\t%lu\n", (unsigned long)pages_used * PAGE, (unsigned long)set_up.memory);
  printf("vanished\t%lu\n", (unsigned long)vanished);
}

EXPORTED uint32_t SCOREP_GetProcessLocationGroup(void) { return group; }
EXPORTED uint64_t SCOREP_GetBeginEpoch(void) { return is_faulty("begin") ? UINT64_MAX : begun; }
EXPORTED void SCOREP_EnableRecording(void) { recording = true; }
EXPORTED void SCOREP_DisableRecording(void) { recording = false; }
EXPORTED bool SCOREP_RecordingEnabled(void) { return recording && !is_faulty("recording"); }
EXPORTED bool SCOREP_Status_HasOtf2Flushed(void) { return has_flushed(); }

EXPORTED bool SCOREP_Env_DoTracing(void) { return set_up.tracing; }
EXPORTED bool SCOREP_Env_DoProfiling(void) { return set_up.profiling; }
EXPORTED uint64_t SCOREP_Env_GetTotalMemory(void) { return set_up.memory; }

/* The free memory. */

struct allocator { uint64_t mark; };
struct page_manager { struct allocator *allocator; };
struct page_statistics {
  uint32_t pages_allocated, pages_used;
  size_t memory_allocated, memory_used, memory_available, alignment_loss;
};

static struct allocator allocator = {0x5c02e9};
static struct page_manager definition_pages = {&allocator};

/* The function is Score-P 8's, the variable that of 8 and 9. */
static struct page_manager *page_manager = &definition_pages;
extern EXPORTED struct page_manager *scorep_definitions_page_manager __attribute__((alias("page_manager")));
EXPORTED struct page_manager *SCOREP_Memory_GetLocalDefinitionPageManager(void) { return page_manager; }
EXPORTED uint64_t SCOREP_Memory_GetPageSize(void) { return is_faulty("page") ? 3 : PAGE; }

/* Memory that is taken and given back. */
struct taken_pages { struct allocator *allocator; uint64_t pages; };

EXPORTED struct taken_pages *SCOREP_Allocator_CreatePageManager(struct allocator *which) {
  right(which == &allocator, "%p is no allocator", (void *)which);
  struct taken_pages *made = calloc(1, sizeof *made);
  made->allocator = which;
  return made;
}

EXPORTED void *SCOREP_Allocator_Alloc(struct taken_pages *which, size_t size) {
  right(which->allocator == &allocator, "no page manager");
  uint64_t pages = (size + PAGE - 1) / PAGE;
  if ((pages_used + pages) * PAGE > set_up.memory) return NULL;
  pages_used += pages, which->pages += pages;
  return which;
}

EXPORTED void SCOREP_Allocator_DeletePageManager(struct taken_pages *which) {
  right(which->allocator == &allocator, "no page manager");
  pages_used -= which->pages;
  free(which);
}

EXPORTED uint32_t SCOREP_Allocator_GetMaxNumberOfPages(const struct allocator *which) {
  right(which == &allocator, "%p is no allocator", (const void *)which);
  return (uint32_t)(set_up.memory / PAGE);
}

/* As Score-P does: of the first it writes the pages alone, and of the second it adds to what is there. */
EXPORTED void SCOREP_Allocator_GetStats(struct allocator *which, struct page_statistics *pages, struct page_statistics *maintenance) {
  right(which == &allocator, "%p is no allocator", (const void *)which);
  right(pages != NULL && maintenance != NULL, "no place for the statistics");
  /* after the first flush, what could not be had counts as used */
  pages->pages_allocated = pages->pages_used = (uint32_t)(has_flushed() ? set_up.memory / PAGE + 128 : pages_used);
  maintenance->pages_allocated = maintenance->pages_used = 1;
  maintenance->memory_allocated = PAGE;
  maintenance->memory_available += 64;
  maintenance->memory_used = maintenance->memory_allocated - maintenance->memory_available;
}

/* Regions of the calling thread, at its own time. A thread that Score-P does not know has none: the real one makes it a location
 * as an orphan, or aborts. */

static _Thread_local volatile int depth_inside;

EXPORTED volatile int *scorep_get_in_measurement(void) { return &depth_inside; }

static location *of_thread(const char *function) {
  right(own_location != NULL, "%s on a thread that is not known", function);
  right(phase == WITHIN, "%s in phase %d", function, phase);
  return own_location;
}

EXPORTED void SCOREP_EnterRegion(uint32_t region) {
  location *at = of_thread("SCOREP_EnterRegion");
  enter(at, set_up.clock(), region);
}

EXPORTED void SCOREP_ExitRegion(uint32_t region) {
  location *at = of_thread("SCOREP_ExitRegion");
  leave(at, set_up.clock(), region);
}
