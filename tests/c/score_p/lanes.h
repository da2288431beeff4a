/* Operations as the lanes must show them: back to back, overlapping, of several communicators, not timed by the GPU; and pairs of
 * ranks. */
#ifndef LANES_H
#define LANES_H

#include "job.h"
#include <pthread.h>

static void end_communicators(struct communicator *all, int count) {
  for (int i = 0; i < count; i++) finalize(all[i].context);
}

/* One begins when the one before ends, 20 times: one lane. */
static void back_to_back(struct communicator *of, uint64_t from) {
  for (uint64_t i = 0; i < 20; i++) add(all_reduce(of, 1000 * (i + 1), from + i * MILLISECONDS, from + (i + 1) * MILLISECONDS));
}

/* Three at a time; the fourth finds all lanes free. */
static void overlapping(struct communicator *of, uint64_t from) {
  const uint64_t microseconds[][2] = {{0, 3000}, {1000, 2000}, {1500, 4000}, {5000, 6000}};
  for (int i = 0; i < 4; i++)
    add(all_reduce(of, 5000, from + microseconds[i][0] * MICROSECONDS, from + microseconds[i][1] * MICROSECONDS));
}

/* A send and a receive of one group share their time on the GPU. */
static void exchange(struct communicator *of, uint64_t from) {
  add(point_to_point(of, "Send", 1, 4000, from, from + MILLISECONDS));
  add(point_to_point(of, "Recv", 1, 4000, from, from + MILLISECONDS));
}

/* The other functions, and what takes the place of the GPU's stamps: a transfer, or nothing. */
static void others(struct communicator *of, uint64_t from) {
  static const char *const names[] = {"AllGather", "ReduceScatter", "Broadcast", "Reduce"};
  for (uint64_t i = 0; i < 4; i++) {
    struct operation operation = all_reduce(of, 6000, from + 2 * i * MILLISECONDS, from + (2 * i + 1) * MILLISECONDS);
    operation.func = names[i];
    add(operation);
  }
  add((struct operation){.of = of, .type = COLL, .func = "AllReduce", .count = 7000, .begin = from + 20 * MILLISECONDS});
  add((struct operation){.of = of, .type = COLL, .func = "AllReduce", .count = 8000, .peer = 1, .begin = from + 22 * MILLISECONDS,
                         .transfer_begin = from + 22 * MILLISECONDS, .transfer_end = from + 23 * MILLISECONDS, .transfer_bytes = 32000});
}

static void lanes(void) {
  begin();
  struct communicator all[] = {communicator(0x1a2b, 0, 4), communicator(0x2b3c, 1, 2), communicator(0x3c4d, 0, 2), communicator(0x4d5e, 3, 8)};
  uint64_t from = now() + 10 * MILLISECONDS;
  back_to_back(&all[0], from);
  overlapping(&all[1], from + 500 * MICROSECONDS);
  exchange(&all[2], from + 700 * MICROSECONDS);
  others(&all[3], from + 900 * MICROSECONDS);
  play();
  advance_to(now() + SECONDS);
  end_communicators(all, 4);
}

/* Two ranks of one communicator in this process, each with a GPU of its own. */
static void two_gpus(void) {
  begin();
  gpu.offset = 2000000;
  struct communicator first = communicator(0x1a2b, 0, 2);
  gpu.offset = -900000;
  struct communicator all[] = {first, communicator(0x1a2b, 1, 2)};
  uint64_t from = now() + 10 * MILLISECONDS;
  for (int i = 0; i < 2; i++) back_to_back(&all[i], from + (uint64_t)i * MILLISECONDS / 4);
  play();
  end_communicators(all, 2);
}

/* NUMBER operations of one communicator. */
static void many(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 4);
  uint64_t from = now() + MILLISECONDS;
  for (uint64_t i = 0; i < (uint64_t)number; i++) {
    add(all_reduce(&of, 1000, from + i * 100 * MICROSECONDS, from + (i * 100 + 60) * MICROSECONDS));
    if (i % 1024 == 1023) play();
  }
  play();
  finalize(of.context);
}

