/* Takes the processors away from the library's threads. */
#ifndef STARVE_H
#define STARVE_H

#include "../check.h"
#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
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

#endif
