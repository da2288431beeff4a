/* Preloaded, it interrupts an allocation while the memory's lock is held, as a signal may do: `lock_memory_at` says at which one, and
 * calls the function that the signal would. All other allocations wait for the lock from then on. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

static atomic_bool locked;
static _Thread_local long left;
static void (*interrupt)(void);

__attribute__((visibility("default"))) void lock_memory_at(long allocation, void (*handler)(void)) {
  left = allocation;
  interrupt = handler;
}

static void enter(void) {
  while (locked) pause();
  if (left == 0 || --left > 0) return;
  locked = 1;
  interrupt();
}

__attribute__((visibility("default"))) void *malloc(size_t size) { return enter(), __libc_malloc(size); }
__attribute__((visibility("default"))) void *calloc(size_t count, size_t size) { return enter(), __libc_calloc(count, size); }
__attribute__((visibility("default"))) void *realloc(void *old, size_t size) { return enter(), __libc_realloc(old, size); }
