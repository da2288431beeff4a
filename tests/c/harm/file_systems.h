/* File systems that take their time, and descriptors that the program takes for itself. */
#ifndef FILE_SYSTEMS_H
#define FILE_SYSTEMS_H

#include "disks.h"
#include <dirent.h>
#include <sys/mman.h>

/* Called after the library's own functions for the end. */
static void check_callers(void) {
  disk.is_watched = false;
  check(disk.of_program == 0, "%ld calls of the file system on the program's threads", (long)disk.of_program);
}

static void watch_callers(void) {
  disk.is_watched = true;
  atexit(check_callers);
  void *context = init();
  operate_often(context);
  finalize(context);
  account();
}

/* The program's threads never wait for a file: neither its inits nor its end calls the file system. */
static void left_to_own_threads(void) { watch_callers(); }

/* And where no call returns, the process comes to its end. */
static void file_system_that_never_answers(void) {
  disk.is_dead = true;
  watch_callers();
}

enum { FIRST_TAKEN = 3, TAKEN = 64 };
static int theirs;

static off_t size_of_recording(void) {
  DIR *here = opendir("recordings");
  if (!here) here = opendir(".");
  check(here != NULL, "no directory");
  off_t size = 0;
  struct stat found;
  for (struct dirent *entry; (entry = readdir(here));)
    if (strstr(entry->d_name, ".jsonl.gz") && fstatat(dirfd(here), entry->d_name, &found, 0) == 0) size += found.st_size;
  closedir(here);
  return size;
}

/* Until a part has been written, whole: the file grows no more. */
static void wait_for_first_part(void) {
  while (size_of_recording() == 0) pause_milliseconds(1);
  for (off_t size = 0; size != size_of_recording(); pause_milliseconds(400)) size = size_of_recording();
}

/* Neither written to nor closed. */
static void check_taken(void) {
  struct stat found;
  for (int i = FIRST_TAKEN; i < TAKEN; i++) check(fcntl(i, F_GETFD) >= 0, "descriptor %d is closed", i);
  check(fstat(theirs, &found) == 0 && found.st_size == 0, "%ld bytes are in the program's file", (long)found.st_size);
}

/* A program that closes all descriptors, as daemons do, and opens its own, while there is a recording. */
static void descriptors_taken(void) {
  atexit(check_taken);
  shared_context = init();
  wait_for_first_part();
  theirs = memfd_create("theirs", 0);
  for (int i = FIRST_TAKEN; i < TAKEN; i++)
    if (i != theirs) check(dup2(theirs, i) == i, "no descriptor %d", i);
  off_t before = size_of_recording();
  operate_often(shared_context);
  /* a part is due each 50 milliseconds */
  pause_milliseconds(500);
  check(size_of_recording() == before, "the recording has grown");
  finalize(shared_context);
  account();
}

/* Descriptors 0 to 2 are closed; where a test sees what the host prints is open under 7 and 8. A program may print all the same. */
static void standard_streams_closed(void) {
  static const char line[] = "a line of the program\n";
  shared_context = init();
  wait_for_first_part();
  bool is_free = false;
  for (int i = 0; i < 200 && !is_free; i++, pause_milliseconds(1))
    is_free = fcntl(0, F_GETFD) < 0 && fcntl(1, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0;
  for (int i = 0; i < 20; i++) {
    for (int stream = 1; stream <= 2; stream++) (void)!syscall(SYS_write, stream, line, sizeof line - 1);
    operate_often(shared_context);
    pause_milliseconds(20);
  }
  finalize(shared_context);
  check(dup2(7, 1) == 1 && dup2(8, 2) == 2, "no streams");
  check(is_free, "a descriptor below 3 stays open");
  account();
}

/* Somebody removes all files, as a scratch directory is cleaned, while a communicator lives. */
static void removed(void) {
  shared_context = init();
  operate_often(shared_context);
  wait_for_first_part();
  check(system("rm -rf recordings") == 0, "not removed");
  operate_often(shared_context);
  pause_milliseconds(500);
  operate_often(shared_context);
  finalize(shared_context);
  account();
  puts("any figures");
}

/* The program goes into another root directory once there is a summary, where its names lead elsewhere. */
static void moved_to_another_root(void) {
  struct stat found;
  shared_context = init();
  operate_often(shared_context);
  while (stat("summary.json", &found) != 0) pause_milliseconds(1);
  check(mkdir("jail", 0755) == 0 && chroot("jail") == 0 && chdir("/") == 0, "no other root");
  operate_often(shared_context);
  finalize(shared_context);
  account();
  puts("any figures");
}

static void *close_all(void *unused) {
  for (int i = 0; i < 5000; i++, usleep(100)) syscall(SYS_close_range, 3, ~0u, 0);
  return unused;
}

/* A program that closes all descriptors again and again, while files are written all the time. */
static void descriptors_closed_again_and_again(void) {
  pthread_t thread;
  shared_context = init();
  check(pthread_create(&thread, NULL, close_all, NULL) == 0, "no thread");
  for (int i = 0; i < 50; i++, pause_milliseconds(10)) operate_often(shared_context);
  pthread_join(thread, NULL);
  finalize(shared_context);
  account();
}

#endif
