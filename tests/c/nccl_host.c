/* Every odd order in which NCCL calls a profiler plugin: nccl_host LIBRARY VERSION SCENARIO [NUMBER] plays one scenario through one
 * version of the interface and prints what the summary must say; tests/conformance.rs runs them all and compares. */
#include "operations.h"
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>

static long number = 0;

/* ---- contexts ---- */

static void null_arguments(void) {
  void *context = init_as(0xab, "\xff\xfe not UTF-8 %s%n", 0, NULL);
  int result = version->number < 4    ? ((init_v1)table.init)(NULL, NULL)
               : version->number == 4 ? ((init_v4)table.init)(NULL, NULL, NULL, 0xac, 1, 2, 0, NULL)
                                      : ((init_v5)table.init)(NULL, 0xac, NULL, NULL, 1, 2, 0, NULL);
  check(result == 0, "init without a place for the context");
  want.callbacks++;
  void *handle = GARBAGE;
  check(table.start(context, &handle, NULL) == 0 && handle == NULL, "start without a descriptor");
  struct event event = a_coll();
  void *descriptor = at_the_edge(descriptor_size(version));
  put_descriptor(&event, descriptor, version);
  check(table.start(context, NULL, descriptor) == 0, "start without a place for the handle");
  want.callbacks++;
  want.events++;
  /* it was recorded, and nobody can stop it */
  recorded(4096);
  want.unfinished++;
  stop(NULL);
  state(NULL, SEND_WAIT, 1);
  state_alone(NULL, KERNEL_CH_STOP);
  finalize(NULL);
  whole(context);
  finalize(context);
}

/* An operation that must not get a handle. */
static void refused(void *context, bool counted) {
  struct event event = a_coll();
  check(start(context, &event) == NULL, "a handle for context %p", context);
  want.ignored_handles += counted;
}

static void odd_contexts(void) {
  void *living = init(), *ended = init();
  struct event event = a_coll();
  whole(living);
  whole(ended);
  finalize(ended);
  refused(NULL, true);
  refused((void *)(uintptr_t)0x7fffdeadbeefULL, true);
  refused((void *)~(uintptr_t)0, true);
  refused(ended, true);
  refused((char *)living + 1, true);                  /* an index never used */
  refused((char *)living + (1ULL << 28), true);       /* another generation */
  refused((void *)((uintptr_t)living ^ 1ULL << 60), true); /* another process' */
  refused((void *)((uintptr_t)living | 0xfffffffULL), true);
  refused(&event, true);
  finalize(ended), want.ignored_handles++;
  finalize((void *)(uintptr_t)0x1234), want.ignored_handles++;
  whole(living);
  finalize(living);
  refused(living, true);
}

static void ranks(void) {
  void *context = init_as(0xab, "name", 5, &mask_given);
  struct event event = a_coll();
  event.rank = version->told ? 0 : 5;
  for (int i = 0; i < 3; i++) {
    enqueue(context, event, 4096);
    event.rank = 7 + i;
  }
  finalize(context);
  puts("expect rank 5");
}

static void made_again(void) {
  for (int i = 0; i < 100; i++) {
    load();
    void *contexts[3];
    for (int j = 0; j < 3; j++) contexts[j] = init();
    for (int j = 0; j < 3; j++) whole(contexts[j]);
    for (int j = 0; j < 3; j++) finalize(contexts[j]);
    check(dlclose(library) == 0, "dlclose");
  }
  load();
}

/* 4096 are recorded; those beyond are survived. */
static void many_communicators(void) {
  enum { ALL = 5000, RECORDED = 4096 };
  static void *contexts[ALL];
  for (int i = 0; i < ALL; i++) contexts[i] = init_as(0x1000 + (uint64_t)i, NULL, 0, &mask_given);
  for (int i = 0; i < ALL; i++) {
    if (i < RECORDED) {
      struct event event = a_coll();
      event.comm = 0x1000 + (uint64_t)i;
      enqueue(contexts[i], event, 4096);
    } else {
      refused(contexts[i], true);
    }
  }
  for (int i = 0; i < ALL; i++) finalize(contexts[i]);
  want.ignored_handles += ALL - RECORDED;
  want.warnings = ANY;
}

/* ---- types and names ---- */

/* What a type makes of the figures, started with a living operation as parent or with none. */
static void start_type(void *context, uint64_t type, void *parent) {
  struct event event = a_coll();
  event.type = type, event.parent = parent, event.peer = 1, event.pid = getpid(), event.captured = false;
  void *handle = start(context, &event);
  uint64_t seen = version->wide ? type : (uint8_t)type;
  bool known = seen != 0 && (seen & (seen - 1)) == 0 && (seen & version->types);
  bool operation = known && (seen & (COLL | P2P | CE_COLL));
  bool call = known && (seen & (COLL_API | P2P_API));
  bool child = known && (seen & (PROXY_STEP | KERNEL_CH));
  bool handled = operation || call || (known && (seen & (GROUP_API | PROXY_OP))) || (child && parent);
  check((handle != NULL) == handled, "type 0x%llx: handle %p", (unsigned long long)type, handle);
  if (!known) want.unknown_events++;
  if (operation) recorded(4096);
  if (call) want.invisible++;
  /* a step of what is no proxy operation, and a child of nothing */
  if (child && (!parent || seen == PROXY_STEP)) want.orphans++;
  if (handle) stop(handle);
}

