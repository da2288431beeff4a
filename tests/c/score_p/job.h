/* A job: its processes, each with Score-P around NCCL. */
#ifndef JOB_H
#define JOB_H

#include "agenda.h"
#include "measurement.h"
#include <signal.h>
#include <sys/wait.h>

/* Seconds after which a job hangs. */
enum { PATIENCE = 60 };

/* Score-P begins, then NCCL loads its plugin. */
static void begin(void) {
  begin_measurement();
  library_path = "libnccl-profiler-scorep.so";
  load();
}

struct process { pid_t id; int output, errors; };

static struct process begin_process(int rank, void (*life)(void)) {
  struct process process = {0, memfd_create("output", 0), memfd_create("errors", 0)};
  check(process.output >= 0 && process.errors >= 0, "no files");
  fflush(NULL);
  process.id = fork();
  check(process.id >= 0, "no fork");
  if (process.id > 0) return process;
  rank_of_job = rank;
  chance_state = (uint64_t)rank + 1;
  keep_own_sockets();
  dup2(process.output, STDOUT_FILENO);
  dup2(process.errors, STDERR_FILENO);
  life();
  exit(0);
}

/* Each line behind the rank and a tab. */
static void pass_on(int from, FILE *to, int rank) {
  lseek(from, 0, SEEK_SET);
  FILE *lines = fdopen(from, "r");
  char *line = NULL;
  size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, lines)) > 0;) {
    if (line[length - 1] == '\n') line[length - 1] = 0;
    fprintf(to, "%d\t%s\n", rank, line);
  }
  free(line);
  fclose(lines);
}

/* Its status, once it has ended; one that hangs is ended. */
static bool ended(struct process *process, time_t deadline, int *status) {
  while (waitpid(process->id, status, WNOHANG) == 0) {
    if (time(NULL) >= deadline) {
      kill(process->id, SIGKILL);
      waitpid(process->id, status, 0);
      return false;
    }
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  }
  return true;
}

/* Prints what the processes say, and how each has ended: ended STATUS, killed SIGNAL, hangs. Whether all is well. */
static bool run_job(int ranks, void (*life)(void)) {
  struct process processes[MOST_RANKS];
  ranks_of_job = ranks;
  make_sockets();
  for (int i = 0; i < ranks; i++) processes[i] = begin_process(i, life);
  for (int i = 0; i < ranks; i++)
    for (int j = 0; j < ranks; j++)
      if (i != j) close(sockets[i][j]);
  time_t deadline = time(NULL) + PATIENCE;
  bool well = true;
  for (int i = 0; i < ranks; i++) {
    int status = 0;
    bool in_time = ended(&processes[i], deadline, &status);
    pass_on(processes[i].output, stdout, i);
    pass_on(processes[i].errors, stderr, i);
    if (!in_time) printf("%d\thangs\n", i);
    else if (WIFSIGNALED(status)) printf("%d\tkilled\t%d\n", i, WTERMSIG(status));
    else printf("%d\tended\t%d\n", i, WEXITSTATUS(status));
    well &= in_time && status == 0;
  }
  return well;
}

#endif
