/* Something that befalls a process, and when: NUMBER 0 before its first communicator, 1 while it records, 2 the same, and it is over before
 * the process ends. */
#ifndef MOMENTS_H
#define MOMENTS_H

#include "../nccl/workers.h"

/* The arguments behind NUMBER. */
static const char *words[2] = {"", ""};

enum { BEFORE_INIT, AMID_RECORDING, FOR_A_WHILE };

/* Where nothing is recorded, there are no handles. */
static void operate_often(void *context) {
  shared_context = context;
  for (int i = 0; i < 100; i++) {
    refusals += !operate();
    if (i % 50 == 0) flush();
  }
}

/* Two communicators, the second one from when it has happened on, and a thread that comes later. */
static void record_with(void (*happen)(void), void (*end)(void)) {
  /* what the host itself needs is there before */
  at_the_edge(0);
  if (number == BEFORE_INIT) happen();
  void *first = init();
  operate_often(first);
  if (number != BEFORE_INIT) happen();
  void *second = init_as(0xcd, NULL, 0, &mask_given);
  operate_often(second), operate_often(first);
  finalize(first);
  operate_often(second);
  finalize(second);
  if (number == FOR_A_WHILE) end();
  want.dropped += refusals;
  account();
}

#endif
