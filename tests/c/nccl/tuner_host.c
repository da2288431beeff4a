/* NCCL as it uses a tuner: tuner_host LIBRARY VERSION SCENARIO. VERSION is the tuner's interface, 3 to 6; the profiler's is that of the same
 * NCCL. USER_TUNER names a tuner of the user's (c/programs/user_tuner.c), which scenarios look into; USER_VERSION is its interface. */
#include "plugin.h"
#include "tuner.h"
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

static struct tuner *tuner;
static int tuner_version, user_version;
static struct seen *seen;
static char log_function, domains, constants;

/* NCCL's tables are on its stack, with no room behind them. */
struct cost_table { uint32_t before[4]; float times[TIMES]; uint32_t behind[4]; };

static void load_tuner(void) {
  char symbol[32];
  snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", tuner_version);
  tuner = dlsym(library, symbol);
  check(tuner != NULL && tuner->name != NULL, "no table %s", symbol);
}

/* What the user's tuner has got. It must have been loaded by now. */
static void look_into_user(void) {
  void *user = dlopen(getenv("USER_TUNER"), RTLD_NOW | RTLD_NOLOAD);
  check(user != NULL, "the user's tuner was not loaded");
  seen = dlsym(user, "user_tuner_seen");
  check(seen != NULL, "no user_tuner_seen");
}

static int tuner_init(void **context, uint64_t comm, size_t ranks, size_t nodes) {
  if (tuner_version >= 5) return ((init_named)tuner->init)(context, comm, ranks, nodes, &log_function, &domains, &constants);
  return ((init_nameless)tuner->init)(ranks, nodes, &log_function, context);
}

static void *opened(uint64_t comm, size_t ranks, size_t nodes) {
  void *context = NULL;
  int result = tuner_init(&context, comm, ranks, nodes);
  check(result == 0 && context != NULL, "init of the tuner: %d, context %p", result, context);
  return context;
}

static int choose(void *context, int function, size_t bytes, int pipelined, float *times, int registered, int *channels) {
  if (tuner_version == 3)
    return ((choose_v3)tuner->choose)(context, function, bytes, pipelined, (float **)times, ALGORITHMS, PROTOCOLS, channels);
  return ((choose_v4)tuner->choose)(context, function, bytes, pipelined, (float **)times, ALGORITHMS, PROTOCOLS, registered, channels);
}

static uint64_t next(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static void fill(struct cost_table *table, uint64_t *state) {
  static const float odd[] = {-1, -1, -1, 0, -0.5f, 1e-30f, 3e38f};
  memset(table, 0xa5, sizeof *table);
  for (int i = 0; i < TIMES; i++) {
    uint64_t kind = next(state) % 12;
    table->times[i] = kind < 7 ? odd[kind] : kind == 7 ? __builtin_nanf("") : kind == 8 ? __builtin_inff() : (float)(next(state) % 100000) / 7;
  }
}

/* Whether NCCL would find something to choose. */
static bool has_choice(const struct cost_table *table) {
  for (int i = 0; i < TIMES; i++)
    if (table->times[i] >= 0 && table->times[i] < 3.4e38f) return true;
  return false;
}

enum { COMMUNICATORS = 4, THREADS = 4, CALLS = 10000 };
static void *contexts[COMMUNICATORS];
static atomic_long noted;

/* Calls of all kinds, none of which may change a byte. */
static void *calls_of_a_thread(void *argument) {
  uint64_t state = (uintptr_t)argument;
  for (int i = 0; i < CALLS; i++) {
    struct cost_table table, kept;
    fill(&table, &state);
    kept = table;
    int function = (int)(next(&state) % 18) - 1, pipelined = (int)(next(&state) % 5), kind = (int)(next(&state) % COMMUNICATORS);
    int given = next(&state) % 3 ? 0 : (int)next(&state), channels = given;
    size_t bytes = (size_t)1 << next(&state) % 40;
    int result = choose(contexts[kind], function, bytes, pipelined, table.times, (int)(next(&state) % 2), &channels);
    check(result == 0, "a choice failed with %d", result);
    check(memcmp(&table, &kept, sizeof table) == 0 && channels == given, "a call has changed NCCL's table or its channels");
    noted += function >= BROADCAST && function <= ALL_REDUCE && has_choice(&kept) && kind != 3; /* which has one rank */
  }
  return NULL;
}

static void call_on_threads(uint64_t seed) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) check(pthread_create(&threads[i], NULL, calls_of_a_thread, (void *)(seed + i)) == 0, "no thread");
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void *profiled(uint64_t comm) {
  int mask = 0;
  return init_of(comm, NULL, 1, 2, 0, &mask);
}

