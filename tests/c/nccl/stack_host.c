/* How much stack callbacks take: stack_host LIBRARY VERSION NUMBER prints for each kind of callback `KIND first BYTES` and `KIND later BYTES`,
 * where it is the first one of its thread, and the most of NUMBER that follow; of inits and finalizes those of the process.
 * `stack_host LIBRARY VERSION NUMBER small` plays all kinds on threads with the smallest stack that there is.
 *
 * A thread's stack is painted below the call, and what has another colour afterwards was used. */
#include "operations.h"
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>

enum { STACK = 256 << 10, PAINT = 0xa5, OWN = 512 };

static unsigned char *bottom;

/* Paints what lies below the caller's frame by more than a call of memset takes. */
#define PAINTED(top) memset(bottom, PAINT, (size_t)((top) - OWN - bottom))

static __attribute__((noinline)) long used_by(void (*call)(void)) {
  unsigned char *top = __builtin_frame_address(0);
  PAINTED(top);
  call();
  unsigned char *lowest = bottom;
  while (*lowest == PAINT) lowest++;
  return top - lowest;
}

static void *context, *operation, *proxy, *handle;

static void started(struct event event) {
  handle = start(context, &event);
}

static void start_group_api(void) { started((struct event){.type = GROUP_API}); }
static void start_coll_api(void) { started(a_call(COLL_API, "AllReduce", false)); }
static void start_p2p_api(void) { started(a_call(P2P_API, "Send", false)); }
static void start_launch(void) { started((struct event){.type = KERNEL_LAUNCH}); }
static void start_group(void) { started((struct event){.type = GROUP}); }
static void start_coll(void) { started(a_coll()); }
static void start_p2p(void) { started(a_p2p(1)); }
static void start_ce_coll(void) {
  struct event event = a_coll();
  event.type = CE_COLL;
  started(event);
}
static void start_proxy_op(void) { started(a_proxy_op(operation)); }
static void start_step(void) { started(a_step(proxy, 0)); }
static void start_kernel(void) { started(a_kernel(operation, 0)); }
static void start_phase(void) { started((struct event){.type = KERNEL_PHASE, .parent = operation}); }
static void start_net_plugin(void) { started((struct event){.type = NET_PLUGIN, .parent = operation}); }
static void start_unknown(void) { started((struct event){.type = 1 << 30, .parent = operation}); }
static void state_send_wait(void) { state(handle, SEND_WAIT, 512); }
static void state_kernel(void) { state(handle, KERNEL_CH_STOP, gpu_clock()); }
static void state_group_end(void) { state(handle, GROUP_END_BEGINS, 0); }
static void stop_it(void) { stop(handle); }
static void stop_stale(void) { stop(operation); }
static void stop_null(void) { stop(NULL); }
static void make(void) { context = init(); }
static void destroy(void) { finalize(context); }

/* A callback, and what comes before it without being measured, on another thread. */
static const struct kind { const char *name; void (*call)(void), (*before)(void); } kinds[] = {
  {"start_group_api", start_group_api, NULL}, {"start_coll_api", start_coll_api, NULL}, {"start_p2p_api", start_p2p_api, NULL},
  {"start_launch", start_launch, NULL}, {"start_group", start_group, NULL}, {"start_coll", start_coll, NULL}, {"start_p2p", start_p2p, NULL},
  {"start_ce_coll", start_ce_coll, NULL}, {"start_proxy_op", start_proxy_op, NULL}, {"start_step", start_step, NULL},
  {"start_kernel", start_kernel, NULL}, {"start_phase", start_phase, NULL}, {"start_net_plugin", start_net_plugin, NULL},
  {"start_unknown", start_unknown, NULL}, {"state_send_wait", state_send_wait, start_step}, {"state_kernel", state_kernel, start_kernel},
  {"state_group_end", state_group_end, start_group_api}, {"stop_group_api", stop_it, start_group_api},
  {"stop_coll_api", stop_it, start_coll_api}, {"stop_launch", stop_it, start_launch}, {"stop_coll", stop_it, start_coll},
  {"stop_p2p", stop_it, start_p2p}, {"stop_ce_coll", stop_it, start_ce_coll}, {"stop_proxy_op", stop_it, start_proxy_op},
  {"stop_step", stop_it, start_step}, {"stop_kernel", stop_it, start_kernel}, {"stop_stale", stop_stale, NULL}, {"stop_null", stop_null, NULL}};

static sem_t done;

/* On a thread that stays: what is a thread's own is made anew for the next one. */
static void on_a_thread(void *(*body)(void *), void *argument, size_t size) {
  pthread_attr_t attributes;
  pthread_t thread;
  check(pthread_attr_init(&attributes) == 0, "no attributes");
  if (size) {
    check(pthread_attr_setstacksize(&attributes, size) == 0, "no small stack");
  } else {
    bottom = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(bottom != MAP_FAILED && pthread_attr_setstack(&attributes, bottom, STACK) == 0, "no stack");
  }
  check(pthread_create(&thread, &attributes, body, argument) == 0, "no thread");
  while (sem_wait(&done) != 0) {}
}

static void *stay(void) {
  sem_post(&done);
  while (pause() != 0) {}
  return NULL;
}

static void *prepared(void *kind) {
  ((const struct kind *)kind)->before();
  return stay();
}

static void *measured(void *given) {
  const struct kind *kind = given;
  at_the_edge(1);
  printf("%s first %ld\n", kind->name, used_by(kind->call));
  long most = 0;
  for (long i = 0; i < number; i++) {
    if (kind->before) kind->before();
    long used = used_by(kind->call);
    if (used > most) most = used;
  }
  printf("%s later %ld\n", kind->name, most);
  return stay();
}

static void *ends(void *unused) {
  at_the_edge(1);
  for (int i = 0; i < 2; i++) {
    printf("init %s %ld\n", i ? "later" : "first", used_by(make));
    /* what the collector's first round settles for callbacks */
    flush();
    printf("finalize %s %ld\n", i ? "later" : "first", used_by(destroy));
  }
  (void)unused;
  return stay();
}

static void *called(void *given) {
  ((const struct kind *)given)->call();
  return stay();
}

int main(int count, char **arguments) {
  check(count == 4 || count == 5, "usage: stack_host LIBRARY VERSION NUMBER [small]");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = atol(arguments[3]);
  load();
  bool small = count == 5;
  check(sem_init(&done, 0, 0) == 0, "no semaphore");
  if (!small) on_a_thread(ends, NULL, 0);
  context = init();
  operation = coll(context);
  struct event event = a_proxy_op(operation);
  proxy = start(context, &event);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    handle = NULL;
    if (kinds[i].before) on_a_thread(prepared, (void *)&kinds[i], 0);
    on_a_thread(small ? called : measured, (void *)&kinds[i], small ? (size_t)PTHREAD_STACK_MIN : 0);
  }
  return 3;
}
