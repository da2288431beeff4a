/* The rest of Score-P's inter-process communication: reductions and scatters. */
#ifndef IPC_REDUCTIONS_H
#define IPC_REDUCTIONS_H

#include "ipc.h"

enum { BAND, BOR, MIN, MAX, SUM };

#define REDUCE(TYPE)                                                                                                             \
  static TYPE reduced_##TYPE(TYPE a, TYPE b, int how) { return how == MIN ? (a < b ? a : b) : how == MAX ? (a > b ? a : b) : a + b; }
typedef unsigned char byte;
REDUCE(byte) REDUCE(int32_t) REDUCE(uint32_t) REDUCE(int64_t) REDUCE(uint64_t) REDUCE(double)

static void reduce_one(void *into, const void *other, int type, int how) {
#define CASE(TYPE)                                                                                                               \
  {                                                                                                                              \
    TYPE a, b;                                                                                                                   \
    memcpy(&a, into, sizeof a), memcpy(&b, other, sizeof b);                                                                     \
    a = reduced_##TYPE(a, b, how);                                                                                               \
    memcpy(into, &a, sizeof a);                                                                                                  \
    break;                                                                                                                       \
  }
  switch (type) {
    case 3: case 5: CASE(int32_t)
    case 4: case 6: CASE(uint32_t)
    case 7: CASE(int64_t)
    case 8: CASE(uint64_t)
    case 9: CASE(double)
    default: CASE(byte)
  }
#undef CASE
}

/* Bits are combined byte by byte, whatever the type. */
static void reduce_bits(byte *into, const byte *other, size_t size, int how) {
  for (size_t i = 0; i < size; i++) into[i] = how == BAND ? into[i] & other[i] : into[i] | other[i];
}

static void reduce(const char *what, const void *from, void *to, int count, int type, int how, int root) {
  check(how >= BAND && how <= SUM, "%s by %d", what, how);
  size_t size = bytes(count, type), one = bytes(1, type), sizes[MOST_RANKS];
  for (int i = 0; i < ranks_of_job; i++) sizes[i] = size;
  byte *all = malloc(size * (size_t)ranks_of_job + 1);
  gather(what, from, size, all, sizes, root);
  for (int i = 1; rank_of_job == root && i < ranks_of_job; i++) {
    byte *other = all + (size_t)i * size;
    if (how == BAND || how == BOR) reduce_bits(all, other, size, how);
    else for (size_t at = 0; at < size; at += one) reduce_one(all + at, other + at, type, how);
  }
  if (rank_of_job == root) memcpy(to, all, size);
  free(all);
}

static int ipc_reduce(const void *from, void *to, int count, int type, int how, int root) {
  return ipc_allowed("Reduce"), reduce("Reduce", from, to, count, type, how, root), 0;
}

static int ipc_allreduce(const void *from, void *to, int count, int type, int how) {
  ipc_allowed("Allreduce");
  reduce("Allreduce", from, to, count, type, how, 0);
  broadcast("Allreduce", to, bytes(count, type), 0);
  return 0;
}

static int ipc_scatterv(const void *from, const int *counts, void *to, int count, int type, int root) {
  ipc_allowed("Scatterv");
  if (rank_of_job != root) return get("Scatterv", root, to, bytes(count, type)), 0;
  for (int i = 0; i < ranks_of_job; from = (const char *)from + bytes(counts[i], type), i++) {
    if (i != root) put("Scatterv", i, from, bytes(counts[i], type));
    else memmove(to, from, bytes(count, type));
  }
  return 0;
}

static int ipc_scatter(const void *from, void *to, int count, int type, int root) {
  int counts[MOST_RANKS];
  for (int i = 0; i < ranks_of_job; i++) counts[i] = count;
  return ipc_scatterv(from, counts, to, count, type, root);
}

#endif
