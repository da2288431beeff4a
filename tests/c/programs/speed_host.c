/* Makes the calls of a capture as fast as it can, on one thread: speed_host PLUGIN CAPTURE TIMES. PLUGIN is a library, whose newest
 * table from v4 on is used, or one of two yardsticks: `empty` does nothing, `recorder` is a minimal recorder. Prints lines `NAME NUMBER`:
 * times in ns, memory in KiB. All calls are made TIMES times, and then once more as often with each call timed.
 *
 * Descriptors are laid out beforehand. The GPU's stamps lie right before the calls that report them: a playing takes a fraction of the
 * recorded time, and a plugin that compares clocks would not believe the recorded stamps. */
#include "capture.h"
#include <malloc.h>
#include <search.h>

/* Most contexts and threads of a capture; calls between two readings of the clock for the stamps, and the least time of one, ns. */
enum { MOST = 64, CALLS_AT_A_TIME = 256, CALL_NS = 8 };

/* The clock of the recorder and of the latencies: the cheapest that the machine has, as the library's own. */
static inline uint64_t ticks(void) {
#if defined __x86_64__
  return __builtin_ia32_rdtsc();
#elif defined __aarch64__
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return (uint64_t)real_nanoseconds();
#endif
}

static int empty_start(void *context, void **handle, void *descriptor) {
  (void)context, (void)descriptor;
  *handle = &table;
  return 0;
}
static int empty_state(void *handle, int number, void *argument) { (void)handle, (void)number, (void)argument; return 0; }
static int empty_stop(void *handle) { (void)handle; return 0; }

/* For each call the recorder reads the clock and writes a slot of 64 bytes, in a ring as large as the library's memory. */
struct slot { _Alignas(64) uint64_t words[8]; };
enum { SLOTS = (32 << 20) / sizeof(struct slot) };
static _Thread_local struct slot *ring;
static _Thread_local uint64_t next;

static inline uint64_t record(uint64_t first, uint64_t second, uint64_t third) {
  if (!ring) {
    ring = aligned_alloc(sizeof *ring, SLOTS * sizeof *ring);
    check(ring != NULL, "no memory for the recorder");
    memset(ring, 1, SLOTS * sizeof *ring); /* memory that records is memory in use */
  }
  ring[next] = (struct slot){{ticks(), first, second, third}};
  next = next + 1 < SLOTS ? next + 1 : 0;
  return next + 1;
}

static int recorder_start(void *context, void **handle, void *descriptor) {
  *handle = (void *)record((uintptr_t)context, (uintptr_t)((struct descriptor *)descriptor)->parent, START);
  return 0;
}
static int recorder_state(void *handle, int number, void *argument) {
  (void)argument;
  record((uintptr_t)handle, (uint64_t)number, STATE);
  return 0;
}
static int recorder_stop(void *handle) {
  record((uintptr_t)handle, 0, STOP);
  return 0;
}

static const struct table empty = {"empty", NULL, empty_start, empty_stop, empty_state, empty_stop};
static const struct table recorder = {"recorder", NULL, recorder_start, recorder_stop, recorder_state, empty_stop};

/* Plugins call it without a look whether there is one. */
static void ignore_line(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}

static void open_plugin(const char *name) {
  version = &versions[sizeof versions / sizeof *versions - 1];
  logger = (void *)ignore_line;
  if (strcmp(name, empty.name) == 0 || strcmp(name, recorder.name) == 0) {
    table = strcmp(name, empty.name) == 0 ? empty : recorder;
    return;
  }
  library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  check(library != NULL, "%s", dlerror());
  for (; version->number >= 4; version--) {
    char symbol[32];
    snprintf(symbol, sizeof symbol, "ncclProfiler_v%d", version->number);
    struct table *found = dlsym(library, symbol);
    if (!found) continue;
    table = *found;
    return;
  }
  check(false, "%s exports none of ncclProfiler_v4 to _v7", name);
}

