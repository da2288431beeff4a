/* A job that does what each line of standard input says, and answers each with a line: status_host LIBRARY VERSION. It has one mask for
 * all communicators, in the library that its logger lies in, and reads it at each call, as NCCL does: an operation has the event types of
 * that moment to its end.
 *
 *   init COMM RANK RANKS [NODES]  a communicator, by its id in hexadecimal digits; of 2 nodes without a number
 *   gpu PLACE                     the current GPU of communicators to come, for the stand-in of tests/c/nvml/current_gpu.c
 *   finalize COMM
 *   call KEY COMM FUNC COUNT TYPE [captured]    the call begins; it returns with `return KEY`
 *   return KEY
 *                                 (FUNC may name a root behind a colon: Reduce:1)
 *   start KEY COMM FUNC COUNT TYPE [CALL]       the operation is enqueued, of that call
 *   algorithm ALGORITHM PROTOCOL  those of the operations that follow; RING and LL at first
 *   begin KEY, finish KEY         its kernel channel
 *   proxy KEY OPERATION PEER CHANNEL SEND, step KEY PROXY, sent KEY, end KEY
 *   transfers OPERATION PEER SEND COUNT BYTES   a proxy operation with so many steps, each in all of its states
 *   group COMM, launch, end_group a group of calls
 *   whole COMM COUNT              so many all-reduces from call to finish
 *   storm THREADS MILLISECONDS    threads with communicators of their own; says what the figures must be
 *   mask, set_mask MASK          NCCL's mask, as another plugin would change it
 *   flush
 *   ...                           those of status_gpu.h and status_plan.h
 */
#include "status_gpu.h"
#include "status_plan.h"
#include <pthread.h>

__attribute__((visibility("default"))) void host_log(int level, unsigned long flags, const char *file, int line, const char *format, ...);
void host_log(int level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}

static bool is_asked(int mask, uint64_t types) { return ((uint64_t)mask & types & version->types) != 0; }

/* With an event come those that it lies in. */
enum { OF_OPERATIONS = COLL | P2P | PROXY_OP | PROXY_STEP | KERNEL_CH | NET_PLUGIN };

enum { MOST = 4096 };
static struct { char key[24]; void *handle; void *context; int mask; } events[MOST];
static int event_count;

static int find(const char *key) {
  for (int i = event_count - 1; i >= 0; i--)
    if (strcmp(events[i].key, key) == 0) return i;
  check(false, "no %s", key);
  return -1;
}

static void keep(const char *key, void *handle, void *context, int mask) {
  check(event_count < MOST, "too many events");
  snprintf(events[event_count].key, sizeof events->key, "%s", key);
  events[event_count].handle = handle;
  events[event_count].context = context;
  events[event_count++].mask = mask;
}

static void *kept_copy(const char *text) { return strdup(text); }

static void *start_if(int mask, uint64_t types, void *context, struct event event) {
  return is_asked(mask, types) ? start(context, &event) : NULL;
}

static void stop_of(void *handle) {
  if (handle) stop(handle);
}

/* Takes the root off a function's name; 0 where it names none, as NCCL passes it. */
static int take_root(char *func) {
  char *colon = strchr(func, ':');
  if (!colon) return 0;
  *colon = 0;
  return atoi(colon + 1);
}

static struct event a_call_of(const char *func, size_t count, const char *type, bool captured) {
  bool p2p = strcmp(func, "Send") == 0 || strcmp(func, "Recv") == 0;
  return (struct event){.type = p2p ? P2P_API : COLL_API, .func = func, .count = count, .datatype = type, .captured = captured};
}

static const char *algorithm = "RING", *protocol = "LL";

static struct event an_operation(const char *func, size_t count, const char *type, void *call) {
  bool p2p = strcmp(func, "Send") == 0 || strcmp(func, "Recv") == 0;
  struct event event = p2p ? a_p2p(1) : a_coll();
  event.func = func, event.count = count, event.datatype = type, event.parent = call;
  if (!p2p) event.algorithm = algorithm, event.protocol = protocol;
  return event;
}

