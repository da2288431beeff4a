/* Preloaded, it counts forbidden acts of the library's threads: calls of the loader and reads of the environment. Each is a
 * line of the file that WATCHED_CALLS names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The library's threads have its name. Looking a name up may load libraries; the last thread ends the program. */
static bool is_of_library(char name[16]) {
  return prctl(PR_GET_NAME, name) == 0 && strncmp(name, "scorep-nccl", 11) == 0 && strcmp(name, "scorep-nccl-dns") != 0 &&
         strcmp(name, "scorep-nccl-end") != 0;
}

static atomic_int file = -1;
static int (*real_dladdr)(const void *, Dl_info *);

/* By the library itself, and not by NVML, CUDA or the C library, which may do anything. */
static void note(const char *call, const char *what, void *caller) {
  char name[16], line[256];
  Dl_info found;
  if (file < 0 || !is_of_library(name) || real_dladdr(caller, &found) == 0 || !strstr(found.dli_fname, "libscorep_substrate")) return;
  int length = snprintf(line, sizeof line, "%s: %s %s\n", name, call, what ? what : "");
  syscall(SYS_write, file, line, length);
}

/* The loader's own function, which this one stands before. */
static void *next(const char *name) {
  static const char *versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  void *found = NULL;
  for (size_t i = 0; !found && i < sizeof versions / sizeof *versions; i++) found = dlvsym(RTLD_NEXT, name, versions[i]);
  return found;
}

#define FORWARD(type, name) \
  static type real;         \
  if (!real) real = (type)next(name)

__attribute__((constructor)) static void begin(void) {
  real_dladdr = (int (*)(const void *, Dl_info *))next("dladdr");
  const char *place = getenv("WATCHED_CALLS");
  if (place) file = open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

typedef char *(*get)(const char *);
typedef void *(*symbol)(void *, const char *);
typedef void *(*load)(const char *, int);
typedef int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

char *getenv(const char *name) {
  FORWARD(get, "getenv");
  note("getenv", name, __builtin_return_address(0));
  return real(name);
}

char *secure_getenv(const char *name) {
  FORWARD(get, "secure_getenv");
  note("secure_getenv", name, __builtin_return_address(0));
  return real(name);
}

void *dlsym(void *library, const char *name) {
  FORWARD(symbol, "dlsym");
  note("dlsym", name, __builtin_return_address(0));
  return real(library, name);
}

void *dlopen(const char *name, int flags) {
  FORWARD(load, "dlopen");
  note("dlopen", name, __builtin_return_address(0));
  return real(name, flags);
}

int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data) {
  FORWARD(iterate, "dl_iterate_phdr");
  note("dl_iterate_phdr", "", __builtin_return_address(0));
  return real(each, data);
}

int dladdr(const void *address, Dl_info *found) {
  note("dladdr", "", __builtin_return_address(0));
  return real_dladdr(address, found);
}
