/* A rank of a job of steps whose faults begin while it runs, for tests of `scorep-nccl watch`. Several processes are the ranks of one
 * communicator and meet in a shared file. The times of the GPU follow a plan, which all ranks know: a call begins at the end of the call
 * before and its rank's own work, and ends for all ranks when the last one has begun and the slowest link has sent. The processes sleep
 * until these times, with 16 calls enqueued ahead. So own times and lengths are exact on a busy machine, too. Steps count from 0.
 *
 * watched_host LIBRARY VERSION RANKS RANK SHARED_FILE STEPS [OPTION VALUE]...
 *
 * All ranks have the same options:
 *   --calls N          all-reduces of a step: 4
 *   --step-us US       own work of a step, before its calls in equal parts: 40000
 *   --transfer-us US   time in the network of a transfer, one a call to the next rank and one from the rank before: 2000
 *   --noise PERCENT    largest random addition to the own work of a rank in a step, by rank and step the same in every run: 0
 *   --nodes N          nodes of the communicator, as NCCL reports them: 1
 *   --host NAME        host's name of this process, alone without --of; needs root
 *   --fault KIND       the fault of the ranks --of (R or R,R...: 1) in the steps --from (0) up to, but without --to (all)
 *                        slow  the own work is longer by --amount percent
 *                        stop  its first call comes --amount milliseconds later, once
 *                        link  its transfers to the next rank take --amount percent longer
 *                        kill  it kills itself
 *                        exit  it leaves in order
 *                        call  its first call has twice the elements, and never ends for anybody, as all calls that are behind
 *                        hang  it does not make its first call, and waits for ever
 *   --amount N         10
 *   --patience S       a rank that waits longer for another leaves: 120
 *
 * Exit status 0: all steps are over; 3: patience is. A process ends with its parent. A rank that is stopped (SIGSTOP) or delayed in
 * earnest, for longer than the own work of 8 calls, begins its next call at that later time, and prints
 * `late CALL LENGTH TIME`, in nanoseconds and by the monotonic clock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* unshare */
#endif
#include <sched.h>
#include "enqueued.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

enum { MOST_RANKS_HERE = 1024, MEETINGS = 4, AHEAD = 16 };
#define MS 1000000ul

struct meeting { _Atomic uint64_t call; uint64_t begin, elements; };

/* Calls of the ranks. Nobody is more than one call ahead of another, so a place is used anew when all have read it. */
static struct { _Atomic unsigned ready; _Atomic uint64_t origin; struct meeting of[MEETINGS][MOST_RANKS_HERE]; } *shared;

static unsigned ranks;
static long steps, calls = 4, step_us = 40000, transfer_us = 2000, noise, nodes = 1, from, to = INT64_MAX, amount = 10, patience = 120;
static const char *fault = "none", *of = "1";

static bool has_fault(unsigned rank, long step, const char *kind) {
  if (strcasecmp(fault, kind) != 0 || step < from || step >= to) return false;
  for (const char *place = of; place; place = strchr(place, ',')) {
    place += *place == ',';
    if (strtoul(place, NULL, 10) == rank) return true;
  }
  return false;
}

/* Own work of a rank before each call of a step, nanoseconds. */
static uint64_t own_work(unsigned rank, long step) {
  uint64_t work = (uint64_t)step_us * 1000 / (uint64_t)calls;
  uint64_t random = ((uint64_t)step * 1024 + rank + 1) * 0x9e3779b97f4a7c15u;
  random = (random ^ random >> 29) * 0xbf58476d1ce4e5b9u;
  work += work * (uint64_t)noise / 100 * (random >> 44) >> 20;
  return has_fault(rank, step, "slow") ? work + work * (uint64_t)amount / 100 : work;
}

/* Time in the network of a transfer from a rank to the next one, nanoseconds. */
static uint64_t link_time(unsigned rank, long step) {
  uint64_t time = (uint64_t)transfer_us * 1000;
  return has_fault(rank, step, "link") ? time + time * (uint64_t)amount / 100 : time;
}

