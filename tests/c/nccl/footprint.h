/* What this process takes of its machine, as lines `NAME NUMBER`. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

#include "plugin.h"
#include <dirent.h>
#include <malloc.h>

/* Memory of the process' own that is there: neither files, nor what was only asked for, nor what the allocator holds for later, of which
 * there is as much as threads happened to hold at a time. */
static long anonymous_kib(void) {
  malloc_trim(0);
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  check(file != NULL, "no smaps_rollup");
  char line[256];
  long found = -1;
  while (fgets(line, sizeof line, file)) sscanf(line, "Anonymous: %ld", &found);
  fclose(file);
  check(found > 0, "smaps_rollup has no line Anonymous");
  return found;
}

static void print(const char *name, long value) {
  printf("%s %ld\n", name, value);
  fflush(stdout);
}

/* Whether a thread reads the settings file: it has woken who waits for it and may still be ending. */
static bool reads_settings(const char *thread) {
  char path[300], name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread);
  FILE *file = fopen(path, "r");
  if (file == NULL) return true; /* it is over */
  if (fgets(name, sizeof name, file) == NULL) name[0] = 0;
  fclose(file);
  return strcmp(name, "scorep-nccl-set\n") == 0;
}

/* Threads of the process, without the one that reads the settings file. */
static long threads(void) {
  DIR *directory = opendir("/proc/self/task");
  check(directory != NULL, "no /proc/self/task");
  long found = 0;
  for (struct dirent *entry; (entry = readdir(directory));) found += entry->d_name[0] != '.' && !reads_settings(entry->d_name);
  closedir(directory);
  return found;
}

#endif
