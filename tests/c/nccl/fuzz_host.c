/* Arbitrary callbacks: fuzz_host LIBRARY VERSION SEED MILLISECONDS [careful] [DRIVER]. One to three threads at a time call what is not even
 * odd: handles and contexts of theirs, of others, stopped, ended, invented; every type and state; strings that are missing or strange.
 * A careful one stops each event and ends each communicator once: nothing but what it starts can be refused then. DRIVER is the stand-in for
 * CUDA's driver, of which sooner or later a function fails. Prints what became of all callbacks. */
#include "../cuda/driver.h"
#include <malloc.h>
#include <pthread.h>

/* splitmix64 */
struct random {
  uint64_t state;
};

static uint64_t next(struct random *random) {
  uint64_t z = random->state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static uint64_t below(struct random *random, uint64_t bound) { return next(random) % bound; }

/* A number of any length. */
static uint64_t any(struct random *random) { return next(random) >> below(random, 64); }

enum { HANDLES = 4096, CONTEXTS = 48, BATCH = 20000 };

static _Atomic(uintptr_t) handles[HANDLES], contexts[CONTEXTS];

/* Start callbacks by what became of them: those that got a handle by kind, those that every version refuses by why, and the others that
 * got none. Calls asked for are calls and refused ones. Attempts are at what may be no event or context (any more). Late callbacks of a
 * careful host are those that a busy machine held up for so long that the event may be given up. */
#define OUTCOMES(X)                                                                                                              \
  X(colls) X(p2ps) X(calls) X(groups) X(proxies) X(kernels) X(steps) X(unused) X(unknown) X(foreign) X(parentless) X(refused)     \
  X(calls_asked) X(attempts) X(late)
static struct { OUTCOMES(DECLARE_FIELD) } made;

static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "Send", "Recv", "AlltoAll", "SendRecv",
                                    "", "\xff\xfe\x80", "%s%n%p", "a name that is longer than the sixty-three bytes that are kept of one, by far"};
static const char *const datatypes[] = {"ncclInt8", "ncclUint8", "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclUnknown", ""};

static bool careful;

/* Nanoseconds between an event's start and its stop from which on it may be given up. Less than the time for which the test has an ended
 * communicator kept; and for a step, which nobody waits for when its proxy operation has ended or another thread has begun the same step,
 * less than the two barriers across all processors that the collector needs before it takes a window apart. */
enum { LATE = 200000000, LATE_STEP = 10000 };

static void *some_handle(struct random *random) {
  uintptr_t known = handles[below(random, HANDLES)];
  switch (below(random, 20)) {
    case 0: return NULL;
    case 1: return (void *)next(random);
    case 2: return (void *)(known ^ 1ULL << below(random, 64));
    case 3: return (void *)(uintptr_t)contexts[below(random, CONTEXTS)];
    default: return (void *)known;
  }
}

static void *some_context(struct random *random) {
  uintptr_t known = contexts[below(random, CONTEXTS)];
  switch (below(random, 40)) {
    case 0: return NULL;
    case 1: return (void *)next(random);
    case 2: return (void *)(known ^ 1ULL << below(random, 64));
    case 3: return (void *)(uintptr_t)handles[below(random, HANDLES)];
    default: return (void *)known;
  }
}

static const char *some_name(struct random *random, char *place) {
  uint64_t choice = below(random, 30);
  if (choice == 0) return NULL;
  if (choice == 1) {
    for (int i = 0; i < 8; i++) place[i] = (char)next(random);
    place[8] = 0;
    return place;
  }
  return names[below(random, sizeof names / sizeof *names)];
}

static uint64_t some_type(struct random *random) {
  static const uint64_t usual[] = {COLL, COLL, P2P, PROXY_OP, PROXY_OP, PROXY_STEP, PROXY_STEP, PROXY_STEP, KERNEL_CH, KERNEL_CH, COLL_API, P2P_API, GROUP_API};
  static const uint64_t launched[] = {KERNEL_LAUNCH, KERNEL_LAUNCH, GROUP, CE_COLL, COLL_API};
  switch (below(random, 16)) {
    case 2 ... 5: return driver ? launched[below(random, sizeof launched / sizeof *launched)] : usual[below(random, sizeof usual / sizeof *usual)];
    case 0: return 1ULL << below(random, 64);
    case 1: return below(random, 100) ? 1ULL << below(random, 16) : next(random);
    default: return usual[below(random, sizeof usual / sizeof *usual)];
  }
}

