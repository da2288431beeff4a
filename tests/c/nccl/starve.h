/* Takes the processors away from the library's threads. */
#ifndef STARVE_H
#define STARVE_H

#include "../check.h"
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the library has named this thread. */
static bool is_of_library(pid_t thread) {
  char path[64], name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  FILE *file = fopen(path, "r");
  if (file != NULL) {
    if (fgets(name, sizeof name, file) == NULL) name[0] = 0;
    fclose(file);
  }
  return strncmp(name, "scorep-nccl", strlen("scorep-nccl")) == 0;
}

/* Lets all threads of the process run on this thread's processor, and the library's only where the others leave them time; or as before. */
static void starve(bool starved) {
  cpu_set_t here, anywhere;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  memset(&anywhere, 0xff, sizeof anywhere);
  DIR *tasks = opendir("/proc/self/task");
  check(tasks != NULL, "the threads are not to be seen");
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
    pid_t thread = atoi(task->d_name);
    if (thread == 0) continue;
    sched_setaffinity(thread, sizeof here, starved ? &here : &anywhere);
    if (is_of_library(thread)) sched_setscheduler(thread, starved ? SCHED_IDLE : SCHED_OTHER, &(struct sched_param){0});
  }
  closedir(tasks);
}

static _Atomic bool is_computing, is_starved;

static void *computes(void *unused) {
  while (is_computing) {}
  return unused;
}

static void *lets_go(void *milliseconds) {
  while (!is_starved) usleep(1000);
  usleep((useconds_t)(intptr_t)milliseconds * 1000);
  is_computing = false;
  starve(false);
  return NULL;
}

/* The library's threads have no processor for so long. */
static inline void starve_for(int milliseconds) {
  pthread_t thread;
  is_computing = true;
  for (int i = 0; i < 8; i++) check(pthread_create(&thread, NULL, computes, NULL) == 0, "no thread");
  check(pthread_create(&thread, NULL, lets_go, (void *)(intptr_t)milliseconds) == 0, "no thread");
  starve(true);
  is_starved = true;
}

#endif
