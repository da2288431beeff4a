/* The ways of using NCCL: ways LIBCUDART LIBNCCL WAY FIRST DEVICES DIRECTORY. A process uses DEVICES devices from
 * number FIRST on, and WAY says how:
 *   group     one thread, with all devices' calls in an ncclGroup, as also a single process with several devices
 *   threads   a thread for each device
 *   together  as group, with several collectives of each device in the group
 *
 * The number of this process and of all processes are the launcher's (OMPI_COMM_WORLD_RANK and _SIZE, or RANK and
 * WORLD_SIZE). Process 0 writes NCCL's unique id to DIRECTORY/id, for which the others wait. Each process writes
 * what its ranks did to DIRECTORY/did.PROCESS.json, with bytes as NCCL counts them. Both libraries are loaded at run
 * time, so neither CUDA nor NCCL need be installed where it is compiled: gcc -O2 ways.c -ldl -lpthread. */
#define _GNU_SOURCE
#include "loaded.h"
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16, ROUNDS = 50, FLOAT32 = 7, SUM = 0, NON_BLOCKING = 1, LARGEST = 1 << 20, PATIENCE_SECONDS = 60 };

struct unique_id {
  char bytes[128];
};

struct collective {
  const char *func;
  size_t count; /* elements, as NCCL counts them for this function */
};
static const struct collective alone[] = {{"AllReduce", 1 << 18}};
static const struct collective several[] = {{"AllReduce", 1 << 18}, {"Broadcast", 1 << 14}, {"AllGather", 1 << 12},
                                           {"AllReduce", 1 << 10}};

static int (*set_device)(int), (*allocate)(void **, size_t);
static int (*create_stream)(void **, unsigned), (*synchronize)(void *);
static int (*unique_id)(struct unique_id *), (*init_rank)(void **, int, struct unique_id, int), (*destroy)(void *);
static int (*group_start)(void), (*group_end)(void);
static int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *);
static int (*broadcast)(const void *, void *, size_t, int, int, void *, void *);
static int (*all_gather)(const void *, void *, size_t, int, void *, void *);

static int first, devices, process, processes, collectives;
static const struct collective *made;
static struct unique_id id;
static void *comms[MOST], *streams[MOST], *send[MOST], *receive[MOST];

static void check(int failed, const char *what) {
  if (failed) fprintf(stderr, "ways: process %d: %s failed: %d\n", process, what, failed), _exit(1);
}

static int of_launcher(const char *mpi, const char *other, int otherwise) {
  const char *value = getenv(mpi) ? getenv(mpi) : getenv(other);
  return value ? atoi(value) : otherwise;
}

/* Process 0 makes the id. The file has its name when it is whole. */
static void share_id(const char *directory) {
  char path[4096], part[4200];
  snprintf(path, sizeof path, "%s/id", directory);
  if (process == 0) {
    check(unique_id(&id), "ncclGetUniqueId");
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    check(!file || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) || rename(part, path), "writing the id");
    return;
  }
  for (int i = 0; i < 100 * PATIENCE_SECONDS && access(path, R_OK); i++) usleep(10000);
  FILE *file = fopen(path, "r");
  check(!file || fread(&id, sizeof id, 1, file) != 1 || fclose(file), "reading the id");
}

static void prepare(int i) {
  check(set_device(first + i), "cudaSetDevice");
  check(allocate(&send[i], LARGEST) || allocate(&receive[i], LARGEST * MOST), "cudaMalloc");
  check(create_stream(&streams[i], NON_BLOCKING), "cudaStreamCreateWithFlags");
}

static void join(int i) {
  check(set_device(first + i), "cudaSetDevice");
  check(init_rank(&comms[i], processes * devices, id, process * devices + i), "ncclCommInitRank");
}

static void call(int i, const struct collective *it) {
  check(set_device(first + i), "cudaSetDevice");
  const void *from = send[i];
  void *to = receive[i], *comm = comms[i], *stream = streams[i];
  int failed = strcmp(it->func, "Broadcast") == 0   ? broadcast(from, to, it->count, FLOAT32, 0, comm, stream)
               : strcmp(it->func, "AllGather") == 0 ? all_gather(from, to, it->count, FLOAT32, comm, stream)
                                                    : all_reduce(from, to, it->count, FLOAT32, SUM, comm, stream);
  check(failed, it->func);
}

