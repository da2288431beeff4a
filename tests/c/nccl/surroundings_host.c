/* What the library finds in the process besides its callers: surroundings_host LIBRARY VERSION [WHAT]... plays two communicators in a
 * process that has the named things, and prints what they saw of the library.
 *
 *   nccl=PATH       NCCL's library, with a logger
 *   copy=PATH       another copy of the library
 *   shm=MEBIBYTES   the size of /dev/shm
 *   score-p         Score-P: its clock and its metric plugins
 *   measurement     Score-P's measurement, which counts on each thread how deep it is inside
 *   stuck           a collector thread that does not come back, from the end of the program on
 *
 * The program is linked with -rdynamic: what it defines comes before the system's, as with Score-P's own wrappers. */
#include "../score_p/metric_plugin.h"
#include <sys/statvfs.h>
#include <sys/syscall.h>

static struct { const char *nccl, *copy; unsigned long shm; bool score_p, measurement, stuck; } has = {.shm = 1024};

static bool is_main(void) { return getpid() == (pid_t)syscall(SYS_gettid); }

int statvfs(const char *path, struct statvfs *found) {
  check(strcmp(path, "/dev/shm") == 0, "statvfs of %s", path);
  *found = (struct statvfs){.f_bsize = 4096, .f_frsize = 4096, .f_blocks = has.shm << 8};
  return 0;
}

/* Score-P's: whoever finds it above 0 is not looked at. */
static _Thread_local int depth;

int *scorep_get_in_measurement(void);
int *scorep_get_in_measurement(void) { return has.measurement ? &depth : NULL; }

/* Lines of other threads that Score-P's I/O recording would have seen, and those that it would not. */
static atomic_int seen, unseen;

ssize_t write(int file, const void *data, size_t size) {
  if (!is_main()) atomic_fetch_add(depth == 0 ? &seen : &unseen, 1);
  return syscall(SYS_write, file, data, size);
}

static void print_lines(void) {
  if (has.measurement) printf("seen %d\nunseen %d\nmain %d\n", seen, unseen, depth);
  fflush(stdout);
}

/* Score-P's clock. */
static atomic_bool is_stuck;
static uint64_t score_p_clock(void) {
  while (is_stuck && !is_main()) pause();
  return gpu_clock();
}

static struct metric_plugin plugins[2];

static void begin_score_p(void) {
  const char *names[] = {"nccl_plugin", "nccl_series_plugin"};
  for (int i = 0; i < 2; i++) {
    plugins[i] = metric_plugin(names[i]);
    plugins[i].set_clock_function(score_p_clock);
    check(plugins[i].initialize() == 0, "initialize");
    if (plugins[i].synchronize) plugins[i].synchronize(true, 0);
  }
}

static void end_score_p(void) {
  for (int i = 0; i < 2; i++)
    if (plugins[i].synchronize) plugins[i].synchronize(true, 2);
  for (int i = 0; i < 2; i++) plugins[i].finalize();
}

static void take(const char *argument) {
  const char *value = strchr(argument, '=');
  value = value ? value + 1 : "";
  if (strncmp(argument, "nccl=", 5) == 0) has.nccl = value;
  else if (strncmp(argument, "copy=", 5) == 0) has.copy = value;
  else if (strncmp(argument, "shm=", 4) == 0) has.shm = strtoul(value, NULL, 10);
  else if (strcmp(argument, "score-p") == 0) has.score_p = true;
  else if (strcmp(argument, "measurement") == 0) has.measurement = true;
  else if (strcmp(argument, "stuck") == 0) has.stuck = true;
  else check(false, "what is %s?", argument);
}

/* A send to oneself that NCCL does not count, and a collective operation with the GPU's stamps, which are in doubt then: the collector
 * has a line to say. */
static void out_of_step(void *context) {
  struct event events[] = {{.type = P2P, .comm = 0xab, .func = "Send", .count = 256, .datatype = "ncclFloat32", .channels = 1},
                           {.type = COLL, .comm = 0xab, .func = "AllReduce", .count = 256, .datatype = "ncclFloat32", .channels = 1}};
  void *operation = NULL;
  for (int i = 0; i < 2; i++) {
    operation = start(context, &events[i]);
    check(operation != NULL, "no handle");
    stop(operation);
  }
  if (!version->times) return;
  struct event kernel = {.type = KERNEL_CH, .parent = operation, .ptimer = gpu_clock()};
  void *channel = start(context, &kernel);
  state(channel, KERNEL_CH_STOP, gpu_clock() + 1000);
  stop(channel);
}

int main(int count, char **arguments) {
  check(count >= 3, "usage: surroundings_host LIBRARY VERSION [WHAT]...");
  library_path = arguments[1];
  take_version(arguments[2]);
  for (int i = 3; i < count; i++) take(arguments[i]);
  /* called after the library's own, which is registered later */
  atexit(print_lines);
  load();
  check(!has.copy || dlopen(has.copy, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
  void *nccl = has.nccl ? dlopen(has.nccl, RTLD_NOW | RTLD_LOCAL) : NULL;
  check(!has.nccl == !nccl, "%s", dlerror());
  logger = nccl ? dlsym(nccl, "stand_in_log") : NULL;
  check(!nccl == !logger, "no logger");
  if (has.score_p) begin_score_p();
  int mask;
  for (int i = 0; i < 2; i++) {
    void *context = init_as(0xab, NULL, 0, &mask);
    out_of_step(context);
    finalize(context);
  }
  flush();
  if (has.stuck) {
    is_stuck = true;
    metric_plugin("nccl_plugin").set_clock_function(score_p_clock);
  }
  if (has.score_p) end_score_p();
  return 3;
}
