/* Limits of a process, there from the first init on or lowered while it records. */
#ifndef LIMITS_H
#define LIMITS_H

#include "moments.h"
#include <malloc.h>
#include <sys/resource.h>
#include <grp.h>

/* Resources, and what leaves the library none: standard output goes to a file, too, and the first three descriptors are there. */
static const struct limit { const char *name; int resource; rlim_t none; } limits[] = {
  {"AS", RLIMIT_AS, 0}, {"DATA", RLIMIT_DATA, 0}, {"NPROC", RLIMIT_NPROC, 0}, {"NOFILE", RLIMIT_NOFILE, 3}, {"FILES", RLIMIT_NOFILE, 0}, {"FSIZE", RLIMIT_FSIZE, 2048}};

static const struct limit *limited_by;

static void set_limit(bool leaves_none) {
  struct rlimit limit;
  check(getrlimit(limited_by->resource, &limit) == 0, "no limit");
  limit.rlim_cur = leaves_none ? limited_by->none : limit.rlim_max;
  check(setrlimit(limited_by->resource, &limit) == 0, "no limit");
}

static void limit(void) { set_limit(true); }
static void lift_limit(void) { set_limit(false); }

/* The heap has room for all that is allocated: what fails is mappings and threads. Whoever may start any number of threads gives that up. */
static void ready_for_limits(void) {
  check(mallopt(M_ARENA_MAX, 1) && mallopt(M_MMAP_THRESHOLD, 32 << 20) && mallopt(M_TRIM_THRESHOLD, 1 << 30), "no heap");
  void *volatile room = malloc(24 << 20);
  check(room != NULL, "no heap");
  free(room);
  if (limited_by->resource == RLIMIT_NPROC && geteuid() == 0)
    check(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0, "still root");
}

/* limited MOMENT RESOURCE */
static void limited(void) {
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
    if (strcmp(limits[i].name, words[0]) == 0) limited_by = &limits[i];
  check(limited_by != NULL, "no limit %s", words[0]);
  ready_for_limits();
  record_with(limit, lift_limit);
}

/* Resident memory, MiB. */
static long resident(void) {
  long pages = 0, all;
  FILE *file = fopen("/proc/self/statm", "r");
  check(file && fscanf(file, "%ld %ld", &all, &pages) == 2, "no statm");
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE) >> 20;
}

/* All memory from here on is locked, as real-time programs have it: a recording reserves 256 MiB. */
static void locked(void) {
  at_the_edge(0);
  bool is_locked = mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
  long before = resident();
  void *context = init();
  operate_often(context);
  finalize(context);
  check(!is_locked || resident() - before < 64, "%ld MiB are resident", resident() - before);
  account();
}

#endif
