/* Calls that are counted: instructions_host LIBRARY VERSION COUNT makes each kind of call COUNT times through the library's tables, each
 * from a function of its own, named counted_KIND. A profiler that counts instructions by caller and callee tells what a call costs the
 * thread that makes it, without what this program does in between.
 *
 * Score-P's clock is a number that grows by one at each reading, so that what is done about time is the same in every run. All events
 * of a kind have a communicator of their own: then the blocks and windows that they take are all that kind's. */
#include "../score_p/metric_plugin.h"
#include "operations.h"

/* Calls before those that are counted: what a thread does once is done by then. */
enum { WARM = 64 };

static atomic_ulong ticks = 1000000000;
static uint64_t clock_of_one_tick(void) { return atomic_fetch_add_explicit(&ticks, 1, memory_order_relaxed); }

static struct metric_plugin counters;

/* ncclProfilerProxyOpSendPosted of NCCL 2.23: no state of a step, so nothing is noted of it. */
enum { NOT_OF_STEPS = 0 };

/* The compiler's memory barrier keeps the call from being a jump, which has no caller. */
#define CALL(call) call; __asm__ volatile("" ::: "memory")
#define START(name) static __attribute__((noinline)) void name(void *context, void **handle, void *event) { CALL(table.start(context, handle, event)); }
#define STATE(name) static __attribute__((noinline)) void name(void *handle, int state, void *argument) { CALL(table.state(handle, state, argument)); }
#define STOP(name) static __attribute__((noinline)) void name(void *handle) { CALL(table.stop(handle)); }
#define READ(name) static __attribute__((noinline)) void name(int32_t id) { CALL(counters.get_current_value(id)); }

START(warm_start) STATE(warm_state) STOP(warm_stop) READ(warm_read)
START(counted_group_api_start) STATE(counted_group_api_state) STOP(counted_group_api_stop)
START(counted_coll_api_start) STOP(counted_coll_api_stop)
START(counted_coll_start) STOP(counted_coll_stop)
START(counted_p2p_start) STOP(counted_p2p_stop)
START(counted_proxy_op_start) STOP(counted_proxy_op_stop)
START(counted_send_step_start) STATE(counted_step_state_unused) STATE(counted_step_state_send_wait) STOP(counted_send_step_stop)
STATE(counted_step_state_send_gpu_wait) STATE(counted_step_state_send_peer_wait) STATE(counted_step_state_send_peer_poll)
START(counted_receive_step_start) STOP(counted_receive_step_stop)
STATE(counted_step_state_receive_wait) STATE(counted_step_state_receive_flush) STATE(counted_step_state_receive_gpu_wait)
START(counted_kernel_ch_start) STATE(counted_kernel_ch_state) STOP(counted_kernel_ch_stop)
START(counted_unused_start)
STOP(counted_null_stop) STOP(counted_stale_stop) STATE(counted_stale_state)
READ(counted_process_counter) READ(counted_thread_counter)

/* Counted, but for the first calls; `number` is how many are counted. */
#define OF(round, counted, warm) ((round) < WARM ? (warm) : (counted))
#define ROUNDS for (int round = 0; round < WARM + number; round++)

/* Where a text lies decides how it is read; these do not move when the program changes. */
static _Alignas(64) const char all_reduce[64] = "AllReduce", send[64] = "Send", float32[64] = "ncclFloat32", ring[64] = "RING", ll[64] = "LL";

static struct event placed(struct event event) {
  event.func = event.type == P2P ? send : all_reduce;
  event.datatype = float32, event.algorithm = ring, event.protocol = ll;
  return event;
}

static void *begin(int round, void (*counted)(void *, void **, void *), void *context, struct event event) {
  void *handle = GARBAGE, *descriptor = at_the_edge(descriptor_size(version));
  put_descriptor(&event, descriptor, version);
  OF(round, counted, warm_start)(context, &handle, descriptor);
  check(handle != GARBAGE, "no answer");
  check((handle != NULL) == !(event.type & KERNEL_PHASE), "handle %p for type %lu", handle, (unsigned long)event.type);
  return handle;
}

static void tell(int round, void (*counted)(void *, int, void *), void *handle, int number, uint64_t argument) {
  uint64_t *place = at_the_edge(8);
  *place = argument;
  OF(round, counted, warm_state)(handle, number, place);
}