/* An all-reduce of so many elements, with all that the mask of its call asks for. */
struct counts { long operations, kernels, transfers; };

static void timed_plan(void *context, long count, uint64_t begin, uint64_t length, uint64_t period) {
  for (; count > 0; count--, begin += period) {
    struct event event = a_call_of("AllReduce", 1024, "ncclFloat32", false);
    void *call = version->api ? start(context, &event) : NULL;
    stop_of(call);
    event = an_operation("AllReduce", 1024, "ncclFloat32", call);
    void *operation = start(context, &event);
    stop(operation);
    plan(context, operation, begin, length);
  }
}

static void transfers(void *context, void *operation, char **words) {
  struct event event = a_proxy_op(operation);
  event.peer = atoi(words[2]), event.send = atoi(words[3]), event.steps = atoi(words[4]);
  void *proxy = start(context, &event);
  for (int number = 0; number < atoi(words[4]); number++) {
    event = a_step(proxy, number);
    void *step = start(context, &event);
    const int states[2][3] = {{RECV_WAIT, RECV_FLUSH_WAIT, RECV_GPU_WAIT}, {SEND_GPU_WAIT, SEND_PEER_WAIT, SEND_WAIT}};
    for (int place = 0; place < 3; place++) state(step, states[atoi(words[3]) != 0][place], strtoull(words[5], NULL, 10));
    stop(step);
  }
  stop(proxy);
}

static struct counts whole_by_mask(void *context, size_t count, uint8_t channels, int mask) {
  struct counts made = {1, 0, 0};
  void *call = NULL;
  if (version->api) {
    void *group = start_if(mask, GROUP_API | COLL_API | OF_OPERATIONS, context, (struct event){.type = GROUP_API});
    call = start_if(mask, COLL_API | OF_OPERATIONS, context, a_call_of("AllReduce", count, "ncclFloat32", false));
    stop_of(call);
    if (group) state_alone(group, GROUP_END_BEGINS);
    struct event event = an_operation("AllReduce", count, "ncclFloat32", call);
    event.channels = channels;
    void *operation = start_if(mask, OF_OPERATIONS, context, event);
    stop_of(operation);
    stop_of(group);
    call = operation;
  } else {
    struct event event = an_operation("AllReduce", count, "ncclFloat32", NULL);
    event.channels = channels;
    call = start_if(mask, OF_OPERATIONS, context, event);
    stop_of(call);
  }
  if (is_asked(mask, KERNEL_CH)) {
    void *kernels[8];
    for (uint8_t channel = 0; channel < channels; channel++) {
      struct event event = a_kernel(call, channel);
      kernels[channel] = start(context, &event);
    }
    for (uint8_t channel = 0; channel < channels; channel++) {
      state(kernels[channel], KERNEL_CH_STOP, gpu_clock());
      stop(kernels[channel]);
    }
    made.kernels++;
  }
  if (is_asked(mask, PROXY_OP | PROXY_STEP)) {
    struct event event = a_proxy_op(call);
    void *proxy = start(context, &event);
    if (is_asked(mask, PROXY_STEP)) {
      event = a_step(proxy, 0);
      void *step = start(context, &event);
      state(step, SEND_GPU_WAIT, 0);
      state(step, SEND_WAIT, 512);
      stop(step);
      made.transfers++;
    }
    stop(proxy);
  }
  return made;
}

/* Threads that make operations without a pause, while the mask changes. */
struct worker { pthread_t thread; void *context; long milliseconds; struct counts made; };

static void *work(void *argument) {
  struct worker *worker = argument;
  long end = real_nanoseconds() + worker->milliseconds * 1000000;
  while (real_nanoseconds() < end) {
    for (int i = 0; i < 20; i++) {
      struct counts made = whole_by_mask(worker->context, 1024, 2, shared_mask);
      worker->made.operations += made.operations;
      worker->made.kernels += made.kernels;
      worker->made.transfers += made.transfers;
    }
    struct timespec pause = {0, 2000000};
    nanosleep(&pause, NULL);
  }
  return NULL;
}

