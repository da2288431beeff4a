/* Score-P's side of a process from its start to its end: the stand-in for its measurement library, the substrate plugin, the metric
 * plugins. What a user says to Score-P is said with Score-P's own variables. */
#ifndef MEASUREMENT_H
#define MEASUREMENT_H

#include "metrics.h"
#include "stand_in.h"
#include "substrate_plugin.h"
#include <sys/stat.h>

/* Path of the stand-in; NULL where Score-P is part of the program, and its symbols are not to be found. */
static const char *measurement_path;

#define MEMBER(name, parameters) void (*name) parameters;
static struct { STAND_IN(MEMBER) } stand_in;

static uint32_t (*new_region)(const char *, const char *, uint32_t, uint32_t, uint32_t, int, int);
static void (*enter_region)(uint32_t), (*exit_region)(uint32_t);

static bool recording_is_on = true;
static bool profiling = true;

/* The location of a thread, as plugins see it: an address. */
static _Thread_local char place_of_thread;
#define OWN_LOCATION ((const struct SCOREP_Location *)&place_of_thread)

static bool is_true(const char *name, bool unless_told) {
  const char *told = getenv(name);
  return told && *told ? strchr("tTyY1", *told) != NULL : unless_told;
}

static uint64_t total_memory(void) {
  const char *told = getenv("SCOREP_TOTAL_MEMORY");
  char *unit;
  uint64_t size = strtoull(told && *told ? told : "16000k", &unit, 10);
  return *unit == 'k' || *unit == 'K' ? size << 10 : *unit == 'M' ? size << 20 : *unit == 'G' ? size << 30 : size;
}

static void *symbol(void *file, const char *name) {
  void *found = dlsym(file, name);
  check(found != NULL, "the stand-in has no %s", name);
  return found;
}

static void load_stand_in(void) {
  if (!measurement_path) return;
  void *file = dlopen(measurement_path, RTLD_NOW | RTLD_GLOBAL);
  check(file != NULL, "%s", dlerror());
#define LOOK_UP(name, parameters) stand_in.name = (void (*) parameters)symbol(file, "stand_in_" #name);
  STAND_IN(LOOK_UP)
  struct set_up set_up = {score_p_ticks, is_true("SCOREP_ENABLE_TRACING", false), profiling, total_memory()};
  stand_in.begin(&set_up);
  /* what the host itself instruments with, if the test has not taken it away */
  *(void **)&new_region = dlsym(file, "SCOREP_Definitions_NewRegion");
  *(void **)&enter_region = dlsym(file, "SCOREP_EnterRegion");
  *(void **)&exit_region = dlsym(file, "SCOREP_ExitRegion");
}

static void next_phase(enum phase phase) {
  if (stand_in.enter_phase) stand_in.enter_phase(phase);
}

/* Rank 0 makes the directory; the others do not wait for it. */
static void make_directory(void) {
  const char *directory = getenv("SCOREP_EXPERIMENT_DIRECTORY");
  if (rank_of_job != 0 || !directory) return;
  char name[4096];
  check(mkdir(directory, 0777) == 0, "%s cannot be made", directory);
  snprintf(name, sizeof name, "%s/MANIFEST.md", directory);
  FILE *manifest = fopen(name, "w");
  check(manifest != NULL, "no %s", name);
  TELL_SUBSTRATE(dump_manifest, manifest, ".", directory);
  fclose(manifest);
}

/* The application's regions: each enter and leave reads the counters of its thread. */
static uint32_t user_region(const char *name) {
  return new_region ? new_region(name, NULL, 0, 0, 0, PARADIGM_USER, REGION_USER) : 0;
}

static void enter_user_region(uint32_t region) {
  read_counters();
  if (enter_region && region) enter_region(region);
}

static void leave_user_region(uint32_t region) {
  read_counters();
  if (exit_region && region) exit_region(region);
}

/* A thread that the application made, and Score-P knows; or the end of one. */
static inline void begin_thread(const char *name) {
  if (stand_in.know_thread) stand_in.know_thread(name);
  add_counters();
  TELL_SUBSTRATE(create_location, OWN_LOCATION, NULL);
  TELL_SUBSTRATE(activate_cpu_location, OWN_LOCATION, NULL, 1);
}

static inline void end_thread(const char *name) {
  print_counters(name);
  TELL_SUBSTRATE(deactivate_cpu_location, OWN_LOCATION, NULL);
}

static void switch_recording(bool on) {
  recording_is_on = on;
  if (stand_in.switch_recording) stand_in.switch_recording(on);
}

/* scorep_finalize. */
static void end_measurement(void) {
  /* as many events as the library looks at the memory once in */
  for (int i = 0; i < 1024; i++) read_counters();
  if (getenv("STAND_IN_HAS_FLUSHED") && stand_in.flush) stand_in.flush();
  synchronize(END);
  next_phase(AFTER);
  printf("end\t%lu\n", (unsigned long)score_p_ticks());
  tell_of_program(EVENT_PROGRAM_END, OWN_LOCATION, recording_is_on);
  TELL_SUBSTRATE(deactivate_cpu_location, OWN_LOCATION, NULL);
  print_counters("Master thread");
  /* whatever is recorded now is lost */
  next_phase(UNIFIED);
  TELL_SUBSTRATE(pre_unify);
  barrier();
  TELL_SUBSTRATE(write_data);
  barrier();
  TELL_SUBSTRATE(delete_location, OWN_LOCATION);
  unload_metrics();
  TELL_SUBSTRATE(finalize);
  ipc_open = false;
  if (stand_in.print) stand_in.print();
  fflush(stdout);
}

/* What MPI_Init does in the end, or the start of a program without MPI. */
static void init_mpp(void) {
  bool mpi = ranks_of_job > 1;
  if (has_substrate && substrate.get_requirement) {
    check(substrate.get_requirement(NEEDS_DIRECTORY), "the plugin needs no directory");
    check(!substrate.get_requirement(PREVENTS_ASYNCHRONOUS) && !substrate.get_requirement(PREVENTS_PER_HOST), "metrics are prevented");
    check(!substrate.get_requirement(REQUIREMENTS), "a requirement that does not exist");
  }
  /* it comes after the exit handlers that are registered later; with MPI, those of plugins that are registered here come after it */
  if (!mpi) atexit(end_measurement);
  /* the directory's name is known from here on */
  ipc_open = true;
  make_directory();
  TELL_SUBSTRATE(init_mpp);
  synchronize(mpi ? BEGIN_MPP : BEGIN);
  if (mpi) atexit(end_measurement);
  barrier();
}

static void begin_measurement(void) {
  profiling = is_true("SCOREP_ENABLE_PROFILING", true);
  load_stand_in();
  load_substrate();
  load_metrics();
  TELL_SUBSTRATE(create_location, OWN_LOCATION, NULL);
  TELL_SUBSTRATE(activate_cpu_location, OWN_LOCATION, NULL, 0);
  tell_of_program(EVENT_PROGRAM_BEGIN, OWN_LOCATION, recording_is_on);
  next_phase(WITHIN);
  read_counters();
  if (ranks_of_job > 1) advance_to(now() + 10 * MILLISECONDS); /* of the program, before MPI_Init */
  init_mpp();
}

#endif
