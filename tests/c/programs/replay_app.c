/* An application that calls NCCL, as Score-P sees one: replay_app [pace=TIMES] [exit=SHARE] [switch] [threads] CAPTURE... plays a capture
 * between user regions. Made for tests/score_p.rs, which compiles it with Score-P; without, it is a plain program.
 *
 *   pace=TIMES    of the recorded one (1); 0 is as fast as can be
 *   exit=SHARE    calls exit(EXIT_STATUS) inside a user region when that share of the calls is made
 *   switch        Score-P records nothing during the region backward
 *   threads       a thread of the application for each capture; without, the captures are those of the ranks of MPI
 *
 * NCCL_PROFILER_PLUGIN names the library as it does for NCCL. Prints what was enqueued in each region, by the plugin's own rules:
 * `enqueued CAPTURE REGION OPERATIONS BYTES`; and before an exit, how many calls were made. */
#include "replay.h"
#include <pthread.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
#ifdef SCOREP_USER_ENABLE
#include <scorep/SCOREP_User.h>
#else
#define SCOREP_USER_REGION_BY_NAME_BEGIN(name, type)
#define SCOREP_USER_REGION_BY_NAME_END(name)
#define SCOREP_RECORDING_ON()
#define SCOREP_RECORDING_OFF()
#endif

enum { REGIONS = 3, EXIT_STATUS = 3, MOST_CAPTURES = 64 };
static const char *const names[REGIONS] = {"forward", "backward", "step"};

static struct { double pace, exit; bool recording_off, threads; } wanted = {.pace = 1, .exit = 2};

/* What the application does with one capture. */
struct application {
  int number; /* of the capture */
  uint64_t enqueues; /* types of the calls that enqueue operations */
  int region; /* that the main thread is in */
  size_t begins[REGIONS]; /* place of a region's first call */
  uint64_t operations[REGIONS], bytes[REGIONS];
};

static uint64_t datatype_bytes(const char *name) {
  static const struct { const char *end; uint64_t bytes; } all[] = {{"8", 1},  {"8e4m3", 1}, {"8e5m2", 1}, {"16", 2},
                                                                     {"32", 4}, {"64", 8}};
  const char *end = name + strcspn(name, "0123456789");
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].end, end) == 0) return all[i].bytes;
  check(false, "type %s", name);
  return 0;
}

static bool is_main(const struct replay *replay, const struct call *call) { return call->thread == replay->threads[0].number; }

/* A third of the main thread's operations to each region, but no region ends inside a group. */
static void divide(struct replay *replay, struct application *application) {
  const struct call *calls = replay->capture.calls;
  size_t all = 0, count = replay->capture.count;
  for (size_t i = 0; i < count && !application->enqueues; i++)
    if (calls[i].kind == START && calls[i].event.type & (COLL_API | P2P_API)) application->enqueues = COLL_API | P2P_API;
  if (!application->enqueues) application->enqueues = COLL | P2P;
  for (size_t i = 0; i < count; i++) all += is_main(replay, &calls[i]) && calls[i].event.type & application->enqueues;
  size_t seen = 0;
  uint64_t group = 0;
  int region = 0;
  for (size_t i = 0; i < count; i++) {
    const struct call *call = &calls[i];
    if (!is_main(replay, call)) continue;
    if (call->kind == STOP && call->handle == group) group = 0;
    if (call->kind != START) continue;
    if (group == 0 && region < REGIONS - 1 && seen * REGIONS >= all * (size_t)(region + 1)) application->begins[++region] = i;
    if (call->event.type == GROUP_API) group = call->handle;
    seen += (call->event.type & application->enqueues) != 0;
  }
  /* with too few calls, the last regions are never entered */
  while (region < REGIONS - 1) application->begins[++region] = count;
}

static void enter(int region) {
  if (wanted.recording_off && region == 1) { SCOREP_RECORDING_OFF(); }
  SCOREP_USER_REGION_BY_NAME_BEGIN(names[region], SCOREP_USER_REGION_TYPE_COMMON)
}

