/* A job that lasts for as long as its test wants: export_host LIBRARY VERSION NUMBER makes an all-reduce every so many milliseconds, and
 * meanwhile does what each line of standard input says. When there are no more lines, it says what the summary must say, and ends. */
#include "footprint.h"
#include "../score_p/metric_plugin.h"
#include "operations.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* An operation that NCCL's threads tell of to its end. */
static void work(void *context) {
  whole(context);
  pause_milliseconds(number);
}

/* What the process has by now. */
static void look(void) {
  flush();
  print("memory", anonymous_kib());
  print("threads", threads());
}

/* A child that uses NCCL, and leaves as any program does. */
static void make_child(void *context) {
  pid_t child = fork();
  check(child >= 0, "no child");
  if (child == 0) {
    struct event event = a_coll();
    start(context, &event);
    exit(7);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child, "the child is gone");
  print("child", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* Another thread ends the process. */
static void *leave(void *unused) {
  (void)unused;
  exit(0);
}

/* False for what ends the process. */
static void obey(const char *order, void *context) {
  if (strcmp(order, "look\n") == 0) look();
  else if (strcmp(order, "child\n") == 0) make_child(context);
  else if (strcmp(order, "leave at once\n") == 0) _exit(0);
  else if (strcmp(order, "end the measurement\n") == 0) {
    /* SCOREP_METRIC_SYNCHRONIZATION_MODE_END; a communicator that ends after it is none that is known */
    metric_plugin("nccl_plugin").synchronize(true, 2);
    finalize(context);
    want.ignored_handles++;
    print_wanted();
    exit(0);
  } else if (strcmp(order, "leave elsewhere\n") == 0) {
    print_wanted();
    pthread_t thread;
    check(pthread_create(&thread, NULL, leave, NULL) == 0, "no thread");
    for (;;) pause();
  } else check(false, "no order %s", order);
}

int main(int parts, char **arguments) {
  check(parts == 4, "usage: export_host LIBRARY VERSION NUMBER");
  struct sigaction action;
  check(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL, "SIGPIPE would not be noticed");
  library_path = arguments[1];
  take_version(arguments[2]);
  number = atol(arguments[3]);
  load();
  void *context = init();
  want.warnings = ANY;
  struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
  setvbuf(stdin, NULL, _IONBF, 0);
  for (;;) {
    work(context);
    if (poll(&input, 1, 0) <= 0) continue;
    char order[64];
    if (!fgets(order, sizeof order, stdin)) break;
    obey(order, context);
  }
  finalize(context);
  print_wanted();
  return 0;
}
