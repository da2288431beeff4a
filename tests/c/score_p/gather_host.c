/* Score-P around the first process of a large job: gather_host LIBRARY PARTS NODE. The process is rank 0 and uses no NCCL. The file
 * PARTS plays the other ranks: of each rank in turn, the bytes of its part behind their number (8 bytes). NODE ranks share a node.
 *
 * The host answers as the other ranks would: at the roll call, when clocks are compared, and when parts are gathered. Prints lines `NAME
 * NUMBER`: the ranks, what they sent, the most memory of this process before and after, KiB, and the processor's time of each step, us.
 *
 * RECEIVE_FAILS names a rank whose part Score-P fails to receive. Each rank is asked or sent home nevertheless: `home` is the number of those
 * sent home. */
#include "../check.h"
#include "substrate_tables.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void print(const char *name, long value) {
  printf("%s %ld\n", name, value);
  fflush(stdout);
}

/* The clocks are compared at the begin and at the end: so many questions, and the offset found. */
enum { QUESTIONS = 50, COMPARISON = 2 * QUESTIONS + 1, COMPARISONS = 2, OFFSET = 3 * 8 };

/* Where a rank's part lies in the file, its length, and how many messages it has exchanged with rank 0. */
struct rank { off_t place; uint64_t length; int messages; };

static int file, ranks = 1, ranks_of_a_node;
static struct rank *all;
static uint64_t received;
static int fails, sent_home;

static void find_parts(const char *path) {
  file = open(path, O_RDONLY);
  check(file >= 0, "%s: %s", path, strerror(errno));
  off_t place = 0;
  size_t room = 0;
  for (uint64_t length; pread(file, &length, sizeof length, place) == sizeof length; ranks++) {
    if (room <= (size_t)ranks) all = realloc(all, (room = 2 * room + 16) * sizeof *all);
    all[ranks] = (struct rank){place + (off_t)sizeof length, length, 0};
    place += (off_t)(sizeof length + length);
  }
  check(ranks > 1, "%s has no parts", path);
}

static void read_part(int of, void *to) {
  for (uint64_t done = 0; done < all[of].length;) {
    ssize_t now = pread(file, (char *)to + done, all[of].length - done, all[of].place + (off_t)done);
    check(now > 0, "the part of rank %d: %s", of, strerror(errno));
    done += (uint64_t)now;
  }
  received += all[of].length;
}

/* Whether rank 0 compares its clock with this rank's: of the first rank of a node whose number is a power of two. */
static bool is_child(int rank) {
  int node = rank / ranks_of_a_node;
  return rank % ranks_of_a_node == 0 && (node & (node - 1)) == 0;
}

/* How many messages a rank exchanges with rank 0 before it is asked for its part. */
static int comparisons(int rank) { return is_child(rank) ? COMPARISONS * COMPARISON : 0; }

static struct rank *peer(const char *what, int rank) {
  check(rank > 0 && rank < ranks, "%s: rank %d", what, rank);
  return &all[rank];
}

static int get_size(void) { return ranks; }
static int get_rank(void) { return 0; }

static int send_to(const void *data, int count, int type, int to) {
  struct rank *rank = peer("Send", to);
  int done = rank->messages++, in_comparison = done % COMPARISON;
  check(data && type == 0, "Send of type %d", type);
  if (done < comparisons(to)) check(in_comparison == 2 * QUESTIONS ? count == OFFSET : in_comparison % 2 == 0 && count == 1, "Send of %d bytes", count);
  else {
    check(done == comparisons(to) && count == 1, "Send of %d bytes to a rank that waits to be asked for its part", count);
    sent_home += *(const char *)data == 0;
  }
  return 0;
}