static void every_type(void) {
  void *context = init();
  void *operation = coll(context);
  for (int round = 0; round < 2; round++) {
    void *parent = round ? operation : NULL;
    for (int bit = 0; bit < 64; bit++) start_type(context, 1ULL << bit, parent);
    for (int bit = 0; bit < 63; bit++) start_type(context, 3ULL << bit, parent);
    start_type(context, 0, parent);
    start_type(context, ~0ULL, parent);
  }
  want.proxy_timed = 1; /* the parent of the second round's proxy operation */
  finalize(context);
}

static void datatypes(void) {
  static const struct { const char *name; uint64_t bytes; } all[] = {
    {"ncclInt8", 1},     {"ncclChar", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclInt", 4},        {"ncclUint32", 4},
    {"ncclInt64", 8},    {"ncclUint64", 8},  {"ncclFloat16", 2},  {"ncclHalf", 2},       {"ncclFloat32", 4},    {"ncclFloat", 4},
    {"ncclFloat64", 8},  {"ncclDouble", 8},  {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}, {"ncclComplex", 0},
    {"Unknown", 0},      {"", 0},            {NULL, 0}};
  void *context = init();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    bool numbered = datatype_number(all[i].name) != 255;
    uint64_t bytes = version->number == 1 && !numbered ? 0 : 10 * all[i].bytes;
    struct event event = a_coll();
    event.datatype = all[i].name, event.count = 10;
    enqueue(context, event, bytes);
    event = a_p2p(1);
    event.datatype = all[i].name, event.count = 10;
    enqueue(context, event, bytes);
  }
  finalize(context);
}

static void odd_names(void) {
  static char longer[5000];
  memset(longer, 'x', sizeof longer - 1);
  const char *names[] = {NULL, "", longer, "\xff\xfe", "All Reduce\n\"quoted\"\\", "%s%n"};
  void *context = init_as(0xab, longer, 0, &mask_given);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct event event = a_coll();
    event.func = event.algorithm = event.protocol = event.comm_name = names[i];
    enqueue(context, event, 4096);
    event = a_p2p(1);
    event.func = names[i];
    enqueue(context, event, 1024);
    if (!version->api) continue;
    event = a_call(COLL_API, names[i], false);
    stop(start(context, &event));
    want.invisible++;
  }
  for (int i = 0; i < 300; i++) {
    char name[32];
    snprintf(name, sizeof name, "Function%d", i);
    struct event event = a_coll();
    event.func = name;
    enqueue(context, event, 4096);
    memset(name, '#', sizeof name - 1); /* strings are the callback's own */
  }
  finalize(context);
}

static void huge_counts(void) {
  void *context = init();
  struct event event = a_coll();
  event.count = SIZE_MAX;
  for (int i = 0; i < 3; i++) enqueue(context, event, 0);
  event.count = SIZE_MAX / 4;
  enqueue(context, event, 0);
  event = a_p2p(1);
  event.count = SIZE_MAX;
  for (int i = 0; i < 3; i++) enqueue(context, event, 0);
  want.bytes = ANY;
  puts("expect saturated 1");
  finalize(context);
}

/* ---- handles ---- */

static void stopped_again(void) {
  void *context = init();
  void *operation = coll(context);
  stop(operation), stop(operation), want.ignored_handles += 2;
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  state(step, SEND_WAIT, 4096);
  stop(step);
  state(step, SEND_WAIT, 1), stop(step), want.ignored_handles += 2;
  stop(proxy);
  state(proxy, 19, 1), stop(proxy), state_alone(proxy, 19), want.ignored_handles += 3;
  if (version->times) {
    event = a_kernel(operation, 0);
    void *channel = start(context, &event);
    state(channel, KERNEL_CH_STOP, gpu_clock() + 1000);
    stop(channel);
    state(channel, KERNEL_CH_STOP, 1), stop(channel), want.ignored_handles += 2;
    sent(4096);
  }
  if (version->api) {
    event = a_call(COLL_API, "AllReduce", false);
    void *call = start(context, &event);
    stop(call), stop(call), want.ignored_handles++;
    want.invisible++;
  }
  timed(true, true);
  finalize(context);
}

/* A handle that names no living event. */
static void dead(uintptr_t handle) {
  stop((void *)handle), state((void *)handle, SEND_WAIT, 1), state((void *)handle, KERNEL_CH_STOP, 1), state_alone((void *)handle, SEND_WAIT);
  want.ignored_handles += 4;
}