/* A descriptor, and where the group and the GPU's stamp lie in it; where it has none, behind it. */
struct template {
  struct descriptor descriptor;
  void **group;
  uint64_t *stamp;
  void *no_group;
  uint64_t no_stamp;
};

/* A call. Handles are places in a table, of which the first one stays NULL. */
struct step {
  enum call_kind kind;
  int state;
  bool has_argument, is_stamped;
  uint32_t context, handle, parent, group;
  uint64_t argument;
  struct template *template;
};

static struct step *steps;
static size_t count, starts;
static void **handles, *contexts[MOST];

static int compare(const void *one, const void *other) { return memcmp(one, other, sizeof(struct descriptor)); }

/* Equal descriptors are one, as a host's lie in its caches. */
static struct template *template_of(struct event event) {
  static void *all;
  event.ptimer = 0;
  struct template *new = calloc(1, sizeof *new);
  check(new != NULL, "no memory");
  put_descriptor(&event, &new->descriptor, version);
  struct template *known = *(struct template **)tsearch(new, &all, compare);
  if (known != new) {
    free(new);
    return known;
  }
  union payload *payload = &new->descriptor.payload;
  new->group = &new->no_group, new->stamp = &new->no_stamp;
  if (version->wide && event.type == COLL) new->group = &payload->coll_v5.group; /* where v7 has it, too */
  if (version->wide && event.type == P2P) new->group = &payload->p2p_v5.group;
  if (event.type == KERNEL_CH) new->stamp = &payload->kernel_ch.ptimer;
  if (event.type == KERNEL_PHASE) new->stamp = &payload->kernel_phase.ptimer;
  return new;
}

/* NCCL's wrappers keep from older versions what those do not have. */
static bool is_sent(int state) { return version->number > 6 || state < (version->number == 6 ? 31 : version->number == 5 ? 25 : 23); }

/* Captures do not name an operation's group: it is the one that its thread has started and not stopped. */
static void prepare(const struct capture *capture) {
  static uint32_t groups[MOST][MOST];
  uint32_t **open = calloc(capture->handles, sizeof *open);
  steps = calloc(capture->count, sizeof *steps);
  handles = calloc(capture->handles + 1, sizeof *handles);
  check(open && steps && handles, "no memory");
  for (size_t i = 0; i < capture->count; i++) {
    const struct call *call = &capture->calls[i];
    struct step step = {call->kind, call->state, .context = call->context, .handle = (uint32_t)call->handle, .argument = call->argument};
    check(call->context < MOST && call->thread < MOST, "%u contexts, thread %u", call->context, call->thread);
    switch (call->kind) {
      case START: {
        uint32_t *group = &groups[call->context][call->thread];
        if (call->event.type == GROUP) *group = step.handle, open[step.handle] = group;
        if (call->event.type & ~version->types) continue;
        struct event event = call->event;
        event.pid = getpid() ^ (event.pid != capture->pid); /* another process' operation stays another's */
        step.template = template_of(event);
        step.parent = (uint32_t)call->parent, step.group = *group;
        /* up to v4, the group is the parent */
        if (!version->wide && event.type & (COLL | P2P)) step.parent = *group;
        if (!step.handle) step.handle = (uint32_t)capture->handles; /* the recorded plugin did not want the event */
        starts++;
        break;
      }
      case STATE:
        if (!is_sent(call->state)) continue;
        step.has_argument = call->has_argument;
        step.is_stamped = call->has_argument && (call->state == KERNEL_CH_STOP || call->state == 31);
        break;
      case STOP:
        if (open[step.handle] && *open[step.handle] == step.handle) *open[step.handle] = 0;
        break;
      default: continue;
    }
    steps[count++] = step;
  }
  free(open);
}

