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

/* Threads of the process. */
static long threads(void) {
  DIR *directory = opendir("/proc/self/task");
  check(directory != NULL, "no /proc/self/task");
  long found = 0;
  for (struct dirent *entry; (entry = readdir(directory));) found += entry->d_name[0] != '.';
  closedir(directory);
  return found;
}

#endif