static void invented_handles(void) {
  void *gone = init();
  uintptr_t stale = (uintptr_t)coll(gone);
  finalize(gone);
  void *context = init();
  uintptr_t operation = (uintptr_t)coll(context);
  dead(0x1234);
  dead(~(uintptr_t)0 >> 8); /* the first byte is the process's own */
  dead((uintptr_t)&operation);
  dead(stale);
  dead(operation + 1);                                   /* a place not yet used */
  dead(operation + (1ULL << 28));                        /* another generation */
  dead(operation ^ 1ULL << 60);                          /* another process' */
  dead((operation & ~0xfffffffULL) | 0x7ffffff);         /* past the memory */
  dead((uintptr_t)context | 0x0f00000);
  pause_milliseconds(30);
  dead(stale);
  /* as parents they are no better */
  struct event event;
  if (version->types & KERNEL_CH) {
    event = a_kernel((void *)0x1234, 0);
    stop(start(context, &event)), want.orphans++;
  }
  event = a_step((void *)~(uintptr_t)0, 0);
  stop(start(context, &event)), want.orphans++;
  event = a_proxy_op((void *)(operation ^ 1ULL << 60));
  stop(start(context, &event)), want.orphans++;
  whole(context);
  finalize(context);
}

static void every_state(void) {
  void *context = init();
  struct event events[6] = {a_coll(), a_p2p(1), a_call(COLL_API, "AllReduce", true), a_call(GROUP_API, NULL, false), a_proxy_op(NULL), a_step(NULL, 0)};
  void *operation = coll(context);
  events[4].parent = operation;
  void *handles[6] = {NULL};
  for (int i = 0; i < 6; i++) {
    if (events[i].type & ~version->types) continue;
    if (events[i].type == PROXY_STEP) events[i].parent = handles[4];
    handles[i] = start(context, &events[i]);
    check(handles[i] != NULL, "no handle");
  }
  for (int number = -5; number <= 64; number++) {
    for (int i = 0; i < 6; i++) state_alone(handles[i], number), state(handles[i], number, 99);
  }
  state(handles[0], INT_MAX, 1), state(handles[0], INT_MIN, 1);
  for (int i = 5; i >= 0; i--) stop(handles[i]);
  recorded(4096), recorded(1024);
  sent(99);
  if (version->api) want.invisible++;
  want.proxy_timed++;
  finalize(context);
}

static void stopped_after_finalize(void) {
  void *context = init();
  struct event event = a_coll();
  void *operation = start(context, &event);
  recorded(4096);
  event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  finalize(context);
  state(step, SEND_WAIT, 100);
  stop(step), stop(proxy), stop(operation);
  want.proxy_timed++;
  sent(100);
}

/* ---- children ---- */

static void children_in_every_order(void) {
  void *context = init();
  struct event event = a_coll();
  void *before = start(context, &event);
  kernel(context, before, 0);
  transfer(context, before, 1);
  stop(before);
  recorded(4096);
  timed(true, true);
  void *after = coll(context);
  kernel(context, after, 0);
  transfer(context, after, 2);
  timed(true, true);
  void *late = coll(context);
  finalize(context);
  kernel(context, late, 0);
  transfer(context, late, 3);
  timed(true, true);
}

/* Receives are started again while nothing is there to receive into; NCCL forgets the handle before. */
static void restarted_steps(void) {
  void *context = init();
  for (int round = 0; round < 20; round++) {
    void *operation = coll(context);
    struct event event = a_proxy_op(operation);
    event.send = 0, event.steps = 2;
    void *proxy = start(context, &event);
    for (int number = 0; number < 2; number++) {
      void *step = NULL;
      event = a_step(proxy, number);
      for (int again = 0; again < 1000; again++) step = start(context, &event);
      if (number == 0) state(step, RECV_WAIT, 0), state(step, RECV_FLUSH_WAIT, 64), state(step, RECV_GPU_WAIT, 0), stop(step);
    }
    /* the second step never stops, though its operation does: that one is unfinished */
    stop(proxy);
    want.proxy_timed++;
    want.unfinished++;
    for (int i = 0; i < 20; i++) flush(), pause_milliseconds(1);
  }
  finalize(context);
}

static void many_states(void) {
  void *context = init();
  void *operation = coll(context);
  struct event event = a_proxy_op(operation);
  void *proxy = start(context, &event);
  const uint64_t sizes[] = {0, 4096, SIZE_MAX, 1ULL << 47, (1ULL << 47) - 1};
  for (int i = 0; i < 5; i++) {
    event = a_step(proxy, i);
    void *step = start(context, &event);
    for (int again = 0; again < 1000; again++) state(step, SEND_PEER_WAIT, 7);
    state(step, SEND_WAIT, 1), state(step, SEND_WAIT, sizes[i]);
    stop(step);
    bool plausible = sizes[i] < 1ULL << 47;
    if (plausible) sent(sizes[i]);
  }
  stop(proxy);
  want.proxy_timed++;
  finalize(context);
}