static void *make(uint64_t id, int rank, int ranks, int nodes) {
  return init_of(id, NULL, nodes, ranks, rank, (int *)&shared_mask);
}

static void storm(int threads, long milliseconds) {
  struct worker workers[16];
  struct counts all = {0, 0, 0};
  check(threads <= 16, "too many threads");
  for (int i = 0; i < threads; i++) workers[i] = (struct worker){.context = make(0x100 + (uint64_t)i, 0, 2, 2), .milliseconds = milliseconds};
  for (int i = 0; i < threads; i++) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  for (int i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    all.operations += workers[i].made.operations;
    all.kernels += workers[i].made.kernels;
    all.transfers += workers[i].made.transfers;
  }
  for (int i = 0; i < threads; i++) finalize(workers[i].context);
  printf("%ld %ld %ld\n", all.operations, all.kernels, all.transfers);
}

static struct { uint64_t id; void *context; } communicators[64];
static int communicator_count;

static void *of_comm(const char *text) {
  uint64_t id = strtoull(text, NULL, 16);
  for (int i = communicator_count - 1; i >= 0; i--)
    if (communicators[i].id == id) return communicators[i].context;
  check(false, "no communicator %s", text);
  return NULL;
}

static void some(void *context) {
  for (int i = 0; i < 3; i++) whole_by_mask(context, 1024, 1, shared_mask);
}

static void *group;

