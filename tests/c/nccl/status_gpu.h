/* Orders of status_host.c for a GPU, which is the stand-in for CUDA's driver that HOST_DRIVER names, and for forks.
 *
 *   gpu_at MS                     the GPU's clock, which stands still in between
 *   kernel KEY COMM FUNC COUNT TYPE BEGIN END   an operation whose kernel is on the GPU between these times
 *   captured KEY COMM FUNC COUNT TYPE           one that is captured into a graph: events cannot time it
 *   hold, release                 CUDA's driver does not answer
 *   fork WORK END                 a child with a communicator of its own (nccl) or without (idle), which exits (exit),
 *                                 stays and exits later (stay), or stays and leaves by _exit (leave); says its process id
 *   reap PID                      waits for a child that has stayed
 */
#ifndef STATUS_GPU_H
#define STATUS_GPU_H

#include "operations.h"
#include "../cuda/driver.h"
#include <signal.h>
#include <sys/wait.h>

static _Atomic int shared_mask;
static void *gpu_stream;

static uint64_t milliseconds(const char *text) { return 1000000000 + strtoull(text, NULL, 10) * 1000000; }

/* Before the first communicator, so that the library finds the driver. */
static void begin_gpu(void) {
  const char *path = getenv("HOST_DRIVER");
  if (!path) return;
  load_driver(path);
  driver->make_context(0);
  gpu_stream = driver->make_stream();
  driver->set_time(milliseconds("0"));
}

/* A group of one call, as NCCL reports it. Gives the operation's handle. */
static void *launched(void *context, const char *func, size_t count, const char *type, const char *begin, const char *end) {
  struct event event = {.type = GROUP_API, .captured = begin == NULL};
  void *group = start_on(context, &event, NULL);
  event = a_call(COLL_API, func, begin == NULL);
  event.parent = group, event.count = count, event.datatype = type;
  void *call = start_on(context, &event, gpu_stream);
  stop(call);
  state_alone(group, GROUP_END_BEGINS);
  if (begin) driver->set_busy(gpu_stream, milliseconds(begin));
  else driver->begin_capture(gpu_stream, CAPTURE_RELAXED);
  event = (struct event){.type = KERNEL_LAUNCH, .parent = group};
  void *launch = start_on(context, &event, gpu_stream);
  if (end) driver->set_busy(gpu_stream, milliseconds(end));
  stop_on(launch);
  if (!begin) driver->end_capture(gpu_stream);
  event = a_coll();
  event.func = func, event.count = count, event.datatype = type, event.parent = call;
  void *operation = start(context, &event);
  stop(operation);
  stop(group);
  return operation;
}

static volatile sig_atomic_t is_over;
static void end_of_child(int signal) { is_over = signal; }

/* A child of this process. One that stays ends when it is sent SIGTERM, or by itself in two minutes. */
static pid_t forked(bool has_work, const char *end, void *(*make)(uint64_t id, int rank, int ranks, int nodes), void (*work)(void *context)) {
  fflush(NULL);
  const bool stays = strcmp(end, "exit") != 0;
  pid_t child = fork();
  check(child >= 0, "no fork");
  if (child == 0) {
    signal(SIGTERM, end_of_child);
    void *context = has_work ? make(0xcd, 0, 1, 1) : NULL;
    if (context) work(context);
    for (int turns = 0; stays && !is_over && turns < 12000; turns++) pause_milliseconds(10);
    if (strcmp(end, "leave") == 0) _exit(0);
    if (context) finalize(context);
    exit(0);
  }
  int status = 0;
  if (!stays) check(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
  return child;
}

#endif