static void aborted(void) {
  void *context = init();
  whole(context);
  for (int i = 0; i < 3; i++) {
    void *operation = coll(context);
    struct event event = a_proxy_op(operation);
    void *proxy = start(context, &event);
    event = a_step(proxy, 0);
    void *step = start(context, &event);
    state(step, SEND_GPU_WAIT, 0);
    if (i == 1) stop(step);
  }
  want.unfinished += 3;
  finalize(context);
}

/* ---- kernel channels ---- */

static void kernel_between(void *context, void *operation, uint64_t first, uint64_t last, bool told) {
  struct event event = a_kernel(operation, 0);
  event.ptimer = first;
  void *handle = start(context, &event);
  if (told) state(handle, KERNEL_CH_STOP, last);
  stop(handle);
}

static void odd_stamps(void) {
  void *context = init();
  if (!version->times) {
    coll(context);
    finalize(context);
    return;
  }
  uint64_t now = gpu_clock();
  kernel_between(context, coll(context), now, now + 1000, true), want.gpu_timed++;
  kernel_between(context, coll(context), gpu_clock(), 0, false);          /* stopped without a stamp */
  now = gpu_clock();
  kernel_between(context, coll(context), now, now - 1, true);             /* stops before it starts */
  kernel_between(context, coll(context), gpu_clock(), 0, true);
  kernel_between(context, coll(context), gpu_clock(), UINT64_MAX, true);
  state(NULL, KERNEL_CH_STOP, gpu_clock());                               /* stamped before it has a handle */
  void *operation = coll(context);
  struct event event = a_kernel(operation, 0);
  void *twice = start(context, &event);
  state(twice, KERNEL_CH_STOP, 1), state(twice, KERNEL_CH_STOP, event.ptimer + 1000), stop(twice);
  want.gpu_timed++;
  operation = coll(context);
  event = a_kernel(operation, 0);
  start(context, &event); /* never stops */
  want.unfinished++;
  finalize(context);
}

/* Operations with stamps that may be another's. Whether a line has said so by now is looked at with NUMBER milliseconds to wait. */
static void out_of_step(int operations) {
  want.out_of_step += operations;
  want.warnings = number ? 1 : ANY;
  pause_milliseconds(number);
}

/* A stamp far before its operation belongs to another one. */
static void early_stamps(void) {
  void *context = init();
  for (int i = 0; i < 20; i++) {
    void *operation = coll(context);
    kernel(context, operation, 0);
    timed(true, false);
    pause_milliseconds(2);
  }
  uint64_t early = gpu_clock() - 20000000;
  if (version->times) {
    for (int i = 0; i < 3; i++) kernel_between(context, coll(context), early, early + 10, true);
    out_of_step(3);
  }
  finalize(context);
}

static void odd_channels(void) {
  void *context = init();
  struct { uint8_t channels; int kernels; uint8_t first; } all[] = {{1, 1, 200}, {2, 2, 254}, {4, 2, 0}, {1, 8, 100}, {0, 1, 0}, {255, 255, 0}, {0, 0, 0}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    struct event event = a_coll();
    event.channels = all[i].channels;
    void *operation = enqueue(context, event, 4096);
    for (int channel = 0; channel < all[i].kernels; channel++) kernel(context, operation, (uint8_t)(all[i].first + channel));
    timed(all[i].kernels > 0, false);
    event = a_p2p(1);
    event.channels = all[i].channels;
    operation = enqueue(context, event, 1024);
    for (int channel = 0; channel < all[i].kernels; channel++) kernel(context, operation, (uint8_t)(all[i].first + channel));
    timed(all[i].kernels > 0, false);
  }
  finalize(context);
}

static void to_oneself_with_kernel(void) {
  void *context = init();
  for (int i = 0; i < 2; i++) {
    kernel(context, enqueue(context, a_p2p(rank_of_this_process), 1024), 0);
    kernel(context, coll(context), 0);
    timed(true, false), timed(true, false);
  }
  finalize(context);
}

static void to_oneself_without_kernel(void) {
  void *context = init();
  kernel(context, coll(context), 0);
  timed(true, false);
  enqueue(context, a_p2p(rank_of_this_process), 1024);
  for (int i = 0; i < 3; i++) kernel(context, coll(context), 0);
  if (version->times) out_of_step(3);
  finalize(context);
}

/* Calls that NCCL reports no further (ncclBroadcast in 2.29 to 2.31): their works are not counted, either. */
static void invisible_calls(void) {
  void *context = init();
  kernel(context, coll(context), 0);
  timed(true, false);
  if (version->api) {
    struct event event = a_call(COLL_API, "Broadcast", false);
    void *call = start(context, &event);
    stop(call);
    want.invisible++;
    for (int i = 0; i < 3; i++) kernel(context, coll(context), 0);
    out_of_step(3);
  }
  finalize(context);
}