static void obey(int count, char **words) {
  const char *order = words[0];
  if (strcmp(order, "init") == 0) {
    communicators[communicator_count].id = strtoull(words[1], NULL, 16);
    communicators[communicator_count].context = make(communicators[communicator_count].id, atoi(words[2]), atoi(words[3]), count > 4 ? atoi(words[4]) : 2);
    communicator_count++;
  } else if (strcmp(order, "gpu") == 0) {
    /* the current one, as the stand-in names it (tests/c/nvml/current_gpu.c) */
    setenv("CUDA_STAND_IN_GPU", words[1], 1);
  } else if (strcmp(order, "algorithm") == 0) {
    algorithm = kept_copy(words[1]), protocol = kept_copy(words[2]);
  } else if (strcmp(order, "finalize") == 0) {
    finalize(of_comm(words[1]));
  } else if (strcmp(order, "call") == 0) {
    void *context = of_comm(words[2]);
    int mask = shared_mask;
    int root = take_root(words[3]);
    struct event event = a_call_of(kept_copy(words[3]), (size_t)atoll(words[4]), kept_copy(words[5]), count > 6);
    event.root = root;
    keep(words[1], start_if(mask, COLL_API | P2P_API | OF_OPERATIONS, context, event), context, mask);
  } else if (strcmp(order, "return") == 0 || strcmp(order, "end") == 0) {
    stop_of(events[find(words[1])].handle);
  } else if (strcmp(order, "start") == 0) {
    void *context = of_comm(words[2]);
    int mask = count > 6 ? events[find(words[6])].mask : shared_mask;
    void *call = count > 6 ? events[find(words[6])].handle : NULL;
    int root = take_root(words[3]);
    struct event event = an_operation(kept_copy(words[3]), (size_t)atoll(words[4]), kept_copy(words[5]), call);
    event.root = root;
    void *handle = start_if(mask, OF_OPERATIONS, context, event);
    stop_of(handle);
    keep(words[1], handle, context, mask);
  } else if (strcmp(order, "begin") == 0) {
    int of = find(words[1]);
    struct event event = a_kernel(events[of].handle, 0);
    char key[32];
    snprintf(key, sizeof key, "%s.kernel", words[1]);
    keep(key, start_if(events[of].mask, KERNEL_CH, events[of].context, event), events[of].context, events[of].mask);
  } else if (strcmp(order, "finish") == 0) {
    char key[32];
    snprintf(key, sizeof key, "%s.kernel", words[1]);
    void *handle = events[find(key)].handle;
    if (handle) state(handle, KERNEL_CH_STOP, gpu_clock());
    stop_of(handle);
  } else if (strcmp(order, "proxy") == 0) {
    int of = find(words[2]);
    struct event event = a_proxy_op(events[of].handle);
    event.peer = atoi(words[3]), event.channel = (uint8_t)atoi(words[4]), event.send = atoi(words[5]), event.steps = 4;
    keep(words[1], start_if(events[of].mask, PROXY_OP | PROXY_STEP, events[of].context, event), events[of].context, events[of].mask);
  } else if (strcmp(order, "step") == 0) {
    int of = find(words[2]);
    keep(words[1], start_if(events[of].mask, PROXY_STEP, events[of].context, a_step(events[of].handle, event_count)), events[of].context, events[of].mask);
  } else if (strcmp(order, "sent") == 0) {
    state(events[find(words[1])].handle, SEND_WAIT, 512);
  } else if (strcmp(order, "group") == 0) {
    group = start(of_comm(words[1]), &(struct event){.type = GROUP_API});
  } else if (strcmp(order, "launch") == 0) {
    state_alone(group, GROUP_END_BEGINS);
  } else if (strcmp(order, "end_group") == 0) {
    stop(group);
  } else if (strcmp(order, "whole") == 0) {
    for (long i = 0; i < atol(words[2]); i++) whole_by_mask(of_comm(words[1]), 1024, 1, shared_mask);
  } else if (strcmp(order, "timed") == 0) {
    timed_plan(of_comm(words[1]), atol(words[2]), strtoull(words[3], NULL, 10), strtoull(words[4], NULL, 10), strtoull(words[5], NULL, 10));
  } else if (strcmp(order, "at") == 0) {
    int of = find(words[1]);
    plan(events[of].context, events[of].handle, strtoull(words[2], NULL, 10), strtoull(words[3], NULL, 10));
  } else if (strcmp(order, "run") == 0) {
    run_plan();
  } else if (strcmp(order, "transfers") == 0) {
    int of = find(words[1]);
    transfers(events[of].context, events[of].handle, words);
  } else if (strcmp(order, "storm") == 0) {
    storm(atoi(words[1]), atol(words[2]));
    return;
  } else if (strcmp(order, "mask") == 0) {
    printf("%d\n", shared_mask);
    return;
  } else if (strcmp(order, "set_mask") == 0) {
    shared_mask = (int)strtol(words[1], NULL, 0);
  } else if (strcmp(order, "flush") == 0) {
    flush();
  } else if (strcmp(order, "gpu_at") == 0) {
    driver->set_time(milliseconds(words[1]));
  } else if (strcmp(order, "hold") == 0 || strcmp(order, "release") == 0) {
    driver->hold(strcmp(order, "hold") == 0);
  } else if (strcmp(order, "kernel") == 0 || strcmp(order, "captured") == 0) {
    void *context = of_comm(words[2]);
    const char *begin = count > 6 ? words[6] : NULL, *end = count > 7 ? words[7] : NULL;
    keep(words[1], launched(context, kept_copy(words[3]), (size_t)atoll(words[4]), kept_copy(words[5]), begin, end), context, shared_mask);
  } else if (strcmp(order, "fork") == 0) {
    printf("%d\n", forked(strcmp(words[1], "nccl") == 0, words[2], make, some));
    return;
  } else if (strcmp(order, "reap") == 0) {
    check(waitpid(atoi(words[1]), NULL, 0) > 0, "no child %s", words[1]);
  } else {
    check(false, "no order %s", order);
  }
  puts("done");
}

int main(int parts, char **arguments) {
  check(parts == 3, "usage: status_host LIBRARY VERSION");
  setvbuf(stdout, NULL, _IOLBF, 0);
  library_path = arguments[1];
  take_version(arguments[2]);
  begin_gpu();
  load();
  logger = (void *)host_log;
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    char *words[16];
    int count = 0;
    for (char *word = strtok(line, " \n"); word && count < 16; word = strtok(NULL, " \n")) words[count++] = word;
    if (count) obey(count, words);
  }
  return 0;
}
