/* A disk on which an operation fails: the library's calls of the C library for files are counted, and the NUMBERth one fails. The program
 * is linked with -rdynamic, so that its functions come before the C library's. */
#ifndef DISKS_H
#define DISKS_H

#include "moments.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static struct {
  bool is_watched;
  atomic_long calls;
  long fails_at;
  int error;
  /* From the first write that fails on there is no room for any. */
  bool is_full, gets_full;
  const char *failed;
  /* Calls on threads that are not the library's. */
  atomic_long of_program;
  /* No call ever returns. */
  bool is_dead;
} disk = {.failed = "none"};

/* The library's threads have its name. */
static bool is_of_library(void) {
  char name[16];
  return prctl(PR_GET_NAME, name) == 0 && strncmp(name, "scorep-nccl", strlen("scorep-nccl")) == 0;
}

/* What is no file of the system's is reached. */
static void reach(const char *path) {
  static const char *systems[] = {"/proc/", "/sys/", "/dev/"};
  if (!disk.is_watched) return;
  for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
    if (strncmp(path, systems[i], strlen(systems[i])) == 0) return;
  if (!is_of_library()) disk.of_program++;
  while (disk.is_dead) pause();
}

static bool fails(const char *name) {
  long call = ++disk.calls;
  if (call != disk.fails_at) return false;
  disk.failed = name;
  disk.is_full = disk.gets_full;
  errno = disk.error;
  return true;
}

/* Whether a descriptor is a file's that is written. */
static bool is_file(int descriptor) {
  struct stat found;
  int flags = fcntl(descriptor, F_GETFL);
  return disk.is_watched && descriptor > 2 && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

int openat(int directory, const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
  va_end(more);
  reach(path);
  if (disk.is_watched && flags & O_CREAT && fails("openat")) return -1;
  return (int)syscall(SYS_openat, directory, path, flags, mode);
}

int renameat(int from, const char *old, int to, const char *new) {
  reach(new);
  if (disk.is_watched && fails("renameat")) return -1;
  return (int)syscall(SYS_renameat, from, old, to, new);
}

/* As where the disk gets full: half of it fits. */
ssize_t write(int descriptor, const void *data, size_t size) {
  if (is_file(descriptor)) {
    reach("");
    if (disk.is_full) return errno = ENOSPC, -1;
    if (fails("write")) {
      if (!disk.gets_full || size < 2) return -1;
      size /= 2;
    }
  }
  return syscall(SYS_write, descriptor, data, size);
}

/* Linux closes the descriptor whatever it says. */
int close(int descriptor) {
  bool is_counted = is_file(descriptor);
  if (is_counted) reach("");
  int result = (int)syscall(SYS_close, descriptor);
  return is_counted && fails("close") ? -1 : result;
}

off64_t lseek64(int descriptor, off64_t offset, int from) {
  if (is_file(descriptor) && fails("lseek")) return -1;
  return syscall(SYS_lseek, descriptor, offset, from);
}

int renameat2(int here, const char *from, int there, const char *to, unsigned flags) {
  reach(to);
  if (disk.is_watched && fails("renameat2")) return -1;
  return (int)syscall(SYS_renameat2, here, from, there, to, flags);
}

int rename(const char *from, const char *to) {
  reach(to);
  if (disk.is_watched && fails("rename")) return -1;
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Calls that are not made to fail. */
int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  reach(path);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  reach(path);
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int mkdir(const char *path, mode_t mode) {
  reach(path);
  return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

int statx(int directory, const char *path, int flags, unsigned mask, struct statx *found) {
  /* Rust's library asks with no path whether there is such a call, though the declaration forbids it */
  const char *volatile given = path;
  if (given && *given) reach(given);
  return (int)syscall(SYS_statx, directory, path, flags, mask, found);
}

int unlinkat(int directory, const char *path, int flags) {
  reach(path);
  return (int)syscall(SYS_unlinkat, directory, path, flags);
}

static void print_failure(void) {
  disk.is_watched = false;
  printf("failed %s\n", disk.failed);
  fflush(stdout);
}

/* failing NUMBER full|ENOSPC|EDQUOT|EIO */
static void failing(void) {
  disk.fails_at = number;
  disk.gets_full = strcmp(words[0], "full") == 0;
  disk.error = strcmp(words[0], "EDQUOT") == 0 ? EDQUOT : strcmp(words[0], "EIO") == 0 ? EIO : ENOSPC;
  disk.is_watched = true;
  /* called after the library's own, which is registered at the first init */
  atexit(print_failure);
  void *context = init();
  operate_often(context);
  finalize(context);
  account();
}

#endif