/* Calls that nothing ever follows, for as long as a job may run: half of them captured into graphs that are never replayed. */
static void calls_without_end(void) {
  void *context = init();
  long calls = number ? number : 1000000;
  if (version->api) {
    for (long i = 0; i < calls; i++) {
      struct event event = a_call(COLL_API, "Broadcast", i % 2);
      stop(start(context, &event));
      if (i % 5000 == 0) flush();
    }
    want.invisible = want.dropped = ANY;
  }
  finalize(context);
  want.warnings = ANY;
}

/* Parents that belong to another communicator: whatever they are taken for, every operation counts once. */
static void parents_of_others(void) {
  void *contexts[2] = {init_as(0xab, NULL, 0, &mask_given), init_as(0xac, NULL, 0, &mask_given)};
  for (int i = 0; i < 100; i++) {
    void *operation = coll(contexts[0]);
    struct event event = a_call(COLL_API, "AllReduce", false);
    void *call = version->api ? start(contexts[0], &event) : NULL;
    stop(call);
    want.invisible += version->api;
    event = a_coll();
    event.comm = 0xac, event.parent = call;
    enqueue(contexts[1], event, 4096);
    event = a_proxy_op(operation);
    stop(start(contexts[1], &event));
    want.proxy_timed++;
  }
  want.proxy_timed = want.invisible = want.orphans = ANY;
  for (int i = 0; i < 2; i++) finalize(contexts[i]);
}

static void *replays(void *context_and_call) {
  void **both = context_and_call;
  for (int i = 0; i < 5; i++) {
    struct event event = a_coll();
    event.parent = both[1];
    kernel(both[0], enqueue(both[0], event, 4096), 0);
    timed(true, false);
  }
  return NULL;
}

/* A CUDA graph: the call once, its operation at every replay, from another thread, long after. */
static void graph(void) {
  void *context = init();
  struct event event = a_call(COLL_API, "AllReduce", true);
  void *both[2] = {context, version->api ? start(context, &event) : NULL};
  if (version->api) stop(both[1]);
  pthread_t thread;
  pthread_create(&thread, NULL, replays, both);
  pthread_join(thread, NULL);
  finalize(context);
}

static void copy_engine(void) {
  void *context = init();
  if (version->types & CE_COLL) {
    for (int i = 0; i < 3; i++) {
      struct event event = a_coll();
      event.type = CE_COLL, event.func = "AllGather";
      void *operation = start(context, &event);
      for (uint64_t type = CE_SYNC; type <= CE_BATCH; type <<= 1) {
        event = (struct event){.type = type, .parent = operation};
        check(start(context, &event) == NULL, "a handle for what is not recorded");
      }
      stop(operation);
      recorded(4096);
    }
  }
  kernel(context, coll(context), 0);
  timed(true, false);
  finalize(context);
}

/* ---- another process' operations ---- */

static void pxn(void) {
  void *context = init();
  void *operation = coll(context);
  void *contexts[] = {NULL, (void *)0x7f1234567890, context, (void *)((uintptr_t)context ^ 1ULL << 60)};
  void *parents[] = {NULL, (void *)0x7f1234567890, operation, (void *)((uintptr_t)operation ^ 1ULL << 60)};
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < 4; j++) {
      struct event event = a_proxy_op(parents[j]);
      event.pid = getpid() + 1;
      void *proxy = start(contexts[i], &event);
      check(proxy == NULL, "a handle for another process' operation");
      want.foreign_proxy_ops++;
      event = a_step(proxy, 0);
      void *step = start(contexts[i], &event);
      check(step == NULL, "a handle for another process' step");
      want.orphans++;
      state(step, SEND_WAIT, 4096), stop(step), stop(proxy);
    }
  }
  /* steps that another plugin's operation is the parent of, by chance ours */
  struct event event = a_step(operation, 0);
  void *step = start(context, &event);
  state(step, SEND_WAIT, 4096);
  stop(step);
  want.orphans++;
  kernel(context, operation, 0);
  timed(true, false);
  finalize(context);
}

/* ---- threads ---- */

static void *shared_context;
static atomic_bool over;
static atomic_long refusals;

/* Operations with children until it is over, or the plugin takes none. */
static void *work(void *ceaseless) {
  while (!over) {
    struct event event = a_coll();
    void *operation = start(shared_context, &event);
    if (!operation) {
      refusals++;
      if (!ceaseless) break;
      continue;
    }
    recorded(4096);
    stop(operation);
    kernel(shared_context, operation, 0);
    event = a_proxy_op(operation);
    void *proxy = start(shared_context, &event);
    event = a_step(proxy, 0);
    void *step = start(shared_context, &event);
    state(step, SEND_WAIT, 64);
    stop(step);
    stop(proxy);
  }
  return NULL;
}

static void any(void) { want.gpu_timed = want.proxy_timed = want.transfers = want.transfer_bytes = want.orphans = want.dropped = want.warnings = want.out_of_step = ANY; }