static void unchanged(void) {
  void *profiler = profiled(0xab);
  static const size_t ranks[COMMUNICATORS] = {2, 4, 8, 1};
  for (int i = 0; i < COMMUNICATORS; i++) contexts[i] = opened(i, ranks[i], 1 + i);
  check(tuner_version < 6 || tuner->chunk == NULL, "NCCL would ask for sizes of chunks");
  call_on_threads(1);
  /* another communicator takes the place of one that has ended */
  void *ended = contexts[1];
  check(tuner->finalize(ended) == 0, "finalize");
  contexts[1] = opened(9, 4, 2);
  check(contexts[1] != ended, "two communicators have one number");
  call_on_threads(100);
  struct cost_table table, kept;
  uint64_t state = 7;
  fill(&table, &state);
  kept = table;
  void *strange[] = {ended, NULL, (void *)(uintptr_t)0x1234, (void *)UINTPTR_MAX};
  for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
    int channels = 0;
    check(choose(strange[i], ALL_REDUCE, 64, 1, table.times, 0, &channels) == 0 && channels == 0, "a strange context");
    check(tuner->finalize(strange[i]) == 0, "finalize of a strange context");
  }
  check(memcmp(&table, &kept, sizeof table) == 0, "a strange context has changed the table");
  for (int i = 0; i < COMMUNICATORS; i++) check(tuner->finalize(contexts[i]) == 0, "finalize");
  finalize(profiler);
  printf("noted %ld\n", (long)noted);
}

static void predict(void *context, int function, size_t bytes, int pipelined, int way, float time) {
  struct cost_table table;
  for (int i = 0; i < TIMES; i++) table.times[i] = i % 4 ? -1 : 1000;
  table.times[way] = time;
  int channels = 0;
  check(choose(context, function, bytes, pipelined, table.times, 1, &channels) == 0, "choose");
}

/* An operation that the GPU takes so many nanoseconds for. */
static void operation(void *context, const char *function, size_t count, const char *algorithm, long nanoseconds) {
  struct event event = {.type = COLL, .comm = 0xab, .func = function, .count = count, .datatype = "ncclInt8", .channels = 1,
                        .algorithm = algorithm, .protocol = "LL"};
  void *handle = start(context, &event);
  stop(handle);
  if (!version->times) return;
  uint64_t now = gpu_clock();
  event = (struct event){.type = KERNEL_CH, .parent = handle, .ptimer = now};
  void *kernel = start(context, &event);
  state(kernel, KERNEL_CH_STOP, now + (uint64_t)nanoseconds);
  stop(kernel);
}

/* Predictions and operations of the same shapes, and of others. */
static void compared(void) {
  void *profiler = profiled(0xab), *context = opened(0xab, 2, 1);
  for (int i = 0; i < 3; i++) predict(context, ALL_REDUCE, 4096, 1, RING * PROTOCOLS + LL, 2.5f);
  predict(context, ALL_REDUCE, 4096, 4, RING * PROTOCOLS + LL, 10);
  predict(context, ALL_GATHER, 2048, 1, PAT * PROTOCOLS + SIMPLE, 8);
  predict(context, ALL_REDUCE, 64, 1, TREE * PROTOCOLS + LL, 7.25f);
  for (int i = 0; i < 9; i++) operation(profiler, "AllReduce", 4096, "RING", 5000);
  /* of each rank, and not as NCCL predicts */
  for (int i = 0; i < 5; i++) operation(profiler, "AllGather", 1024, "RING", 3000);
  check(tuner->finalize(context) == 0, "finalize");
  finalize(profiler);
}

/* More predictions than there is room for. */
static void many(void) {
  void *profiler = profiled(0xab), *context = opened(0xab, 2, 1);
  for (size_t i = 1; i <= 3000; i++) predict(context, ALL_REDUCE, i, 1, RING * PROTOCOLS + LL, 2.5f);
  check(tuner->finalize(context) == 0, "finalize");
  finalize(profiler);
}

static int lowest_user_version(void) { return user_version < tuner_version ? user_version : tuner_version; }

