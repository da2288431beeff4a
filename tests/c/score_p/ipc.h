/* Score-P's inter-process communication: blocking as MPI's, on the main thread only, and only after the plugin's init_mpp. Between each
 * two processes there is a pair of sockets, made before any of them was forked.
 *
 * A message knows when it was sent (true time), and arrives a little later: about two microseconds, one more in one of the directions,
 * and every eighth one much later. What does not fit together, which MPI would hang or crash at, is a fault. */
#ifndef IPC_H
#define IPC_H

#include "../nccl/plugin.h"
#include "true_time.h"
#include <sys/socket.h>
#include <sys/syscall.h>

enum { MOST_RANKS = 16 };

static int ranks_of_job = 1, rank_of_job;
static int sockets[MOST_RANKS][MOST_RANKS];

/* Whether the plugin may communicate yet, and still. */
static bool ipc_open;

static void make_sockets(void) {
  for (int i = 0; i < ranks_of_job; i++) {
    for (int j = 0; j < i; j++) {
      int pair[2];
      check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no sockets");
      sockets[i][j] = pair[0], sockets[j][i] = pair[1];
    }
  }
}

/* After the fork: a process that is gone must not look as if it were there. */
static void keep_own_sockets(void) {
  for (int i = 0; i < ranks_of_job; i++)
    for (int j = 0; j < ranks_of_job; j++)
      if (i != j && i != rank_of_job) close(sockets[i][j]);
}

struct message { char what[16]; uint64_t size, sent; };

static void whole_write(int to, const void *data, size_t size) {
  for (const char *at = data; size > 0;) {
    ssize_t done = send(sockets[rank_of_job][to], at, size, MSG_NOSIGNAL);
    check(done > 0, "rank %d is gone", to);
    at += done, size -= (size_t)done;
  }
}

static void whole_read(int from, void *data, size_t size) {
  for (char *at = data; size > 0;) {
    ssize_t done = recv(sockets[rank_of_job][from], at, size, 0);
    check(done > 0, "rank %d is gone", from);
    at += done, size -= (size_t)done;
  }
}

static void put(const char *what, int to, const void *data, size_t size) {
  check(to >= 0 && to < ranks_of_job && to != rank_of_job, "%s to rank %d", what, to);
  struct message message = {"", size, now()};
  snprintf(message.what, sizeof message.what, "%s", what);
  whole_write(to, &message, sizeof message);
  whole_write(to, data, size);
  advance_to(message.sent + 100);
}

static void get(const char *what, int from, void *data, size_t size) {
  check(from >= 0 && from < ranks_of_job && from != rank_of_job, "%s from rank %d", what, from);
  struct message message;
  whole_read(from, &message, sizeof message);
  check(strcmp(message.what, what) == 0, "rank %d does %s, rank %d does %s", from, message.what, rank_of_job, what);
  check(message.size == size, "%s: rank %d sends %lu bytes, rank %d wants %zu", what, from, (unsigned long)message.size, rank_of_job, size);
  whole_read(from, data, size);
  uint64_t under_way = 2000 + (from < rank_of_job ? 1000 : 0) + chance(300) + (chance(8) == 0 ? 20000 : 0);
  advance_to(message.sent + under_way);
}

static void gather(const char *what, const void *from, size_t size, void *to, const size_t *sizes, int root) {
  check(root >= 0 && root < ranks_of_job, "%s at rank %d", what, root);
  if (rank_of_job != root) {
    put(what, root, from, size);
    return;
  }
  for (int i = 0; i < ranks_of_job; to = (char *)to + sizes[i], i++) {
    if (i != root) get(what, i, to, sizes[i]);
    else check(sizes[i] == size, "%s: the root's own part", what), memmove(to, from, size);
  }
}

static void broadcast(const char *what, void *data, size_t size, int root) {
  check(root >= 0 && root < ranks_of_job, "%s from rank %d", what, root);
  if (rank_of_job != root) get(what, root, data, size);
  else for (int i = 0; i < ranks_of_job; i++) if (i != root) put(what, i, data, size);
}

static void barrier(void) {
  const size_t none[MOST_RANKS] = {0};
  gather("barrier", NULL, 0, NULL, none, 0);
  broadcast("barrier", NULL, 0, 0);
}

/* As Score-P gives them to its plugins. */

static void ipc_allowed(const char *what) {
  check(ipc_open, "%s before init_mpp or after the end", what);
  check(getpid() == (pid_t)syscall(SYS_gettid), "%s on another thread than the main one", what);
}

static size_t bytes(int count, int type) {
  static const size_t sizes[] = {1, 1, 1, 4, 4, 4, 4, 8, 8, 8};
  check(count >= 0 && type >= 0 && type < 10, "%d elements of type %d", count, type);
  return (size_t)count * sizes[type];
}

static int ipc_size(void) { return ipc_allowed("GetSize"), ranks_of_job; }
static int ipc_rank(void) { return ipc_allowed("GetRank"), rank_of_job; }
static int ipc_send(const void *data, int count, int type, int to) { return ipc_allowed("Send"), put("Send", to, data, bytes(count, type)), 0; }
static int ipc_receive(void *data, int count, int type, int from) { return ipc_allowed("Recv"), get("Send", from, data, bytes(count, type)), 0; }
static int ipc_barrier(void) { return ipc_allowed("Barrier"), barrier(), 0; }

static int ipc_broadcast(void *data, int count, int type, int root) {
  ipc_allowed("Bcast");
  broadcast("Bcast", data, bytes(count, type), root);
  return 0;
}

static int ipc_gatherv(const void *from, int count, void *to, const int *counts, int type, int root) {
  ipc_allowed("Gatherv");
  size_t sizes[MOST_RANKS] = {0};
  for (int i = 0; rank_of_job == root && i < ranks_of_job; i++) sizes[i] = bytes(counts[i], type);
  gather("Gatherv", from, bytes(count, type), to, sizes, root);
  return 0;
}

static int ipc_gather(const void *from, void *to, int count, int type, int root) {
  ipc_allowed("Gather");
  size_t sizes[MOST_RANKS];
  for (int i = 0; i < ranks_of_job; i++) sizes[i] = bytes(count, type);
  gather("Gather", from, sizes[0], to, sizes, root);
  return 0;
}

static int ipc_allgather(const void *from, void *to, int count, int type) {
  ipc_allowed("Allgather");
  size_t sizes[MOST_RANKS];
  for (int i = 0; i < ranks_of_job; i++) sizes[i] = bytes(count, type);
  gather("Allgather", from, sizes[0], to, sizes, 0);
  broadcast("Allgather", to, sizes[0] * (size_t)ranks_of_job, 0);
  return 0;
}

#endif