static void run_threads(int count, void *(*body)(void *), void *argument, long milliseconds) {
  pthread_t threads[16];
  for (int i = 0; i < count; i++) check(pthread_create(&threads[i], NULL, body, argument) == 0, "no thread");
  pause_milliseconds(milliseconds);
  over = true;
  for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

/* What a thread's events find when the communicator goes away under them: they are taken, or refused, and all that were taken
 * are in the figures. */
static void finalized_under_threads(void) {
  for (int round = 0; round < 50; round++) {
    shared_context = init();
    over = false;
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pause_milliseconds(2);
    finalize(shared_context);
    pause_milliseconds(1);
    over = true;
    pthread_join(thread, NULL);
  }
  any();
  want.ignored_handles = refusals;
}

static void *start_and_stop(void *unused) {
  (void)unused;
  for (int i = 0; i < 20000; i++) coll(shared_context);
  return NULL;
}

static void two_threads(void) {
  shared_context = init();
  run_threads(2, start_and_stop, NULL, 0);
  finalize(shared_context);
}

/* The same handles stopped and changed by two threads at a time: once is right, the other is ignored. */
static void *shared_handles[1000];
static void *stop_shared(void *unused) {
  (void)unused;
  for (int i = 0; i < 1000; i++) stop(shared_handles[i]);
  return NULL;
}

static void stopped_by_two(void) {
  void *context = init();
  for (int i = 0; i < 1000; i++) {
    struct event event = a_coll();
    shared_handles[i] = start(context, &event);
    recorded(4096);
  }
  run_threads(2, stop_shared, NULL, 0);
  want.ignored_handles = ANY; /* at most 1000: both may come first */
  finalize(context);
}

/* Eight threads on one communicator at full speed, for NUMBER milliseconds. */
static void storm(void) {
  shared_context = init();
  run_threads(8, work, "for all that time", number ? number : 3000);
  finalize(shared_context);
  any();
  /* an operation refused is one dropped */
  printf("expect refused %ld\n", (long)refusals);
}

/* Communicators that end in the midst of having their windows taken apart. */
static void *end_while_busy(void *times) {
  for (int i = 0; i < *(int *)times; i++) {
    void *context = init();
    for (int j = 0; j < 130; j++) coll(context);
    finalize(context);
  }
  return NULL;
}

static void finalized_while_busy(void) {
  int times = 500;
  run_threads(2, end_while_busy, &times, 0);
}

static void *one_operation(void *unused) {
  (void)unused;
  whole(shared_context);
  return NULL;
}

static void short_threads(void) {
  shared_context = init();
  for (int i = 0; i < 1000; i++) run_threads(1, one_operation, NULL, 0);
  finalize(shared_context);
}

static void *one_call(void *call) {
  stop(call);
  return NULL;
}

/* A call that stops on another thread than it started on. */
static void moved_between_threads(void) {
  void *context = init();
  struct event event = a_coll();
  for (int i = 0; i < 100; i++) {
    void *operation = start(context, &event);
    recorded(4096);
    run_threads(1, one_call, operation, 0);
    kernel(context, operation, 0);
    timed(true, false);
  }
  finalize(context);
}

static void small_memory(void) {
  void *context = init();
  long given = 0, refused = 0;
  for (int i = 0; i < 100000; i++) {
    struct event event = a_coll();
    void *operation = start(context, &event);
    if (operation) given++;
    else refused++;
    stop(operation);
  }
  finalize(context);
  want.operations = given;
  want.bytes = 4096 * given;
  want.dropped = refused;
  want.warnings = ANY;
}

/* ---- settings ---- */

static void min_bytes(void) {
  void *context = init();
  for (int i = 0; i < 10; i++) {
    struct event event = a_coll();
    event.count = i % 2 ? 1 : 100000;
    void *operation = start(context, &event);
    check((operation == NULL) == (i % 2), "operation %d: handle %p", i, operation);
    stop(operation);
    if (i % 2) {
      want.skipped++;
      /* what NCCL makes of NULL as parent */
      event = a_step(operation, 0);
      check(start(context, &event) == NULL, "a child of nothing");
      want.orphans++;
    } else {
      recorded(400000);
      kernel(context, operation, 0);
      timed(true, false);
    }
  }
  finalize(context);
}

static void masks(void) {
  void *context = init();
  printf("mask %d\n", mask_given);
  finalize(context);
}

/* NCCL's mask is one for the whole process: what every init writes to is looked at by all other communicators meanwhile. */
static _Atomic int shared_mask;

static void *init_again(void *unused) {
  (void)unused;
  for (int i = 0; i < 2000; i++) finalize(init_as(0xab, NULL, 0, (int *)&shared_mask));
  over = true;
  return NULL;
}

static void one_mask(void) {
  void *context = init_as(0xab, NULL, 0, (int *)&shared_mask);
  int asked = shared_mask;
  pthread_t thread;
  pthread_create(&thread, NULL, init_again, NULL);
  while (!over) {
    int now = shared_mask;
    check(now == asked, "the mask of all communicators is 0x%x for a while, not 0x%x", now, asked);
  }
  pthread_join(thread, NULL);
  finalize(context);
}

/* ---- processes ---- */

static void fork_and(bool use) {
  void *context = init();
  whole(context);
  void *open = coll(context);
  fflush(stdout);
  pid_t child = fork();
  check(child >= 0, "no fork");
  if (child == 0) {
    if (use) {
      void *own = init();
      struct event event = a_coll();
      check(start(own, &event) == NULL && start(context, &event) == NULL, "a forked child records");
      stop(open);
      finalize(own), finalize(context);
      dlclose(library);
    }
    exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed: %d", status);
  kernel(context, open, 0);
  timed(true, false);
  whole(context);
  finalize(context);
}

static void forked(void) { fork_and(false); }
static void forked_communicator(void) { fork_and(true); }

/* A child forked while other threads are inside callbacks. */
static void forked_under_threads(void) {
  shared_context = init();
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, work, "for all that time");
  fflush(stdout);
  for (int i = 0; i < 20; i++) {
    pid_t child = fork();
    check(child >= 0, "no fork");
    if (child == 0) {
      void *own = init();
      struct event event = a_coll();
      start(own, &event);
      finalize(own);
      exit(0);
    }
    int status = 0;
    check(waitpid(child, &status, 0) == child && status == 0, "the child failed: %d", status);
  }
  over = true;
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  finalize(shared_context);
  any();
}

/* A child that makes the process' first communicator, after its parent has loaded the library only. */
static void forked_before_init(void) {
  pid_t child = fork();
  if (child == 0) {
    whole(init());
    exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && status == 0, "the child failed: %d", status);
  puts("expect summaries 2");
  void *context = init();
  whole(context);
  finalize(context);
}

static void without_finalize(void) {
  void *context = init();
  whole(context);
  struct event event = a_coll();
  start(context, &event);
  recorded(4096);
  want.unfinished++;
}

static void *exit_here(void *unused) {
  (void)unused;
  pause_milliseconds(50);
  exit(0);
}

static void exit_amidst(bool of_worker) {
  shared_context = init();
  pthread_t threads[3];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, "for all that time");
  puts("expect summary_or_line 1");
  fflush(stdout);
  if (of_worker) {
    pthread_create(&threads[2], NULL, exit_here, NULL);
    pthread_join(threads[2], NULL);
  }
  exit_here(NULL);
}