/* A call, of which the user's tuner must get all that its version has. */
static void pass(void *context, size_t bytes, int registered, int result) {
  struct cost_table table, kept;
  uint64_t state = bytes + (size_t)registered;
  do fill(&table, &state);
  while (table.times[TREE * PROTOCOLS + SIMPLE] == -1);
  kept = table;
  int channels = 0, before = seen->calls;
  check(choose(context, REDUCE, bytes, 2, table.times, registered, &channels) == result, "the result is not the user's");
  check(seen->calls == before + 1, "the user's tuner was not called once");
  check(seen->function == REDUCE && seen->bytes == bytes && seen->pipelined == 2 && seen->channels == &channels, "other arguments");
  if (lowest_user_version() == 2) {
    bool network = kept.times[COLLNET_CHAIN * PROTOCOLS + SIMPLE] != -1;
    bool nvlink = kept.times[NVLS * PROTOCOLS + SIMPLE] != -1 || kept.times[NVLS_TREE * PROTOCOLS + SIMPLE] != -1;
    check(seen->network == network && seen->nvlink == nvlink, "other support");
  } else {
    check(seen->times == table.times && seen->algorithms == ALGORITHMS && seen->protocols == PROTOCOLS, "another table");
    if (lowest_user_version() > 3) check(seen->registered == (tuner_version > 3 ? registered : 0), "another registration");
  }
  bool changes = bytes == BYTES_TO_CHANGE || bytes == BYTES_TO_FAIL;
  /* an older tuner's failure leaves the table, as with NCCL */
  if (changes && (lowest_user_version() > 2 || result == 0)) kept.times[TREE * PROTOCOLS + SIMPLE] = 0;
  check(memcmp(&table, &kept, sizeof table) == 0, "the table is not as the user's tuner left it");
  check(channels == (changes ? CHANGED_CHANNELS : 0), "the channels are not the user's");
}

static void check_init(uint64_t comm, size_t ranks, size_t nodes) {
  check(seen->ranks == ranks && seen->nodes == nodes && seen->logger == &log_function, "other arguments of init");
  if (lowest_user_version() >= 5) check(seen->comm == comm && seen->domains == &domains && seen->constants == &constants, "others of v5");
}

/* Everything reaches the user's tuner and comes back from it. */
static void user(void) {
  void *profiler = profiled(0xab), *one = opened(0x11, 4, 2);
  look_into_user();
  check(seen->inits == 1, "init was not called once");
  check_init(0x11, 4, 2);
  void *of_one = seen->context, *two = opened(0x22, 8, 1);
  void *of_two = seen->context;
  check(seen->inits == 2 && one != two && of_one != of_two, "two communicators are not told apart");
  for (int i = 0; i < 20; i++) {
    pass(one, 64, i % 2, 0);
    check(seen->context == of_one, "another context");
    pass(two, BYTES_TO_CHANGE, i % 2, 0);
    check(seen->context == of_two, "another context");
    pass(one, BYTES_TO_FAIL, i % 2, FAILED_CHOICE);
  }
  check(tuner->finalize(one) == 0 && seen->finalizes == 1 && seen->context == of_one, "finalize");
  int calls = seen->calls, channels = 0;
  float times[TIMES] = {1};
  check(choose(one, REDUCE, 64, 1, times, 0, &channels) == 0 && seen->calls == calls, "a call of an ended communicator");
  check(tuner->finalize(one) == 0 && seen->finalizes == 1, "a communicator ended twice");
  pass(two, BYTES_TO_CHANGE, 1, 0);
  /* init fails: NCCL gets the user's error, and finalizes what it had begun */
  void *failed = NULL;
  check(tuner_init(&failed, 0x33, RANKS_OF_FAILED_INIT, 1) == FAILED_INIT, "the user's init did not fail");
  void *of_failed = seen->context;
  check(tuner->finalize(failed) == 0 && seen->context == of_failed && seen->finalizes == 2, "the failed one was not finalized");
  void *odd = opened(0x44, RANKS_OF_FAILED_FINALIZE, 1);
  check(tuner->finalize(odd) == FAILED_FINALIZE, "the user's finalize did not fail");
  check(tuner->finalize(two) == 0 && seen->finalizes == 4 && seen->inits == 4, "not all was finalized");
  finalize(profiler);
}

