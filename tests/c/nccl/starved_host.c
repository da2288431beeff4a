/* A process that runs out of memory: starved_host LIBRARY VERSION WHO NUMBER makes communicators and operations on two threads, and comes to
 * its own end, with status 3. From the NUMBERth allocation of those that WHO names on, all of them fail, the C library's own among them:
 *
 *   all         of all threads, once the library is loaded
 *   library     of threads that the library has started
 *   program     of the program's own threads
 *   limit       none; the address space is limited to what is there and NUMBER KiB, once there is a communicator
 *
 * Allocations that fail are refused before the system is asked. At its end it prints how many there were. The program is linked with
 * -rdynamic: its malloc comes before the system's. */
#include "operations.h"
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/resource.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

enum who { NOBODY, ALL, LIBRARY, PROGRAM };
static volatile enum who starved;
static atomic_long asked, greatest, sum;
static long allowed = LONG_MAX;
/* Of the program itself, so that it takes no memory at a thread's first look. */
static _Thread_local bool is_ours;

static bool is_refused(size_t size) {
  if (starved == NOBODY || (starved != ALL && (starved == PROGRAM) != is_ours)) return false;
  long before = atomic_fetch_add(&asked, 1);
  if (is_ours) sum += (long)size;
  if (is_ours && (long)size > greatest) greatest = (long)size;
  if (before + 1 < allowed) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) { return is_refused(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return is_refused(count * size) ? NULL : __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { return is_refused(size) ? NULL : __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { return is_refused(size) ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **place, size_t alignment, size_t size) {
  *place = memalign(alignment, size);
  return *place ? 0 : ENOMEM;
}

static void print_count(void) {
  starved = NOBODY;
  char line[128];
  int length = snprintf(line, sizeof line, "allocations %ld\ngreatest %ld\nsum %ld\n", asked, greatest, sum);
  check(write(STDOUT_FILENO, line, (size_t)length) == length, "no standard output");
}

/* Operations with children, whether or not they are recorded. */
static void work(void *context, long count) {
  for (long i = 0; i < count; i++) {
    struct event event = a_call(COLL_API, "AllReduce", false);
    void *call = start(context, &event);
    event = a_coll();
    event.parent = call;
    void *operation = start(context, &event);
    stop(operation);
    stop(call);
    kernel(context, operation, 0);
    event = a_proxy_op(operation);
    void *proxy = start(context, &event);
    event = a_step(proxy, 0);
    void *step = start(context, &event);
    state(step, SEND_WAIT, 512);
    stop(step);
    stop(proxy);
  }
}

static void *context;
static sem_t given, done;

/* NCCL's own thread, which is there before the first communicator. */
static void *proxy_thread(void *unused) {
  is_ours = true;
  at_the_edge(1);
  sem_post(&done);
  sem_wait(&given);
  work(context, 100);
  sem_post(&done);
  return unused;
}

static long address_space(void) {
  char line[64];
  FILE *file = fopen("/proc/self/statm", "r");
  check(file && fgets(line, sizeof line, file), "no statm");
  fclose(file);
  return atol(line) * sysconf(_SC_PAGESIZE);
}

int main(int count, char **arguments) {
  check(count == 5, "usage: starved_host LIBRARY VERSION all|library|program|limit NUMBER");
  library_path = arguments[1];
  take_version(arguments[2]);
  allowed = number = atol(arguments[4]);
  bool limit = strcmp(arguments[3], "limit") == 0;
  enum who who = limit ? NOBODY : arguments[3][0] == 'a' ? ALL : arguments[3][0] == 'l' ? LIBRARY : PROGRAM;
  is_ours = true;
  at_the_edge(1);
  load();
  pthread_t thread;
  check(sem_init(&given, 0, 0) == 0 && sem_init(&done, 0, 0) == 0 && pthread_create(&thread, NULL, proxy_thread, NULL) == 0, "no thread");
  sem_wait(&done);
  /* called after the library's own, which are registered later */
  atexit(print_count);
  int (*take_in)(unsigned) = (int (*)(unsigned))dlsym(library, "scorep_nccl_flush");
  starved = who;
  context = init();
  if (limit) {
    long most = address_space() + allowed * 1024;
    check(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)most, (rlim_t)most}) == 0, "no limit");
  }
  sem_post(&given);
  work(context, 100);
  sem_wait(&done);
  take_in(10000);
  /* what the collector keeps of communicators and transfers grows */
  for (int i = 1; i <= 20; i++) {
    void *other = init_of(0xab00 + (uint64_t)i, "a communicator with a name", 1, 2, 0, &mask_given);
    work(other, limit ? 5000 : 20);
    if (i % 2) finalize(other);
  }
  take_in(10000);
  finalize(context);
  pthread_join(thread, NULL);
  return 3;
}