static void exit_under_threads(void) { exit_amidst(false); }
static void exit_of_a_thread(void) { exit_amidst(true); }

/* After a fault the process goes on: every callback says success, every handle is written. */
static void fault(void) {
  void *contexts[3];
  for (int i = 0; i < 3; i++) contexts[i] = init();
  for (int i = 0; i < 3; i++) {
    struct event event = a_coll();
    void *operation = start(contexts[i], &event);
    stop(operation);
    kernel(contexts[i], operation, 0);
    transfer(contexts[i], operation, 512);
  }
  for (int i = 0; i < 3; i++) finalize(contexts[i]);
  void *context = init();
  struct event event = a_coll();
  check(start(context, &event) == NULL, "a plugin that is off records");
  finalize(context);
  puts("expect warnings 1");
  fflush(stdout);
  exit(0);
}

/* ---- Score-P ---- */

/* What Score-P's plugin interface calls SCOREP_Metric_Plugin_Info and SCOREP_Metric_Plugin_MetricProperties. */
struct properties {
  char *name, *description;
  int mode, type, base;
  int64_t exponent;
  char *unit;
};
struct metric_plugin {
  uint32_t version;
  int run_per, synchronicity;
  uint64_t interval;
  int32_t (*initialize)(void);
  void (*finalize)(void);
  struct properties *(*get_event_info)(char *);
  int32_t (*add_counter)(char *);
  uint64_t (*get_current_value)(int32_t);
  bool (*get_optional_value)(int32_t, uint64_t *);
  void (*set_clock_function)(uint64_t (*)(void));
  uint64_t (*get_all_values)(int32_t, void **);
  void (*synchronize)(bool, int);
  uint64_t reserved[92];
};

/* Both of the library's metric plugins as Score-P uses them, NCCL in between. Whatever fails inside, Score-P gets no NULL, no
 * refusal and no counter that falls. */