/* Sizes of chunks are the user's, and NCCL asks for them only where the user's tuner has them. */
static void chunks(void) {
  void *context = opened(0x11, 4, 2);
  look_into_user();
  if (getenv("NO_CHUNKS")) {
    check(tuner->chunk == NULL, "NCCL would ask for sizes of chunks");
    return;
  }
  check(tuner->chunk != NULL, "NCCL would not ask for sizes of chunks");
  size_t size = 1 << 20;
  check(tuner->chunk(context, ALL_REDUCE, 64, NVLS, SIMPLE, 16, &size) == 0 && size == 1 << 19 && seen->chunks == 1, "a chunk");
  check(seen->function == ALL_REDUCE && seen->bytes == 64 && seen->algorithm == NVLS && seen->protocol == SIMPLE, "its arguments");
  check(seen->chunk_channels == 16, "its channels");
  check(tuner->chunk(context, ALL_REDUCE, BYTES_TO_FAIL, NVLS, SIMPLE, 16, &size) == FAILED_CHOICE, "the user's error");
  check(tuner->finalize(context) == 0, "finalize");
  check(tuner->chunk(context, ALL_REDUCE, 64, NVLS, SIMPLE, 16, &size) == 0 && seen->chunks == 2, "a chunk of an ended communicator");
}

/* Whether the user's tuner is found; NET_PLUGIN is a library that NCCL has loaded before. */
static void search(void) {
  const char *network = getenv("NET_PLUGIN");
  if (network) check(dlopen(network, RTLD_NOW | RTLD_LOCAL) != NULL, "%s", dlerror());
  void *context = opened(0x11, 4, 2);
  void *found = dlopen(getenv("USER_TUNER"), RTLD_NOW | RTLD_NOLOAD);
  struct seen *its = found ? dlsym(found, "user_tuner_seen") : NULL;
  printf("passed %d\n", its ? its->inits : 0);
  float times[TIMES] = {1};
  int channels = 0;
  check(choose(context, REDUCE, 64, 1, times, 0, &channels) == 0, "choose");
  check(tuner->finalize(context) == 0, "finalize");
}

/* The tuner in a process whose profiler is not this library. */
static void alone(void) {
  void *context = opened(0xab, 2, 1);
  predict(context, ALL_REDUCE, 4096, 1, RING * PROTOCOLS + LL, 2.5f);
  check(tuner->finalize(context) == 0, "finalize");
}

/* The profiler of a process whose tuner is not this library. */
static void unnamed(void) {
  void *profiler = profiled(0xab);
  operation(profiler, "AllReduce", 4096, "RING", 5000);
  finalize(profiler);
}

/* A child passes on, too, and its parent still notes. */
static void forked(void) {
  void *profiler = profiled(0xab);
  pid_t child = fork();
  if (child == 0) {
    void *context = opened(0x11, 4, 2);
    look_into_user();
    check(seen->inits == 1, "the child's tuner was not called");
    pass(context, BYTES_TO_CHANGE, 0, 0);
    check(tuner->finalize(context) == 0, "finalize");
    _exit(0);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child failed");
  void *context = opened(0xab, 2, 1);
  predict(context, ALL_REDUCE, BYTES_TO_CHANGE, 1, RING * PROTOCOLS + LL, 2.5f);
  check(tuner->finalize(context) == 0, "finalize");
  finalize(profiler);
}

#define OFFSET(member) printf("v%d." #member " %zu %zu\n", tuner_version, offsetof(struct tuner, member), sizeof tuner->member)
static void layout(void) {
  OFFSET(name), OFFSET(init), OFFSET(choose), OFFSET(finalize);
  if (tuner_version >= 6) OFFSET(chunk);
  printf("v%d 0 %zu\n", tuner_version, tuner_version >= 6 ? sizeof(struct tuner) : offsetof(struct tuner, chunk));
}

static const struct { const char *name; void (*play)(void); } scenarios[] = {
  {"unchanged", unchanged}, {"compared", compared}, {"many", many}, {"user", user}, {"chunks", chunks}, {"search", search},
  {"alone", alone}, {"unnamed", unnamed}, {"forked", forked}, {"layout", layout}};

int main(int count, char **arguments) {
  check(count == 4, "usage: tuner_host LIBRARY VERSION SCENARIO");
  library_path = arguments[1];
  tuner_version = atoi(arguments[2]);
  check(tuner_version >= 3 && tuner_version <= 6, "no version %s", arguments[2]);
  user_version = getenv("USER_VERSION") ? atoi(getenv("USER_VERSION")) : 0;
  static const char *profilers[] = {"1", "4", "5", "7"};
  take_version(profilers[tuner_version - 3]);
  load();
  load_tuner();
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    if (strcmp(scenarios[i].name, arguments[3]) == 0) {
      scenarios[i].play();
      return 0;
    }
  check(false, "no scenario %s", arguments[3]);
}