static void end(int round, void (*counted)(void *), void *handle) { OF(round, counted, warm_stop)(handle); }

static void calls_of_the_api(void) {
  void *context = init();
  ROUNDS {
    void *group = begin(round, counted_group_api_start, context, (struct event){.type = GROUP_API});
    tell(round, counted_group_api_state, group, GROUP_START_RETURNS, 0);
    tell(round, counted_group_api_state, group, GROUP_END_BEGINS, 0);
    end(round, counted_group_api_stop, group);
  }
  ROUNDS end(round, counted_coll_api_stop, begin(round, counted_coll_api_start, context, placed(a_call(COLL_API, all_reduce, false))));
}

static void operations(void) {
  void *context = init(), *other = init();
  ROUNDS end(round, counted_coll_stop, begin(round, counted_coll_start, context, placed(a_coll())));
  ROUNDS end(round, counted_p2p_stop, begin(round, counted_p2p_start, other, placed(a_p2p(1))));
}

static void children_on_the_network(void) {
  void *context = init(), *operation = coll(context);
  ROUNDS end(round, counted_proxy_op_stop, begin(round, counted_proxy_op_start, context, a_proxy_op(operation)));
  struct event event = a_proxy_op(operation);
  void *sending = start(context, &event);
  event.send = 0;
  void *receive = start(context, &event);
  ROUNDS {
    void *step = begin(round, counted_send_step_start, context, a_step(sending, round));
    tell(round, counted_step_state_send_gpu_wait, step, SEND_GPU_WAIT, 0);
    tell(round, counted_step_state_send_peer_wait, step, SEND_PEER_WAIT, 0);
    tell(round, counted_step_state_send_peer_poll, step, SEND_PEER_WAIT, 0);
    tell(round, counted_step_state_unused, step, NOT_OF_STEPS, 0);
    tell(round, counted_step_state_send_wait, step, SEND_WAIT, 4096);
    end(round, counted_send_step_stop, step);
  }
  ROUNDS {
    void *step = begin(round, counted_receive_step_start, context, a_step(receive, round));
    tell(round, counted_step_state_receive_wait, step, RECV_WAIT, 0);
    tell(round, counted_step_state_receive_flush, step, RECV_FLUSH_WAIT, 4096);
    tell(round, counted_step_state_receive_gpu_wait, step, RECV_GPU_WAIT, 0);
    end(round, counted_receive_step_stop, step);
  }
}

static void children_on_the_gpu(void) {
  void *context = init(), *operation = coll(context);
  ROUNDS {
    void *channel = begin(round, counted_kernel_ch_start, context, a_kernel(operation, (uint8_t)(round % 32)));
    tell(round, counted_kernel_ch_state, channel, KERNEL_CH_STOP, gpu_clock());
    end(round, counted_kernel_ch_stop, channel);
  }
}

static void what_is_not_recorded(void) {
  void *context = init(), *stopped = coll(context);
  ROUNDS begin(round, counted_unused_start, context, (struct event){.type = KERNEL_PHASE, .parent = stopped});
  ROUNDS end(round, counted_null_stop, NULL);
  ROUNDS end(round, counted_stale_stop, stopped);
  ROUNDS tell(round, counted_stale_state, stopped, SEND_WAIT, 4096);
}

static void readings(void) {
  int32_t process = counters.add_counter("nccl_ops"), thread = counters.add_counter("nccl_enqueued_bytes");
  ROUNDS OF(round, counted_process_counter, warm_read)(process);
  ROUNDS OF(round, counted_thread_counter, warm_read)(thread);
}

int main(int given, char **arguments) {
  check(given == 4, "usage: instructions_host LIBRARY VERSION COUNT");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = atol(arguments[3]);
  load();
  counters = metric_plugin("nccl_plugin");
  counters.set_clock_function(clock_of_one_tick);
  check(counters.initialize() == 0, "initialize");
  init();
  /* what the library's own thread finds out at its first look, callbacks take into account from then on */
  flush();
  calls_of_the_api();
  operations();
  children_on_the_network();
  children_on_the_gpu();
  what_is_not_recorded();
  readings();
  return 0;
}