static void leave(int region) {
  SCOREP_USER_REGION_BY_NAME_END(names[region])
  if (wanted.recording_off && region == 1) { SCOREP_RECORDING_ON(); }
}

static void print_enqueued(const struct application *application) {
  for (int i = 0; i < REGIONS; i++)
    printf("enqueued %d %s %llu %llu\n", application->number, names[i], (unsigned long long)application->operations[i],
           (unsigned long long)application->bytes[i]);
  fflush(stdout);
}

static void before(struct replay *replay, const struct call *call) {
  struct application *application = replay->application;
  int region = application->region;
  if ((double)replay->next >= wanted.exit * (double)replay->capture.count) {
    print_enqueued(application);
    printf("made %zu\n", replay->next);
    exit(EXIT_STATUS);
  }
  if (region + 1 < REGIONS && replay->next == application->begins[region + 1]) leave(region), enter(region = ++application->region);
  if (call->kind != START || !(call->event.type & application->enqueues)) return;
  application->operations[region]++;
  application->bytes[region] += call->event.count * datatype_bytes(call->event.datatype);
}

static void *play_regions(void *argument) {
  struct replay *replay = argument;
  const struct application *application = replay->application;
  enter(0);
  play(replay);
  leave(application->region);
  return NULL;
}

static struct replay *prepare(const char *path, int number) {
  struct replay *replay = replay_of(path, wanted.pace);
  struct application *application = calloc(1, sizeof *application);
  check(application != NULL, "no memory");
  application->number = number;
  divide(replay, application);
  replay->before = before, replay->application = application;
  return replay;
}

/* Loads the library as NCCL does. */
static void load_plugin(const struct replay *replay) {
  static char path[4200];
  const char *name = getenv("NCCL_PROFILER_PLUGIN");
  check(name != NULL, "NCCL_PROFILER_PLUGIN is not set");
  bool is_file = strchr(name, '/') || strstr(name, ".so");
  snprintf(path, sizeof path, is_file ? "%s" : "libnccl-profiler-%s.so", name);
  library_path = path;
  char number[16];
  snprintf(number, sizeof number, "%d", replay->capture.api);
  take_version(number);
  load();
}

/* A thread of the application for each capture, as processes have that drive several GPUs. */
static void play_threads(struct replay **replays, int count) {
  pthread_t threads[MOST_CAPTURES];
  for (int i = 0; i < count; i++) {
    check(replays[i]->capture.api == version->number, "captures of different versions");
    check(pthread_create(&threads[i], NULL, play_regions, replays[i]) == 0, "no thread");
  }
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

int main(int count, char **arguments) {
  const char *paths[MOST_CAPTURES];
  int captures = 0, rank = 0;
  for (int i = 1; i < count; i++) {
    const char *argument = arguments[i];
    if (strncmp(argument, "pace=", 5) == 0) wanted.pace = atof(argument + 5);
    else if (strncmp(argument, "exit=", 5) == 0) wanted.exit = atof(argument + 5);
    else if (strcmp(argument, "switch") == 0) wanted.recording_off = true;
    else if (strcmp(argument, "threads") == 0) wanted.threads = true;
    else check(captures < MOST_CAPTURES, "too many captures"), paths[captures++] = argument;
  }
#ifdef WITH_MPI
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  check(rank < captures, "no capture for rank %d", rank);
  struct replay *replays[MOST_CAPTURES];
  int own = wanted.threads ? captures : 1;
  for (int i = 0; i < own; i++) replays[i] = prepare(paths[rank + i], rank + i);
  load_plugin(replays[0]);
#ifdef WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  if (wanted.threads) play_threads(replays, own);
  else play_regions(replays[0]);
#ifdef WITH_MPI
  MPI_Barrier(MPI_COMM_WORLD);
#endif
  for (int i = 0; i < own; i++) print_enqueued(replays[i]->application);
  dlclose(library);
#ifdef WITH_MPI
  MPI_Finalize();
#endif
  return 0;
}
