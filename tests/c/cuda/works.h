/* What NCCL is asked to do, the GPUs that do it, and what the library must make of it.
 *
 * For each operation that is recorded the host prints what times it, and from when to when by true time, in nanoseconds: op COMM RANK
 * KIND FUNC PEER SOURCE BEGIN END SLACK. It may be shorter by the slack: the source is gpu where stamps and events are both right. */
#ifndef WORKS_H
#define WORKS_H

#include "stamps.h"

/* What a call and a launch take on the host. */
enum { CALL_TIME = 1000, LAUNCH_TIME = 5000 };
static _Thread_local uint64_t launch_time = LAUNCH_TIME;

/* How long after its launch an idle GPU begins, how long after the event before it a busy one does, and by how much a kernel's stamps lie
 * within it. */
enum { START_TIME = 2000, EVENT_TIME = 3200, STAMP_MARGIN = 1500, BEHIND = 4000 };

/* When a kernel was there: its first event, the launch's end, and the kernel itself. */
struct kernel { uint64_t first, launched, begin, end; };

/* A communicator: NCCL's context for the library, its GPU, and a stream there that is busy until then. */
struct communicator {
  uint64_t id, sequence;
  int rank;
  void *context, *gpu, *stream;
  uint64_t busy;
  bool out_of_step; /* stamps are those of the kernel before */
  bool has_graph;
  struct kernel latest, before;
  struct known { const char *func; size_t count; } known[8]; /* what it has done before */
};

static struct communicator communicator(uint64_t id, int rank, int ranks, void *gpu, void *stream) {
  if (driver) driver->set_current(gpu);
  void *context = init_of(id, NULL, 1, ranks, rank, &mask_given);
  return (struct communicator){.id = id, .rank = rank, .context = context, .gpu = gpu, .stream = stream};
}

/* Its GPU's clock is by so many parts per million too fast, and no other communicator is there. */
static double gpu_ppm = 0;
static inline struct communicator communicator_alone(uint64_t id, int rank, int ranks) {
  void *gpu = driver ? driver->make_context(gpu_ppm) : NULL;
  return communicator(id, rank, ranks, gpu, driver ? driver->make_stream() : NULL);
}

/* An operation; a send or receive has a peer. */
struct work { const char *func, *algorithm; int peer; size_t count; };

static inline struct work all_reduce(const char *algorithm) { return (struct work){"AllReduce", algorithm, -1, 25000}; }
static inline struct work broadcast(void) { return (struct work){"Broadcast", "RING", -1, 25000}; }
static inline struct work send_to(int peer) { return (struct work){"Send", NULL, peer, 25000}; }
static inline struct work receive_from(int peer) { return (struct work){"Recv", NULL, peer, 25000}; }
static bool is_p2p(const struct work *work) { return work->peer >= 0; }

static struct event event_of(const struct communicator *of, const struct work *work) {
  struct event event = is_p2p(work) ? a_p2p(work->peer) : a_coll();
  event.func = work->func, event.count = work->count, event.rank = of->rank, event.comm = of->id, event.channels = 2;
  if (work->algorithm) event.algorithm = work->algorithm;
  return event;
}

/* Whether NCCL's stamps are the kernel's time: one collective by RING or PAT, or one send or receive, alone in it. */
static bool is_stamped_right(const struct work *works, int count) {
  return count == 1 && (is_p2p(works) || strcmp(works->algorithm, "RING") == 0 || strcmp(works->algorithm, "PAT") == 0);
}

/* The launch of a kernel of so many nanoseconds, of which the first event was recorded then, has returned. */
static void run(struct communicator *of, uint64_t first, uint64_t length) {
  uint64_t earliest = now() + START_TIME, event = first > of->busy ? first : of->busy;
  uint64_t begin = event == FOR_EVER ? FOR_EVER : earliest > event + EVENT_TIME ? earliest : event + EVENT_TIME;
  of->before = of->latest;
  uint64_t end = length == FOR_EVER || begin == FOR_EVER ? FOR_EVER : begin + length;
  of->latest = (struct kernel){event, now(), begin, end};
  of->busy = of->latest.end;
  if (!driver) return;
  driver->set_current(of->gpu);
  driver->set_busy(of->stream, of->busy);
}

/* Stamps of one of the operations in the latest kernel, as NCCL takes them: those that are not right are far too short. */
static void stamp(const struct communicator *of, void *operation, bool right) {
  const struct kernel *its = of->out_of_step && of->before.end ? &of->before : &of->latest;
  uint64_t begin = its->begin + STAMP_MARGIN, end = right ? its->end - STAMP_MARGIN : begin + (its->end - its->begin) / 20;
  if (its->end == FOR_EVER) return;
  for (uint8_t channel = 0; channel < 2; channel++) add_stamps(of->context, operation, channel, begin, end);
}

/* What must come of it. */