/* NUMBER communicators of one operation each. */
static void communicators(void) {
  begin();
  struct communicator all[256];
  check(number > 0 && number <= 256, "so many communicators");
  uint64_t from = now() + MILLISECONDS;
  for (long i = 0; i < number; i++) {
    all[i] = communicator(0x1000 + (uint64_t)i, 0, 2);
    add(all_reduce(&all[i], 1000 * (uint64_t)(number - i), from + (uint64_t)i * MILLISECONDS, from + (uint64_t)(i + 1) * MILLISECONDS));
  }
  play();
  end_communicators(all, (int)number);
}

/* Sends to ten ranks, the more the higher the rank: of four sizes, 5 us and a nanosecond for every ten bytes each, for two seconds. */
static void pairs(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 11);
  uint64_t from = now() + MILLISECONDS;
  for (uint64_t i = 0; i < 400; i++) {
    int peer = 1 + (int)(i % 10);
    uint64_t bytes = 4000 * (uint64_t)peer << (i / 10 % 4), at = from + i * 5 * MILLISECONDS;
    struct operation send = point_to_point(&of, "Send", peer, bytes / 4, at, at + 3 * MILLISECONDS);
    send.transfer_begin = at + MILLISECONDS, send.transfer_end = send.transfer_begin + 5 * MICROSECONDS + bytes / 10, send.transfer_bytes = bytes;
    add(send);
  }
  play();
  finalize(of.context);
}

/* Five seconds with transfers of four sizes, and five with those of one. */
static void pairs_of_one_size(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 2);
  uint64_t from = now() + MILLISECONDS;
  for (uint64_t i = 0; i < 1000; i++) {
    uint64_t bytes = 4000 << (i < 500 ? i % 4 : 3), at = from + i * 10 * MILLISECONDS;
    struct operation send = point_to_point(&of, "Send", 1, bytes / 4, at, at + 3 * MILLISECONDS);
    send.transfer_begin = at + MILLISECONDS, send.transfer_end = send.transfer_begin + 5 * MICROSECONDS + bytes / 10, send.transfer_bytes = bytes;
    add(send);
  }
  play();
  finalize(of.context);
}

/* An operation that is under way, and a communicator that is not destroyed, when the program ends. */
static void exit_amidst(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 2);
  back_to_back(&of, now() + MILLISECONDS);
  play();
  struct event event = a_coll();
  event.comm = of.id, event.channels = 1, event.sequence = of.sequence;
  void *handle = start(of.context, &event);
  stop(handle);
  event = a_kernel(handle, 0);
  event.ptimer = gpu_stamp(&of.gpu, now());
  start(of.context, &event);
  exit(0);
}

static void *exits(void *unused) {
  (void)unused;
  exit(0);
}

/* A thread that Score-P does not know ends the program. */
static void exit_of_a_thread(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 2);
  back_to_back(&of, now() + MILLISECONDS);
  play();
  pthread_t thread;
  check(pthread_create(&thread, NULL, exits, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
}

/* The application switches recording off, and not on again. */
static void recording_off(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 2);
  back_to_back(&of, now() + MILLISECONDS);
  play();
  switch_recording(false);
  back_to_back(&of, now() + MILLISECONDS);
  play();
  finalize(of.context);
}

/* Off for a while: what happened meanwhile may be in the lanes all the same. */
static void recording_off_and_on(void) {
  begin();
  struct communicator of = communicator(0x1a2b, 0, 2);
  switch_recording(false);
  back_to_back(&of, now() + MILLISECONDS);
  play();
  switch_recording(true);
  back_to_back(&of, now() + MILLISECONDS);
  play();
  finalize(of.context);
}

/* Score-P without NCCL. */
static void nothing(void) { begin(); }

#endif
