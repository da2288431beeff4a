/* A sandbox that refuses system calls: a filter (seccomp) in the kernel's own terms, which <linux/filter.h> and <linux/seccomp.h> have. */
#ifndef SYSTEM_CALLS_H
#define SYSTEM_CALLS_H

#include "moments.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* An instruction of a filter: its code, how far to jump where a comparison holds and where not, and a number. */
struct instruction { uint16_t code; uint8_t where_equal, elsewhere; uint32_t number; };
struct filter { uint16_t length; const struct instruction *instructions; };

enum { LOAD_WORD = 0x20, JUMP_IF_EQUAL = 0x15, RETURN = 0x06 };
#define ALLOW 0x7fff0000u
#define FAIL 0x00050000u
/* Of seccomp(2), and its flag for all threads of the process. */
enum { SET_FILTER = 1, ALL_THREADS = 1 };

/* Where the lower half of a call's first argument lies, and to jump where a number is greater. */
enum { FIRST_ARGUMENT = 16, JUMP_IF_GREATER = 0x25 };

#define NONE -1
static const struct { const char *name; long numbers[4]; } refusable[] = {
  {"membarrier", {SYS_membarrier, NONE}},
  {"clone3", {SYS_clone3, NONE}},
  {"clone", {SYS_clone3, SYS_clone, NONE}},
  {"getrandom", {SYS_getrandom, NONE}},
#ifdef SYS_rename
  {"rename", {SYS_rename, SYS_renameat, SYS_renameat2, NONE}},
  {"open", {SYS_open, SYS_openat, SYS_openat2, NONE}},
  {"unlink", {SYS_unlink, SYS_unlinkat, NONE}},
  {"poll", {SYS_poll, SYS_ppoll, NONE}},
  {"stat", {SYS_statx, SYS_newfstatat, SYS_fstat, NONE}},
#else
  {"rename", {SYS_renameat, SYS_renameat2, NONE}},
  {"open", {SYS_openat, SYS_openat2, NONE}},
  {"unlink", {SYS_unlinkat, NONE}},
  {"poll", {SYS_ppoll, NONE}},
  {"stat", {SYS_statx, SYS_newfstatat, SYS_fstat, NONE}},
#endif
  {"close", {SYS_close, NONE}},
  {"lseek", {SYS_lseek, NONE}},
  {"madvise", {SYS_madvise, NONE}},
  {"sigprocmask", {SYS_rt_sigprocmask, NONE}},
  {"sigpending", {SYS_rt_sigpending, NONE}},
  {"sigtimedwait", {SYS_rt_sigtimedwait, NONE}},
  {"prctl", {SYS_prctl, NONE}},
  {"uname", {SYS_uname, NONE}},
  {"sched_yield", {SYS_sched_yield, NONE}},
  {"getrusage", {SYS_getrusage, SYS_times, NONE}},
};

static void filter_with(const struct instruction *instructions, uint16_t length) {
  struct filter filter = {length, instructions};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "new privileges");
  check(syscall(SYS_seccomp, SET_FILTER, ALL_THREADS, &filter) == 0, "no filter: %s", strerror(errno));
}

static void refuse(void) {
  const long *numbers = NULL;
  for (size_t i = 0; i < sizeof refusable / sizeof *refusable; i++)
    if (strcmp(refusable[i].name, words[0]) == 0) numbers = refusable[i].numbers;
  check(numbers != NULL, "no system call %s", words[0]);
  struct instruction instructions[8] = {{LOAD_WORD, 0, 0, 0}};
  uint16_t count = 0, length = 1;
  while (numbers[count] != NONE) count++;
  for (uint16_t i = 0; i < count; i++) instructions[length++] = (struct instruction){JUMP_IF_EQUAL, (uint8_t)(count - i), 0, (uint32_t)numbers[i]};
  instructions[length++] = (struct instruction){RETURN, 0, 0, ALLOW};
  instructions[length++] = (struct instruction){RETURN, 0, 0, FAIL | (strcmp(words[1], "EPERM") == 0 ? EPERM : ENOSYS)};
  filter_with(instructions, length);
}

/* Signals interrupt each attempt at a pause, and at a write but those into standard output and standard error. */
static void interrupt(void) {
  const struct instruction instructions[] = {
    {LOAD_WORD, 0, 0, 0},
#ifdef SYS_nanosleep
    {JUMP_IF_EQUAL, 6, 0, SYS_nanosleep},
#else
    {JUMP_IF_EQUAL, 6, 0, SYS_clock_nanosleep},
#endif
    {JUMP_IF_EQUAL, 5, 0, SYS_clock_nanosleep},
    {JUMP_IF_EQUAL, 1, 0, SYS_write},
    {RETURN, 0, 0, ALLOW},
    {LOAD_WORD, 0, 0, FIRST_ARGUMENT},
    {JUMP_IF_GREATER, 1, 0, STDERR_FILENO},
    {RETURN, 0, 0, ALLOW},
    {RETURN, 0, 0, FAIL | EINTR},
  };
  filter_with(instructions, sizeof instructions / sizeof *instructions);
}

/* interrupted_for_ever MOMENT */
static void interrupted_for_ever(void) {
  check(number != FOR_A_WHILE, "a filter stays");
  record_with(interrupt, NULL);
}

/* refused MOMENT NAME ENOSYS|EPERM */
static void refused(void) {
  check(number != FOR_A_WHILE, "a filter stays");
  record_with(refuse, NULL);
}

/* All that can be refused, a line each. */
static void refusable_calls(void) {
  for (size_t i = 0; i < sizeof refusable / sizeof *refusable; i++) puts(refusable[i].name);
  fflush(stdout);
  _exit(0);
}

#endif