static void sleep_until(uint64_t time) {
  struct timespec end = {(time_t)(time / 1000000000), (long)(time % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
}

static void wait_a_little(uint64_t since) {
  if ((uint64_t)real_nanoseconds() > since + (uint64_t)patience * 1000 * MS) {
    printf("over: patience\n");
    fflush(NULL);
    _exit(3);
  }
  struct timespec time = {0, 500000};
  nanosleep(&time, NULL);
}

/* Meets all ranks in a call. Returns the begin of the last one; waits for ever if they do not call the same. */
static uint64_t meet(uint64_t call, uint64_t begin, uint64_t elements) {
  struct meeting *place = shared->of[call % MEETINGS];
  struct meeting *own = &place[rank_of_this_process];
  (own->begin = begin, own->elements = elements);
  own->call = call;
  uint64_t since = (uint64_t)real_nanoseconds(), last = 0;
  for (unsigned rank = 0; rank < ranks; rank++) {
    while (place[rank].call != call || place[rank].elements != elements) wait_a_little(since);
    if (place[rank].begin > last) last = place[rank].begin;
  }
  return last;
}

static void *enqueued_call(void *context, uint64_t call, uint64_t elements) {
  struct event event = a_coll();
  event.sequence = call, event.count = elements;
  return enqueued(context, event);
}

struct transfer { void *proxy, *step; uint64_t end; };

static struct transfer begun_transfer(void *context, void *operation, bool sends, uint64_t bytes, uint64_t end) {
  struct event event = a_proxy_op(operation);
  unsigned rank = (unsigned)rank_of_this_process;
  event.peer = (int)((rank + (sends ? 1 : ranks - 1)) % ranks), event.send = sends, event.channel = 0;
  void *proxy = start(context, &event);
  event = a_step(proxy, 0);
  void *step = start(context, &event);
  if (sends) {
    state(step, SEND_GPU_WAIT, 0);
    if (version->number >= 4) state(step, SEND_PEER_WAIT, 0);
    state(step, SEND_WAIT, bytes);
  } else state(step, RECV_WAIT, bytes);
  return (struct transfer){proxy, step, end};
}

static void ended_transfer(struct transfer transfer, bool sends, uint64_t bytes) {
  sleep_until(transfer.end);
  if (!sends) {
    state(transfer.step, RECV_FLUSH_WAIT, bytes);
    state(transfer.step, RECV_GPU_WAIT, bytes);
  }
  stop(transfer.step);
  stop(transfer.proxy);
}

/* Both transfers of a call that began on all ranks at a time. */
static void transfers(void *context, void *operation, long step, uint64_t bytes, uint64_t begin) {
  if (ranks < 2 || (mask_given & (PROXY_OP | PROXY_STEP)) != (PROXY_OP | PROXY_STEP) || transfer_us == 0) return;
  unsigned rank = (unsigned)rank_of_this_process;
  sleep_until(begin);
  /* from now on, so that a process that comes late does not shorten them */
  uint64_t now = (uint64_t)real_nanoseconds();
  uint64_t ends[2] = {now + link_time((rank + ranks - 1) % ranks, step), now + link_time(rank, step)};
  struct transfer both[2];
  for (int sends = 0; sends < 2; sends++) both[sends] = begun_transfer(context, operation, sends, bytes, ends[sends]);
  int first = ends[1] < ends[0];
  ended_transfer(both[first], first, bytes);
  ended_transfer(both[!first], !first, bytes);
}

static void take_options(int count, char **arguments) {
  check(count >= 7 && count % 2 == 1, "usage: watched_host LIBRARY VERSION RANKS RANK SHARED_FILE STEPS [OPTION VALUE]...");
  library_path = arguments[1];
  take_version(arguments[2]);
  ranks = (unsigned)atoi(arguments[3]), rank_of_this_process = atoi(arguments[4]), steps = atol(arguments[6]);
  check(ranks >= 1 && ranks <= MOST_RANKS_HERE && (unsigned)rank_of_this_process < ranks, "no such rank");
  struct { const char *name; long *value; } numbers[] = {
    {"--calls", &calls}, {"--step-us", &step_us}, {"--transfer-us", &transfer_us}, {"--noise", &noise}, {"--nodes", &nodes},
    {"--from", &from}, {"--to", &to}, {"--amount", &amount}, {"--patience", &patience},
  };
  for (int i = 7; i < count; i += 2) {
    const char *name = arguments[i], *value = arguments[i + 1];
    bool known = true;
    if (strcasecmp(name, "--fault") == 0) fault = value;
    else if (strcasecmp(name, "--of") == 0) of = value;
    else if (strcasecmp(name, "--host") == 0)
      check(unshare(CLONE_NEWUTS) == 0 && sethostname(value, strlen(value)) == 0, "a host's name needs root");
    else known = false;
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
      if (strcasecmp(name, numbers[n].name) == 0) *numbers[n].value = atol(value), known = true;
    check(known, "no option %s", name);
  }
  check(calls >= 1, "no calls");
}

/* Elements of a call, as this rank calls it. */
static uint64_t elements_of(uint64_t call) {
  long step = (long)(call / (uint64_t)calls);
  uint64_t elements = 262144ul << call % (uint64_t)calls % 4;
  bool differs = step == from && call % (uint64_t)calls == 0 && has_fault((unsigned)rank_of_this_process, step, "call");
  return differs ? 2 * elements : elements;
}

/* The operations of the calls that are enqueued ahead, by number of the call. */
static void *operations[AHEAD];
static uint64_t next_call;

/* Enqueues the calls before this one, as far as the rank comes to them. */
static void enqueue_before(void *context, uint64_t call) {
  unsigned rank = (unsigned)rank_of_this_process;
  for (; next_call < call && next_call < (uint64_t)(steps * calls); next_call++) {
    long step = (long)(next_call / (uint64_t)calls);
    if (has_fault(rank, step, "kill") || has_fault(rank, step, "exit") || has_fault(rank, step, "hang")) return;
    operations[next_call % AHEAD] = enqueued_call(context, next_call + 1, elements_of(next_call));
  }
}

int main(int count, char **arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  take_options(count, arguments);
  int file = open(arguments[5], O_RDWR | O_CREAT, 0600);
  check(file >= 0 && ftruncate(file, sizeof *shared) == 0, "no shared file");
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(shared != MAP_FAILED, "no shared memory");
  load();
  unsigned rank = (unsigned)rank_of_this_process;
  void *context = init_of(0xab, NULL, (int)nodes, (int)ranks, rank_of_this_process, &mask_given);
  /* the last one to be ready says when all begin */
  uint64_t since = (uint64_t)real_nanoseconds();
  if (++shared->ready == ranks) shared->origin = since + 20 * MS;
  while (shared->origin == 0) wait_a_little(since);
  const uint64_t stamps = 1700000000000000000u; /* of the GPU's clock before the machine's, as gpu_clock has it */
  /* later than this, the rank is late in its own calls, too: half of the time for which calls are enqueued ahead */
  const uint64_t late = (uint64_t)step_us * 1000 / (uint64_t)calls * AHEAD / 2;
  uint64_t end = shared->origin;
  for (uint64_t call = 0; call < (uint64_t)(steps * calls); call++) {
    long step = (long)(call / (uint64_t)calls);
    if (has_fault(rank, step, "kill")) kill(getpid(), SIGKILL);
    if (has_fault(rank, step, "exit")) break;
    enqueue_before(context, call + AHEAD);
    uint64_t begin = end + own_work(rank, step);
    if (step == from && call % (uint64_t)calls == 0 && has_fault(rank, step, "stop")) begin += (uint64_t)amount * MS;
    uint64_t now = (uint64_t)real_nanoseconds();
    while (has_fault(rank, step, "hang")) wait_a_little(now);
    if (now > begin + late) {
      /* for a reader of findings: they are true of a rank that the machine has kept waiting */
      printf("late %lu %lu %lu\n", (unsigned long)call, (unsigned long)(now - begin), (unsigned long)now);
      fflush(stdout);
      begin = now;
    }
    void *operation = operations[call % AHEAD];
    sleep_until(begin);
    struct event event = a_kernel(operation, 0);
    event.ptimer = stamps + begin;
    void *kernel = version->times ? start(context, &event) : NULL;
    uint64_t last = meet(call + 1, begin, elements_of(call)), slowest = 0;
    for (unsigned other = 0; other < ranks; other++)
      if (link_time(other, step) > slowest) slowest = link_time(other, step);
    transfers(context, operation, step, elements_of(call) * 4, last);
    end = last + (ranks > 1 ? slowest : 100000);
    sleep_until(end);
    if (!kernel) continue;
    state(kernel, KERNEL_CH_STOP, stamps + end);
    stop(kernel);
  }
  finalize(context);
  return 0;
}