static int receive_from(void *data, int count, int type, int from) {
  struct rank *rank = peer("Recv", from);
  int done = rank->messages++;
  check(data && type == 0, "Recv of type %d", type);
  if (done < comparisons(from)) {
    check(done % COMPARISON % 2 == 1 && count == 8, "Recv of %d bytes", count);
    memset(data, 0, 8);
    return 0;
  }
  check(done == comparisons(from) + 1, "Recv from a rank that was not asked");
  check(count >= 0 && (uint64_t)count == rank->length, "Recv of %d bytes, rank %d has %lu", count, from, (unsigned long)rank->length);
  if (from == fails) return 1;
  read_part(from, data);
  return 0;
}

/* The nodes' identities. */
static int all_gather(const void *from, void *to, int count, int type) {
  check(count == 8 && type == 0, "Allgather of %d elements of type %d", count, type);
  for (int rank = 0; rank < ranks; rank++) {
    uint64_t node = (uint64_t)(rank / ranks_of_a_node);
    memcpy((char *)to + 8 * rank, node == 0 ? from : &node, 8);
  }
  return 0;
}

/* The parts' lengths. */
static int gather(const void *from, void *to, int count, int type, int root) {
  check(count == 1 && type == 3 && root == 0, "Gather of %d elements of type %d at %d", count, type, root);
  memcpy(to, from, sizeof(int));
  for (int rank = 1; rank < ranks; rank++) ((int *)to)[rank] = (int)all[rank].length;
  return 0;
}

static const char *directory(void) { return getenv("SCOREP_EXPERIMENT_DIRECTORY"); }

/* The other ranks enter their numbers as soon as there is a roll. */
static void *answer_the_call(void *unused) {
  char path[4096];
  snprintf(path, sizeof path, "%s/nccl/roll", directory());
  int roll;
  while ((roll = open(path, O_RDWR)) < 0) usleep(1000);
  uint64_t *numbers = malloc(8 * (size_t)(ranks - 1));
  for (int rank = 1; rank < ranks; rank++) numbers[rank - 1] = 1;
  check(pwrite(roll, numbers, 8 * (size_t)(ranks - 1), 16) == 8 * (ranks - 1), "the roll: %s", strerror(errno));
  free(numbers);
  close(roll);
  return unused;
}

/* The most memory that this process has had. */
static long most_kib(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  long most = -1;
  while (status && fgets(line, sizeof line, status)) sscanf(line, "VmHWM: %ld", &most);
  check(most > 0, "no VmHWM");
  fclose(status);
  return most;
}

static void timed(const char *name, void (*step)(void)) {
  struct timespec begin, end;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  step();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  print(name, (end.tv_sec - begin.tv_sec) * 1000000 + (end.tv_nsec - begin.tv_nsec) / 1000);
}

int main(int argc, char **argv) {
  check(argc == 4 && directory(), "gather_host LIBRARY PARTS NODE, with SCOREP_EXPERIMENT_DIRECTORY");
  ranks_of_a_node = atoi(argv[3]);
  find_parts(argv[2]);
  fails = atoi(getenv("RECEIVE_FAILS") ? getenv("RECEIVE_FAILS") : "0");
  static struct substrate_callbacks callbacks = {
    .directory = directory, .size = get_size, .rank = get_rank, .send = send_to, .receive = receive_from, .gather = gather, .allgather = all_gather};
  void *loaded = dlopen(argv[1], RTLD_NOW);
  check(loaded != NULL, "%s", dlerror());
  struct substrate_plugin (*get)(void) = (struct substrate_plugin(*)(void))dlsym(loaded, "SCOREP_SubstratePlugin_nccl_get_info");
  check(get != NULL, "no substrate plugin");
  struct substrate_plugin plugin = get();
  check(plugin.init() == 0, "init");
  plugin.set_callbacks(&callbacks, sizeof callbacks);
  pthread_t others;
  check(pthread_create(&others, NULL, answer_the_call, NULL) == 0, "no thread");
  timed("meet", plugin.init_mpp);
  pthread_join(others, NULL);
  print("before", most_kib());
  timed("gather", plugin.pre_unify);
  print("gathered", most_kib());
  timed("write", plugin.write_data);
  print("ranks", ranks);
  print("home", sent_home);
  print("bytes", (long)received);
  print("after", most_kib());
  return 0;
}