static void score_p(void) {
  const char *names[] = {"SCOREP_MetricPlugin_nccl_plugin_get_info", "SCOREP_MetricPlugin_nccl_series_plugin_get_info"};
  char asked[] = "*";
  struct metric_plugin plugins[2];
  int32_t ids[2][256], counts[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    struct metric_plugin (*get)(void) = (struct metric_plugin(*)(void))dlsym(library, names[i]);
    check(get != NULL, "no %s", names[i]);
    plugins[i] = get();
    struct metric_plugin *plugin = &plugins[i];
    if (plugin->set_clock_function) plugin->set_clock_function(gpu_clock);
    check(plugin->initialize() == 0, "initialize");
    if (plugin->synchronize) plugin->synchronize(true, 0);
    struct properties *all = plugin->get_event_info(asked);
    check(all != NULL, "no list of counters");
    for (; all[counts[i]].name && counts[i] < 256; counts[i]++) {
      ids[i][counts[i]] = plugin->add_counter(all[counts[i]].name);
      /* one of the second plugin, which is asynchronous, may be refused */
      check(i == 1 || ids[i][counts[i]] >= 0, "a counter is refused");
    }
  }
  static uint64_t last[256];
  void *context = init();
  for (int round = 0; round < 5; round++) {
    struct event event = a_coll();
    void *operation = start(context, &event);
    stop(operation);
    kernel(context, operation, 0);
    transfer(context, operation, 64);
    flush();
    for (int j = 0; plugins[0].get_current_value && j < counts[0]; j++) {
      uint64_t value = plugins[0].get_current_value(ids[0][j]);
      check(value >= last[j], "counter %d falls", j);
      last[j] = value;
    }
  }
  finalize(context);
  for (int i = 0; i < 2; i++) {
    if (plugins[i].synchronize) plugins[i].synchronize(true, 2);
    for (int j = 0; plugins[i].get_all_values && j < counts[i] && ids[i][j] >= 0; j++) {
      void *values = NULL;
      plugins[i].get_all_values(ids[i][j], &values);
      free(values);
    }
    plugins[i].finalize();
  }
  fflush(stdout);
  exit(0);
}

/* Counters never fall, however much is counted: Score-P aborts the application over one that does. */
static void counters_at_their_end(void) {
  struct metric_plugin (*get)(void) = (struct metric_plugin(*)(void))dlsym(library, "SCOREP_MetricPlugin_nccl_plugin_get_info");
  check(get != NULL, "no metric plugin");
  struct metric_plugin plugin = get();
  char asked[] = "*";
  static uint64_t last[256];
  void *context = init();
  struct event event = a_coll();
  event.count = SIZE_MAX;
  struct properties *all = plugin.get_event_info(asked);
  for (int round = 0; round < 4; round++) {
    void *operation = start(context, &event);
    stop(operation);
    kernel(context, operation, 0);
    flush();
    for (int j = 0; all[j].name && j < 256; j++) {
      uint64_t value = plugin.get_current_value(plugin.add_counter(all[j].name));
      check(value >= last[j], "%s falls from %llu to %llu", all[j].name, (unsigned long long)last[j], (unsigned long long)value);
      last[j] = value;
    }
  }
  finalize(context);
  fflush(stdout);
  exit(0);
}

#define SCENARIO(name) {#name, name}
static const struct { const char *name; void (*play)(void); } scenarios[] = {
  SCENARIO(null_arguments), SCENARIO(odd_contexts), SCENARIO(ranks), SCENARIO(made_again), SCENARIO(many_communicators),
  SCENARIO(every_type), SCENARIO(datatypes), SCENARIO(odd_names), SCENARIO(huge_counts), SCENARIO(stopped_again),
  SCENARIO(invented_handles), SCENARIO(every_state), SCENARIO(stopped_after_finalize), SCENARIO(children_in_every_order),
  SCENARIO(restarted_steps), SCENARIO(many_states), SCENARIO(aborted), SCENARIO(odd_stamps), SCENARIO(early_stamps),
  SCENARIO(odd_channels), SCENARIO(to_oneself_with_kernel), SCENARIO(to_oneself_without_kernel), SCENARIO(invisible_calls),
  SCENARIO(graph), SCENARIO(calls_without_end), SCENARIO(parents_of_others), SCENARIO(copy_engine), SCENARIO(pxn), SCENARIO(finalized_under_threads), SCENARIO(two_threads),
  SCENARIO(stopped_by_two), SCENARIO(storm), SCENARIO(finalized_while_busy), SCENARIO(short_threads),
  SCENARIO(moved_between_threads), SCENARIO(small_memory), SCENARIO(min_bytes), SCENARIO(masks), SCENARIO(one_mask), SCENARIO(forked),
  SCENARIO(forked_communicator), SCENARIO(forked_under_threads), SCENARIO(forked_before_init), SCENARIO(without_finalize),
  SCENARIO(exit_under_threads), SCENARIO(exit_of_a_thread), SCENARIO(fault), SCENARIO(score_p), SCENARIO(counters_at_their_end),
};

int main(int count, char **arguments) {
  size_t all = sizeof scenarios / sizeof *scenarios;
  if (count == 1) {
    for (size_t i = 0; i < all; i++) puts(scenarios[i].name);
    return 0;
  }
  check(count >= 4, "usage: nccl_host LIBRARY VERSION SCENARIO [NUMBER]");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = count > 4 ? atol(arguments[4]) : 0;
  load();
  for (size_t i = 0; i < all; i++) {
    if (strcmp(scenarios[i].name, arguments[3]) != 0) continue;
    scenarios[i].play();
    print_wanted();
    return 0;
  }
  check(false, "no scenario %s", arguments[3]);
}