/* GPUs, and their streams: some that are done at once, one that is now and then at work, and one that somebody captures for ever. A
 * thread has one GPU for as long as it lives. Time on them is that of the machine. Not stream 0, which is another one on another thread:
 * NCCL ends a launch on the thread that began it. */
enum { GPUS = 3, STREAMS = 4, AT_WORK = 2, CAPTURED = 3 };
static void *gpus[GPUS], *streams[GPUS][STREAMS];
static _Thread_local int own_gpu = -1;

static void *some_stream(struct random *random) {
  if (!driver || own_gpu < 0) return NULL;
  uint64_t time = gpu_clock();
  driver->set_time(time);
  if (below(random, 100) == 0) driver->set_busy(streams[own_gpu][AT_WORK], time + any(random) % 100000000);
  return streams[own_gpu][below(random, STREAMS)];
}

static void make_gpus(void) {
  for (int i = 0; i < GPUS; i++) {
    gpus[i] = driver->make_context(i);
    for (int j = 0; j < STREAMS; j++) streams[i][j] = driver->make_stream();
    driver->begin_capture(streams[i][CAPTURED], CAPTURE_GLOBAL);
  }
}

/* One of the functions fails, after some thousands of calls or at once, once or for ever. Half of the runs have none that does. */
static void plan_failure(struct random *random) {
  static const int errors[] = {ERROR_INVALID_VALUE, ERROR_OUT_OF_MEMORY, ERROR_DEINITIALIZED, ERROR_ILLEGAL_ADDRESS, ERROR_CONTEXT_IS_DESTROYED};
  if (below(random, 2)) return;
  enum driver_function function = (enum driver_function)below(random, DRIVER_FUNCTION_COUNT);
  /* a mode that cannot be set cannot be given back, either */
  is_mode_kept = function != OF_cuThreadExchangeStreamCaptureMode;
  uint64_t from = 1 + any(random) % 50000, times = below(random, 2) ? 1 : UINT64_MAX;
  driver->fail(function, from, times, errors[below(random, sizeof errors / sizeof *errors)]);
}

/* What became of an event. */
static void note(const struct event *event, void *handle) {
  uint64_t type = version->wide ? event->type : (uint8_t)event->type;
  bool known = type != 0 && (type & (type - 1)) == 0 && type & version->types;
  atomic_long *given = NULL, *never = NULL;
  switch (known ? type : 0) {
    case 0: never = &made.unknown; break;
    case COLL:
    case CE_COLL: given = &made.colls; break;
    case P2P: given = &made.p2ps; break;
    case COLL_API:
    case P2P_API: given = &made.calls, made.calls_asked++; break;
    case GROUP_API: check(handle != NULL, "a group has no handle"), given = &made.groups; break;
    case PROXY_OP: event->pid == getpid() ? (given = &made.proxies) : (never = &made.foreign); break;
    case PROXY_STEP: event->parent ? (given = &made.steps) : (never = &made.parentless); break;
    case KERNEL_CH: event->parent ? (given = &made.kernels) : (never = &made.parentless); break;
    case GROUP:
    case PROXY_CTRL:
    case NET_PLUGIN:
    case KERNEL_LAUNCH: made.unused++; return; /* it may have a handle, and nothing is recorded of it */
    default: never = &made.unused; break;
  }
  check(given || !handle, "a handle for an event of type 0x%llx", (unsigned long long)type);
  *(never ? never : handle ? given : &made.refused) += 1;
}

static void start_something(struct random *random) {
  char own[16];
  struct event event = {
    .type = some_type(random), .parent = some_handle(random), .rank = (int)any(random), .comm = below(random, 8), .comm_name = some_name(random, own),
    .func = some_name(random, own), .count = any(random), .datatype = datatypes[below(random, sizeof datatypes / sizeof *datatypes)],
    .algorithm = some_name(random, own), .protocol = some_name(random, own), .sequence = any(random), .root = (int)any(random),
    .peer = below(random, 2000) ? (int)below(random, 8) : (int)any(random), .channels = (uint8_t)any(random), .captured = below(random, 4) == 0,
    .pid = below(random, 10) ? getpid() : (int)any(random), .channel = (uint8_t)any(random), .steps = (int)any(random),
    .send = (int)below(random, 3) - 1, .step = (int)below(random, 16),
    .ptimer = below(random, 4) ? gpu_clock() - below(random, 1000) : any(random)};
  if (below(random, 50) == 0) event.datatype = NULL;
  long begun = real_nanoseconds();
  void *context = some_context(random), *handle = driver ? start_on(context, &event, some_stream(random)) : start(context, &event);
  note(&event, handle);
  if (careful && handle) {
    state(handle, KERNEL_CH_STOP, gpu_clock());
    stop(handle);
    if (real_nanoseconds() - begun >= (event.type == PROXY_STEP ? LATE_STEP : LATE)) made.late += 2;
  }
  if (handle) handles[below(random, HANDLES)] = (uintptr_t)handle;
}