/* Why operations have no time of the GPU's. */
#define CAUSES(X) X(graph) X(no_event) X(cuda_failed) X(not_chosen) X(not_believed)
#define DECLARE_CAUSE(name) WHY_##name,
#define NAME_CAUSE(name) #name,
enum cause { CAUSES(DECLARE_CAUSE) CAUSE_COUNT };
static atomic_long untimed[CAUSE_COUNT];

enum source { BY_ENQUEUE, BY_STAMPS, BY_EVENTS, BY_GPU };

/* Whether a launch gets events, if any does, and why none does. */
static bool has_events = true;
static enum cause without_events = WHY_not_believed;
/* Several threads let time go on: nobody knows when things are. */
static bool is_any_time_right = false;

static bool is_set(const char *name, const char *value) {
  const char *found = getenv(name);
  return found && strcmp(found, value) == 0;
}
static bool is_gpu_time(const char *value) { return is_set("NCCL_SCOREP_GPU_TIME", value); }

static bool is_gpu_timed(void) { return !is_gpu_time("off") && !is_set("NCCL_SCOREP_PRESET", "api"); }

/* NCCL asks for these types, by a mask that it has read at some time, or by now. */
static bool is_in(int mask, uint64_t types) { return ((uint64_t)mask & types & version->types) != 0; }
static inline bool is_asked(uint64_t types) { return is_in(mask_given, types); }

/* Whether the communicator has done the like before; it has from now on. */
static bool is_known(struct communicator *of, const struct work *work) {
  struct known *known = of->known;
  for (; known->func; known++)
    if (strcmp(known->func, work->func) == 0 && known->count == work->count) return true;
  check(known < of->known + 7, "too many kinds of operations");
  *known = (struct known){work->func, work->count};
  return false;
}

/* What times the operations of a kernel. */
static enum source source_of(struct communicator *of, const struct work *works, int count, int mask) {
  if (!is_gpu_timed()) return BY_ENQUEUE;
  bool stamps = is_in(mask, KERNEL_CH) && !of->out_of_step && is_stamped_right(works, count);
  bool events = has_events && !is_gpu_time("stamps");
  if (is_gpu_time("events") || !stamps) return events ? BY_EVENTS : BY_ENQUEUE;
  /* what a collective will be like is known of the second one */
  bool foreseen = count == 1 && (is_p2p(works) || is_known(of, works));
  return foreseen || !events ? BY_STAMPS : BY_GPU;
}

/* An operation of the latest kernel. */
static void print_work(const struct communicator *of, const struct work *work, enum source source) {
  static const char *const sources[] = {"enqueue", "stamps", "events", "gpu"};
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const struct kernel *its = &of->latest;
  /* by events a kernel begins when its launch has returned, or when the stream is free, as it is taken to have been right behind another */
  bool is_behind = of->before.end != 0 && its->first < of->before.end + BEHIND;
  uint64_t waited = its->first + EVENT_TIME, launched = waited > its->launched || is_behind ? waited : its->launched;
  uint64_t stamps = source == BY_STAMPS ? STAMP_MARGIN : 0;
  uint64_t begin = stamps ? its->begin + stamps : launched, end = its->end - stamps;
  uint64_t slack = source == BY_GPU ? its->begin + 2 * STAMP_MARGIN - launched : 0;
  /* where the host's clock lies on the GPU's is not known better than by the first launch itself */
  if (source == BY_EVENTS && of->before.end == 0) slack += launch_time;
  /* an anchor may have shown that the launch came later than the stream was free */
  if (source == BY_EVENTS && is_behind && its->launched > waited) slack += its->launched - waited;
  if (is_any_time_right) begin = 0, slack = end;
  pthread_mutex_lock(&lock);
  printf("op\t%016lx\t%d\t%s\t%s\t%d\t%s\t%lu\t%lu\t%lu\n", (unsigned long)of->id, of->rank, is_p2p(work) ? "P2p" : "Coll", work->func,
         work->peer, sources[source], (unsigned long)begin, (unsigned long)end, (unsigned long)slack);
  pthread_mutex_unlock(&lock);
  recorded(4 * work->count);
  /* stamps may not be asked for either */
  bool is_missed = is_gpu_timed() && (!is_gpu_time("stamps") || is_asked(KERNEL_CH));
  if (source == BY_ENQUEUE && is_missed) untimed[is_gpu_time("stamps") ? WHY_not_believed : without_events]++;
}

/* What the summary must say; a figure that is ANY is not looked at. */
static void print_figures(void) {
  static const char *const causes[] = {CAUSES(NAME_CAUSE)};
  for (int i = 0; i < CAUSE_COUNT; i++)
    if (untimed[i] != ANY) printf("untimed %s %ld\n", causes[i], (long)untimed[i]);
  want.gpu_timed = want.proxy_timed = ANY; /* each operation was printed */
  print_wanted();
}

#endif