static void await(int i) {
  check(set_device(first + i), "cudaSetDevice");
  check(synchronize(streams[i]), "cudaStreamSynchronize");
}

static void use_groups(void) {
  check(group_start(), "ncclGroupStart");
  for (int i = 0; i < devices; i++) join(i);
  check(group_end(), "ncclGroupEnd");
  for (int round = 0; round < ROUNDS; round++) {
    check(group_start(), "ncclGroupStart");
    for (int i = 0; i < devices; i++)
      for (int j = 0; j < collectives; j++) call(i, &made[j]);
    check(group_end(), "ncclGroupEnd");
    for (int i = 0; i < devices; i++) await(i);
  }
}

static void *use_device(void *number) {
  int i = (int)(long)number;
  join(i);
  for (int round = 0; round < ROUNDS; round++) {
    for (int j = 0; j < collectives; j++) call(i, &made[j]);
    await(i);
  }
  return NULL;
}

static void use_threads(void) {
  pthread_t threads[MOST];
  for (long i = 0; i < devices; i++) check(pthread_create(&threads[i], NULL, use_device, (void *)i), "pthread_create");
  for (int i = 0; i < devices; i++) pthread_join(threads[i], NULL);
}

static void write_down(const char *way, const char *directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/did.%d.json", directory, process);
  FILE *file = fopen(path, "w");
  check(!file, "writing what was done");
  fprintf(file, "{\"way\": \"%s\", \"process\": %d, \"first_rank\": %d, ", way, process, process * devices);
  fprintf(file, "\"devices\": %d, \"ranks\": %d, \"rounds\": %d, \"round\": [", devices, processes * devices, ROUNDS);
  for (int j = 0; j < collectives; j++)
    fprintf(file, "%s[\"%s\", %zu]", j ? ", " : "", made[j].func, 4 * made[j].count);
  fprintf(file, "]}\n");
  check(fclose(file), "writing what was done");
}

int main(int count, char **arguments) {
  const char *usage = "usage: ways LIBCUDART LIBNCCL group|threads|together FIRST DEVICES DIRECTORY\n";
  if (count != 7) return fputs(usage, stderr), 1;
  const char *way = arguments[3], *directory = arguments[6];
  process = of_launcher("OMPI_COMM_WORLD_RANK", "RANK", 0);
  processes = of_launcher("OMPI_COMM_WORLD_SIZE", "WORLD_SIZE", 1);
  first = atoi(arguments[4]), devices = atoi(arguments[5]);
  check(devices < 1 || devices * processes > MOST, "taking so many devices");
  int is_together = strcmp(way, "together") == 0;
  made = is_together ? several : alone;
  collectives = is_together ? sizeof several / sizeof *several : sizeof alone / sizeof *alone;
  void *cuda = library(arguments[1]), *nccl = library(arguments[2]);
  set_device = symbol(cuda, "cudaSetDevice"), allocate = symbol(cuda, "cudaMalloc");
  create_stream = symbol(cuda, "cudaStreamCreateWithFlags"), synchronize = symbol(cuda, "cudaStreamSynchronize");
  unique_id = symbol(nccl, "ncclGetUniqueId"), init_rank = symbol(nccl, "ncclCommInitRank");
  destroy = symbol(nccl, "ncclCommDestroy");
  group_start = symbol(nccl, "ncclGroupStart"), group_end = symbol(nccl, "ncclGroupEnd");
  all_reduce = symbol(nccl, "ncclAllReduce"), broadcast = symbol(nccl, "ncclBroadcast");
  all_gather = symbol(nccl, "ncclAllGather");
  for (int i = 0; i < devices; i++) prepare(i);
  share_id(directory);
  if (strcmp(way, "threads") == 0) use_threads();
  else use_groups();
  /* NCCL's proxy threads report the last stamps a moment later */
  usleep(300000);
  /* one thread waits in ncclCommDestroy for ranks of the same process */
  check(group_start(), "ncclGroupStart");
  for (int i = 0; i < devices; i++) check(destroy(comms[i]), "ncclCommDestroy");
  check(group_end(), "ncclGroupEnd");
  write_down(way, directory);
  return 0;
}