static void change_something(struct random *random) {
  void *handle = some_handle(random);
  uint64_t choice = below(random, 6);
  made.attempts += handle != NULL;
  int number = choice < 2 ? SEND_WAIT : choice < 4 ? KERNEL_CH_STOP : choice < 5 ? (int)below(random, 70) - 5 : (int)next(random);
  if (below(random, 10) == 0) state_alone(handle, number);
  else state(handle, number, number == KERNEL_CH_STOP && below(random, 4) ? gpu_clock() : any(random));
}

static void stop_something(void *handle) {
  made.attempts += handle != NULL;
  stop(handle);
}

static void finalize_something(void *context) {
  made.attempts += context != NULL;
  finalize(context);
}

static void *batch(void *seed) {
  struct random random = {(uint64_t)(uintptr_t)seed};
  if (driver) {
    own_gpu = (int)below(&random, GPUS + 1) - 1;
    driver->set_current(own_gpu < 0 ? NULL : gpus[own_gpu]);
  }
  for (int i = 0; i < BATCH; i++) {
    uint64_t choice = below(&random, 1000);
    if (choice < 450) start_something(&random);
    else if (careful && choice < 997) start_something(&random);
    else if (choice < 850) stop_something(some_handle(&random));
    else if (choice < 994) change_something(&random);
    else if (choice < 997) finalize_something(some_context(&random));
    else {
      size_t place = below(&random, CONTEXTS);
      char own[16];
      int mask;
      void *context = init_as(below(&random, 8), some_name(&random, own), (int)below(&random, 8), below(&random, 4) ? &mask : NULL);
      uintptr_t before = atomic_exchange(&contexts[place], (uintptr_t)context);
      /* some are never finalised */
      if (below(&random, 50)) finalize_something((void *)before);
    }
  }
  return NULL;
}

/* What is allocated when all communicators are over and taken in: what is kept for ever. */
static void print_heap(void) {
  struct mallinfo2 found = mallinfo2();
  printf("heap %zu\n", found.uordblks + found.hblkhd);
}

int main(int count, char **arguments) {
  check(count >= 5 && count <= 7, "usage: fuzz_host LIBRARY VERSION SEED MILLISECONDS [careful] [DRIVER]");
  careful = count > 5 && strcmp(arguments[5], "careful") == 0;
  library_path = arguments[1];
  take_version(arguments[2]);
  struct random random = {strtoull(arguments[3], NULL, 0)};
  long milliseconds = atol(arguments[4]);
  if (count == 6 + careful) {
    load_driver(arguments[count - 1]);
    make_gpus();
    plan_failure(&random);
  }
  /* called after the library's own, which is registered later */
  atexit(print_heap);
  load();
  /* nothing is counted before the first one */
  for (int i = 0; i < CONTEXTS; i++) contexts[i] = (uintptr_t)init_as((uint64_t)i % 8, NULL, i % 8, NULL);
  long begun = real_nanoseconds();
  do {
    pthread_t threads[3];
    uint64_t together = 1 + below(&random, 3);
    for (uint64_t i = 0; i < together; i++) check(pthread_create(&threads[i], NULL, batch, (void *)next(&random)) == 0, "no thread");
    for (uint64_t i = 0; i < together; i++) pthread_join(threads[i], NULL);
    if (below(&random, 8) == 0) flush();
  } while (real_nanoseconds() - begun < milliseconds * 1000000);
  for (int i = 0; i < CONTEXTS; i++) finalize_something((void *)(uintptr_t)contexts[i]);
  printf("callbacks %ld\nevents %ld\n", (long)want.callbacks, (long)want.events);
#define PRINT_OUTCOME(name) printf(#name " %ld\n", (long)made.name);
  OUTCOMES(PRINT_OUTCOME)
  return 0;
}
