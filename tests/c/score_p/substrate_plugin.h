/* Score-P's substrate plugin interface, version 3, as its host sees it. */
#ifndef SUBSTRATE_PLUGIN_H
#define SUBSTRATE_PLUGIN_H

#include "ipc_reductions.h"
#include "substrate_tables.h"

/* SCOREP_EXPERIMENT_DIRECTORY, an absolute path; there is none without. */
static const char *experiment_directory(void) { return ipc_allowed("GetExperimentDirName"), getenv("SCOREP_EXPERIMENT_DIRECTORY"); }

static void not_there(void) { check(false, "the plugin calls what it does not need"); }

static void section_header(FILE *out, const char *section) { fprintf(out, "\n# %s\n\n", section); }

__attribute__((format(printf, 3, 4))) static void section_entry(FILE *out, const char *name, const char *description, ...) {
  va_list more;
  va_start(more, description);
  fprintf(out, "* `%s`: ", name);
  vfprintf(out, description, more);
  fputs(".\n", out);
  va_end(more);
}

static const struct substrate_callbacks *substrate_callbacks(void) {
  static struct substrate_callbacks all = {
    experiment_directory, ipc_size, ipc_rank, ipc_send, ipc_receive, ipc_barrier, ipc_broadcast, ipc_gather, ipc_gatherv, ipc_allgather,
    ipc_reduce, ipc_allreduce, ipc_scatter, ipc_scatterv, {0}, section_header, section_entry};
  for (size_t i = 0; i < sizeof all.others / sizeof *all.others; i++) all.others[i] = not_there;
  return &all;
}

/* The substrate plugin `nccl`, and the functions that it wants events with, recording on and off. */
static struct substrate_plugin substrate;
static bool has_substrate;
static function *event_functions[2];

/* A function that a plugin may have. */
#define TELL_SUBSTRATE(name, ...)                                                                                                \
  do {                                                                                                                           \
    if (has_substrate && substrate.name) substrate.name(__VA_ARGS__);                                                            \
  } while (0)

/* As with SCOREP_SUBSTRATE_PLUGINS=nccl. */
static void load_substrate(void) {
  const char *asked = getenv("SCOREP_SUBSTRATE_PLUGINS");
  if (!asked || !*asked) return;
  check(strcmp(asked, "nccl") == 0, "SCOREP_SUBSTRATE_PLUGINS is %s", asked);
  void *file = dlopen("libscorep_substrate_nccl.so", RTLD_NOW);
  check(file != NULL, "%s", dlerror());
  struct substrate_plugin (*get)(void) = (struct substrate_plugin(*)(void))dlsym(file, "SCOREP_SubstratePlugin_nccl_get_info");
  check(get != NULL, "no substrate plugin");
  substrate = get();
  check(substrate.version == 3, "substrate plugin of version %u", substrate.version);
  for (int i = 0; i < 99; i++) check(substrate.undeclared[i] == NULL, "undeclared function %d is set", i);
  has_substrate = true;
  if (substrate.init) check(substrate.init() == 0, "init");
  TELL_SUBSTRATE(set_callbacks, substrate_callbacks(), sizeof *substrate_callbacks());
  for (int mode = 0; substrate.get_event_functions && mode < 2; mode++)
    check(substrate.get_event_functions(mode, &event_functions[mode]) == SUBSTRATE_EVENTS, "not as many events as there are");
  TELL_SUBSTRATE(assign_id, 1);
}

/* An event of the program: its begin, or its end with a status. */
static void tell_of_program(int event, const struct SCOREP_Location *location, bool recording) {
  function *functions = event_functions[!recording];
  if (!functions || !functions[event]) return;
  uint64_t time = score_p_ticks();
  if (event == EVENT_PROGRAM_END) ((void (*)(const struct SCOREP_Location *, uint64_t, int64_t, uint32_t))functions[event])(location, time, 0, 1);
  else
    ((void (*)(const struct SCOREP_Location *, uint64_t, uint32_t, uint32_t, uint32_t *, uint32_t, uint64_t, uint64_t))
       functions[event])(location, time, 1, 0, NULL, 1, 1, 1);
}

#endif