static inline __attribute__((always_inline)) void make(const struct step *step, uint64_t stamp) {
  void *handle = handles[step->handle];
  if (step->kind == START) {
    struct template *template = step->template;
    template->descriptor.parent = handles[step->parent];
    *template->group = handles[step->group];
    *template->stamp = stamp;
    table.start(contexts[step->context], &handles[step->handle], &template->descriptor);
  } else if (step->kind == STATE) {
    uint64_t argument[] = {step->is_stamped ? stamp : step->argument, 0};
    table.state(handle, step->state, step->has_argument ? argument : NULL);
  } else table.stop(handle);
}

/* Number of calls by how many ticks they took; the last one is of those that took longer, too. */
static uint32_t latencies[1 << 20];

static inline __attribute__((always_inline)) void play(long times, bool timed) {
  for (long time = 0; time < times; time++) {
    uint64_t stamp = 0;
    for (size_t i = 0; i < count; i++, stamp += CALL_NS) {
      if (i % CALLS_AT_A_TIME == 0) stamp = (uint64_t)real_nanoseconds();
      uint64_t begin = timed ? ticks() : 0;
      make(&steps[i], stamp);
      if (!timed) continue;
      uint64_t took = ticks() - begin, most = sizeof latencies / sizeof *latencies - 1;
      latencies[took < most ? took : most]++;
    }
  }
}

static uint64_t percentile(double share, double all) {
  uint64_t ticks = 0;
  for (double seen = latencies[0]; seen < share * all;) seen += latencies[++ticks];
  return ticks;
}

static long nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A line of /proc/self/status, KiB. */
static long status_kib(const char *name) {
  FILE *file = fopen("/proc/self/status", "r");
  check(file != NULL, "no status");
  char line[256];
  long found = -1;
  while (fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0) found = atol(line + strlen(name));
  fclose(file);
  check(found >= 0, "no %s", name);
  return found;
}

static void catch_up(void) {
  if (library && dlsym(library, "scorep_nccl_flush")) flush();
}

int main(int parts, char **arguments) {
  long times = parts == 4 ? atol(arguments[3]) : 0;
  check(times > 0, "usage: speed_host PLUGIN CAPTURE TIMES");
  struct capture capture = read_capture(arguments[2]);
  long image = status_kib("VmRSS:");
  open_plugin(arguments[1]);
  image = status_kib("VmRSS:") - image;
  prepare(&capture);
  malloc_trim(0);
  /* the peak begins anew; if the kernel refuses, the figure is too large */
  FILE *peak = fopen("/proc/self/clear_refs", "w");
  if (peak) fputs("5", peak), fclose(peak);
  long own = status_kib("VmRSS:"), before = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
  for (size_t i = 0; i < capture.count; i++) {
    const struct call *call = &capture.calls[i];
    if (call->kind != INIT) continue;
    struct event event = call->event;
    contexts[call->context] = table.init ? init_of(event.comm, event.comm_name, call->nodes, call->ranks, event.rank, &(int){0}) : &table;
  }
  /* what a plugin does at a thread's first callback is no part of what a callback costs; NCCL passes NULL for an event without a handle */
  table.stop(NULL);
  long processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID), begin = real_nanoseconds();
  play(times, false);
  long took = real_nanoseconds() - begin;
  processor = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - processor;
  /* what a plugin still has to do about the events is part of what it costs */
  catch_up();
  long others = nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - before - processor;
  uint64_t first = ticks();
  begin = real_nanoseconds();
  play(times, true);
  double tick = (double)(real_nanoseconds() - begin) / (double)(ticks() - first), calls = (double)times * (double)count;
  catch_up();
  for (int i = 0; i < MOST; i++)
    if (contexts[i]) table.finalize(contexts[i]);
  printf("interface %d\ncalls %.0f\nstarts %ld\ntook %ld\nprocessor %ld\nothers %ld\nmemory %ld\np99 %.0f\np9999 %.0f\n", version->number, calls,
         times * (long)starts, took, processor, others, image + status_kib("VmHWM:") - own, tick * (double)percentile(0.99, calls),
         tick * (double)percentile(0.9999, calls));
}
