/* Communicators whose windows are known: sends over the network, collectives, and two more communicators beside a single rank's. */
#ifndef SERIES_H
#define SERIES_H

#include "lanes.h"

static struct communicator introduced(uint64_t id, int rank, int nranks) {
  printf("opened\t%016lx\t%lu\n", (unsigned long)id, (unsigned long)shown(&score_p_clock, now()));
  return communicator(id, rank, nranks);
}

/* A send each 103 ms, of three sizes to three ranks: 5 us and a nanosecond for each 10 bytes. Later ones take twice the time. */
static void windows(void) {
  begin();
  /* what a tick is worth is known from then on */
  advance_to(now() + SECONDS);
  flush();
  struct communicator pairs = introduced(0x1a2b, 0, 4), alone = communicator(0x9999, 0, 1), all = introduced(0x2b3c, 1, 2);
  struct communicator others[] = {introduced(0x3c4d, 0, 2), introduced(0x4d5e, 0, 2)};
  uint64_t from = now() + 37 * MILLISECONDS;
  for (uint64_t i = 0; i < 60; i++) {
    uint64_t at = from + i * 103 * MILLISECONDS, bytes = 40000 << (i % 5), slower = i < 30 ? 1 : 2;
    struct operation send = point_to_point(&pairs, "Send", 1 + (int)(i % 3), bytes / 4, at, at + 3 * MILLISECONDS);
    send.transfer_begin = at + MILLISECONDS, send.transfer_end = send.transfer_begin + slower * (5 * MICROSECONDS + bytes / 10);
    send.transfer_bytes = bytes;
    add(send);
    add(all_reduce(&all, 250000, at, at + slower * MILLISECONDS));
    for (uint64_t k = 0; k < 2; k++) add(all_reduce(&others[k], 250000, at + k * 10 * MILLISECONDS, at + (11 * k + slower) * MILLISECONDS));
    /* a window that is closed is ready again long before it is wanted */
    play();
  }
  finalize(alone.context);
  finalize(all.context);
  printf("closed\t%016lx\t%lu\n", (unsigned long)all.id, (unsigned long)shown(&score_p_clock, now()));
  advance_to(now() + 100 * MILLISECONDS);
}

#endif
