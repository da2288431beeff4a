/* What communicators cost in memory, and when threads are started: memory_host LIBRARY VERSION SCENARIO [NUMBER] prints lines
 * `NAME NUMBER`, memory in KiB. */
#include "footprint.h"
#include "../score_p/metric_plugin.h"
#include "operations.h"
#include <pthread.h>
#include <semaphore.h>

/* Communicators that are alive at a time, and all that are made before memory is compared. */
enum { FIRST = 100, ALL = 1000 };

/* All is taken in, and operations have had the time to be over: as long as the scenario's number says, in milliseconds. */
static void get_idle(void) {
  flush();
  pause_milliseconds(number);
  flush();
}

/* NCCL's own thread, which tells of an operation's children: one for all, so that what it costs is not a communicator's. */
static struct { void *context, *operation; bool ends; } work;
static sem_t given, done;

static void *children(void *unused) {
  for (;;) {
    sem_wait(&given);
    kernel(work.context, work.operation, 0);
    if (work.ends) transfer(work.context, work.operation, 512);
    else {
      struct event event = a_proxy_op(work.operation);
      event = a_step(start(work.context, &event), 0);
      start(work.context, &event);
    }
    sem_post(&done);
  }
  return unused;
}

/* An all-reduce; or one whose transfer never ends. */
static void all_reduce(void *context, bool ends) {
  static pthread_t thread;
  if (!thread) check(sem_init(&given, 0, 0) == 0 && sem_init(&done, 0, 0) == 0 && pthread_create(&thread, NULL, children, NULL) == 0, "no thread");
  work.context = context, work.operation = coll(context), work.ends = ends;
  sem_post(&given);
  sem_wait(&done);
}

/* Each has an id of its own, as in NCCL. */
static void *make(int count) { return init_as(0xab00 + (uint64_t)count, "world", 0, &mask_given); }

static void idle(void) {
  all_reduce(make(0), true);
  get_idle();
  print("before", anonymous_kib());
  for (int i = 1; i <= FIRST; i++) all_reduce(make(i), true);
  get_idle();
  print("after", anonymous_kib());
}

/* A hundred at a time, behind five hundred twice before the comparison: what is freed among what stays is used again from then on, and a
 * collector that gets no processor, which has the hundred of before when the next ones come, has had more. */
static void make_and_destroy(bool ends) {
  enum { MOST = 5 * FIRST };
  static void *contexts[MOST];
  for (int made = 0, together; made < ALL + 8 * FIRST; made += together) {
    together = made < ALL ? MOST : FIRST;
    for (int i = 0; i < together; i++) all_reduce(contexts[i] = make(made + i), ends);
    for (int i = 0; i < together; i++) finalize(contexts[i]);
    get_idle();
    if (made + together == ALL) print("before", anonymous_kib());
  }
  print("after", anonymous_kib());
}

static void destroyed(void) { make_and_destroy(true); }
static void destroyed_amidst_transfers(void) { make_and_destroy(false); }

/* Operations of one communicator that the GPU never ends: ten thousand after the first thousand. */
static void under_way(void) {
  void *context = make(0);
  for (int i = 0; i < 11 * ALL; i++) {
    coll(context);
    if (i % ALL == ALL - 1) flush();
    if (i == ALL - 1) print("before", anonymous_kib());
  }
  print("after", anonymous_kib());
}

/* Peers of a rank: a thousand after the first hundred, a hundred sends over the network to each. */
static void peers(void) {
  void *context = make(0);
  for (int peer = 0; peer < FIRST + ALL; peer++) {
    void *operation = coll(context);
    struct event event = a_proxy_op(operation);
    event.peer = peer;
    void *proxy = start(context, &event);
    for (int i = 0; i < 100; i++) {
      event = a_step(proxy, i);
      void *step = start(context, &event);
      state(step, SEND_GPU_WAIT, 0);
      state(step, SEND_PEER_WAIT, 0);
      state(step, SEND_WAIT, 1 << 19);
      stop(step);
    }
    stop(proxy);
    kernel(context, operation, 0);
    if (peer % 10 == 9) flush();
    if (peer == FIRST - 1) get_idle(), print("before", anonymous_kib());
  }
  get_idle();
  print("after", anonymous_kib());
}

/* NCCL loads the plugin, and makes a communicator later. */
static void threads_with_nccl(void) {
  print("loaded", threads());
  init();
  print("communicator", threads());
}

/* What Score-P does with the substrate plugin before the measurement: version, init. */
struct substrate { uint32_t version; int (*init)(void); void *others[115]; };
_Static_assert(sizeof(struct substrate) == 936, "8.4's size");

/* Score-P does all that it does before the measurement, and then begins it. */
static void threads_with_score_p(void) {
  struct substrate (*get)(void) = (struct substrate(*)(void))dlsym(library, "SCOREP_SubstratePlugin_nccl_get_info");
  check(get != NULL, "no substrate plugin");
  struct substrate substrate = get();
  struct metric_plugin plugins[2] = {metric_plugin("nccl_plugin"), metric_plugin("nccl_series_plugin")};
  print("loaded", threads());
  check(!substrate.init || substrate.init() == 0, "init");
  for (int i = 0; i < 2; i++) {
    char token[] = "*";
    if (plugins[i].set_clock_function) plugins[i].set_clock_function(gpu_clock);
    check(plugins[i].initialize() == 0, "initialize");
    for (struct properties *metric = plugins[i].get_event_info(token); metric->name; metric++) plugins[i].add_counter(metric->name);
  }
  print("initialized", threads());
  for (int i = 0; i < 2; i++)
    if (plugins[i].synchronize) plugins[i].synchronize(true, 0);
  init();
  print("communicator", threads());
}

#define SCENARIO(name) {#name, name}
static const struct { const char *name; void (*play)(void); } scenarios[] = {
  SCENARIO(idle), SCENARIO(destroyed), SCENARIO(destroyed_amidst_transfers), SCENARIO(under_way), SCENARIO(peers), SCENARIO(threads_with_nccl), SCENARIO(threads_with_score_p)};

int main(int parts, char **arguments) {
  check(parts == 4 || parts == 5, "usage: memory_host LIBRARY VERSION SCENARIO [NUMBER]");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = parts > 4 ? atol(arguments[4]) : 0;
  load();
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
    if (strcmp(scenarios[i].name, arguments[3]) != 0) continue;
    scenarios[i].play();
    return 0;
  }
  check(false, "no scenario %s", arguments[3]);
}
