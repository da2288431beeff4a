/* A rank of a job of steps in real time, as the plugin sees it: it computes on its processor, then calls an all-reduce,
 * which ends when the last rank has begun. Several processes are the ranks of one communicator and meet in a shared
 * file. So whatever delays one of them delays all, as in a training.
 *
 * steps_host LIBRARY VERSION RANKS RANK SHARED_FILE STEPS CALLS WORK_US SLEEP_US WAIT [WORKER [FILE]]
 *
 * WORK_US: computation before each call, in microseconds. SLEEP_US: a sleep of this rank before the first call of each
 * step. WAIT: `spin`, as CUDA waits by default, or `sleep`. WORKER: `host` computes for a time of its processor, so
 * that a processor which another machine slows down delays nobody; `gpu` computes for a time, between a call and its
 * kernel. FILE: data that the rank reads through a mapping, all of it at first, and some pages anywhere in each step.
 */
#include "enqueued.h"
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

enum { PLACES = 1 << 16, PAGE = 4096, PAGES_OF_STEP = 16 };

/* Ranks that have come to each call. */
static _Atomic unsigned *arrived;

static uint64_t stamp(void) { return 1000 + (uint64_t)real_nanoseconds(); }

static int64_t time_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Computes until the clock has advanced by `us`. */
static void work(clockid_t clock, long us) {
  int64_t end = time_of(clock) + us * 1000;
  while (time_of(clock) < end)
    for (volatile int round = 0; round < 1000; round++) continue;
}

/* The data that the rank reads. */
static const volatile char *data;
static size_t pages;

static void open_data(const char *path) {
  int file = open(path, O_RDONLY);
  struct stat status;
  check(file >= 0 && fstat(file, &status) == 0 && status.st_size >= PAGE, "no data");
  pages = (size_t)status.st_size / PAGE;
  data = mmap(NULL, pages * PAGE, PROT_READ, MAP_SHARED, file, 0);
  check(data != MAP_FAILED, "no mapping of the data");
  /* all of it is read once; from there on a page is read alone */
  for (size_t page = 0; page < pages; page++) (void)data[page * PAGE];
  madvise((void *)data, pages * PAGE, MADV_RANDOM);
}

static void read_data(void) {
  for (int number = 0; pages > 0 && number < PAGES_OF_STEP; number++) (void)data[(size_t)rand() % pages * PAGE];
}

static void wait_for(unsigned place, unsigned ranks, bool spin) {
  while (arrived[place] < ranks)
    if (!spin) {
      struct timespec time = {0, 50000};
      nanosleep(&time, NULL);
    }
}

int main(int count, char **arguments) {
  check(count >= 11 && count <= 13,
        "usage: steps_host LIBRARY VERSION RANKS RANK SHARED_FILE STEPS CALLS WORK_US SLEEP_US WAIT [WORKER [FILE]]");
  library_path = arguments[1];
  take_version(arguments[2]);
  unsigned ranks = (unsigned)atoi(arguments[3]);
  rank_of_this_process = atoi(arguments[4]);
  long steps = atol(arguments[6]), calls = atol(arguments[7]);
  long work_us = atol(arguments[8]), sleep_us = atol(arguments[9]);
  bool spin = strcasecmp(arguments[10], "spin") == 0;
  bool by_gpu = count > 11 && strcasecmp(arguments[11], "gpu") == 0;
  if (count > 12) open_data(arguments[12]);
  check(steps * calls + 2 <= PLACES, "too many calls");
  int file = open(arguments[5], O_RDWR | O_CREAT, 0600);
  check(file >= 0 && ftruncate(file, PLACES * sizeof *arrived) == 0, "no shared file");
  arrived = mmap(NULL, PLACES * sizeof *arrived, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  check(arrived != MAP_FAILED, "no shared memory");
  load();
  void *context = init_of(0xab, NULL, 1, (int)ranks, rank_of_this_process, &mask_given);
  arrived[0]++;
  wait_for(0, ranks, false);
  unsigned place = 1;
  for (long step = 0; step < steps; step++) {
    for (long number = 0; number < calls; number++, place++) {
      if (number == 0 && sleep_us > 0) {
        struct timespec time = {sleep_us / 1000000, sleep_us % 1000000 * 1000};
        nanosleep(&time, NULL);
      }
      if (number == 0) read_data();
      if (!by_gpu) work(CLOCK_THREAD_CPUTIME_ID, work_us);
      struct event event = a_coll();
      event.sequence = place, event.count = 1024u << number;
      void *operation = enqueued(context, event);
      if (by_gpu) work(CLOCK_MONOTONIC, work_us);
      event = a_kernel(operation, 0);
      event.ptimer = stamp();
      void *kernel = start(context, &event);
      arrived[place]++;
      wait_for(place, ranks, spin);
      state(kernel, KERNEL_CH_STOP, stamp());
      stop(kernel);
    }
  }
  finalize(context);
  return 0;
}
