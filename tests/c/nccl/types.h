/* Event types, data types, names and counts that nobody knows yet. */
#ifndef TYPES_H
#define TYPES_H

#include "operations.h"

/* A launch behind a group of calls is that of an outer group, and so are the operations behind that. */
static bool is_behind_a_group, is_launched;

/* What a type makes of the figures, started with a living operation as parent or with none. */
static void start_type(void *context, uint64_t type, void *parent) {
  struct event event = a_coll();
  event.type = type, event.parent = parent, event.peer = 1, event.pid = getpid(), event.captured = false;
  void *handle = start(context, &event);
  uint64_t seen = version->wide ? type : (uint8_t)type;
  bool known = seen != 0 && (seen & (seen - 1)) == 0 && (seen & version->types);
  bool operation = known && (seen & (COLL | P2P | CE_COLL));
  bool call = known && (seen & (COLL_API | P2P_API));
  bool child = known && (seen & (PROXY_STEP | KERNEL_CH));
  bool launch = known && seen == KERNEL_LAUNCH && is_behind_a_group, group = known && seen == GROUP && is_launched;
  bool handled = operation || call || launch || group || (known && (seen & (GROUP_API | PROXY_OP | PROXY_CTRL | NET_PLUGIN))) || (child && parent);
  check(is_recorded(handle) == handled, "type 0x%llx: handle %p", (unsigned long long)type, handle);
  if (!known) want.unknown_events++;
  if (operation) recorded(4096);
  if (call) want.invisible++;
  /* a step of what is no proxy operation, and a child of nothing */
  if (child && (!parent || seen == PROXY_STEP)) want.orphans++;
  if (is_recorded(handle)) stop(handle);
  if (known && seen == GROUP_API) is_behind_a_group = true;
  is_launched = launch || (is_launched && !(known && (seen & (GROUP | GROUP_API))));
}

static void every_type(void) {
  void *context = init();
  void *operation = coll(context);
  for (int round = 0; round < 2; round++) {
    void *parent = round ? operation : NULL;
    for (int bit = 0; bit < 64; bit++) start_type(context, 1ULL << bit, parent);
    for (int bit = 0; bit < 63; bit++) start_type(context, 3ULL << bit, parent);
    start_type(context, 0, parent);
    start_type(context, ~0ULL, parent);
  }
  want.proxy_timed = 1; /* the parent of the second round's proxy operation */
  finalize(context);
}

/* NCCL has no name for ncclUint8 and says `Unknown`. */
static void datatypes(void) {
  static const struct { const char *name; uint64_t bytes; } all[] = {
    {"ncclInt8", 1},     {"ncclChar", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclInt", 4},        {"ncclUint32", 4},
    {"ncclInt64", 8},    {"ncclUint64", 8},  {"ncclFloat16", 2},  {"ncclHalf", 2},       {"ncclFloat32", 4},    {"ncclFloat", 4},
    {"ncclFloat64", 8},  {"ncclDouble", 8},  {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1}, {"ncclComplex", 0},
    {"Unknown", 1},      {"", 0},            {NULL, 0}};
  void *context = init();
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    bool numbered = datatype_number(all[i].name) != 255;
    uint64_t bytes = version->number == 1 && !numbered ? 0 : 10 * all[i].bytes;
    struct event event = a_coll();
    event.datatype = all[i].name, event.count = 10;
    enqueue(context, event, bytes);
    event = a_p2p(1);
    event.datatype = all[i].name, event.count = 10;
    enqueue(context, event, bytes);
  }
  finalize(context);
}

static void odd_names(void) {
  static char longer[5000];
  memset(longer, 'x', sizeof longer - 1);
  const char *names[] = {NULL, "", longer, "\xff\xfe", "All Reduce\n\"quoted\"\\", "%s%n"};
  void *context = init_as(0xab, longer, 0, &mask_given);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct event event = a_coll();
    event.func = event.algorithm = event.protocol = event.comm_name = names[i];
    enqueue(context, event, 4096);
    event = a_p2p(1);
    event.func = names[i];
    enqueue(context, event, 1024);
    if (!version->api) continue;
    event = a_call(COLL_API, names[i], false);
    stop(start(context, &event));
    want.invisible++;
  }
  for (int i = 0; i < 300; i++) {
    char name[32];
    snprintf(name, sizeof name, "Function%d", i);
    struct event event = a_coll();
    event.func = name;
    enqueue(context, event, 4096);
    memset(name, '#', sizeof name - 1); /* strings are the callback's own */
  }
  finalize(context);
}

static void huge_counts(void) {
  void *context = init();
  struct event event = a_coll();
  event.count = SIZE_MAX;
  for (int i = 0; i < 3; i++) enqueue(context, event, 0);
  event.count = SIZE_MAX / 4;
  enqueue(context, event, 0);
  event = a_p2p(1);
  event.count = SIZE_MAX;
  for (int i = 0; i < 3; i++) enqueue(context, event, 0);
  want.bytes = ANY;
  puts("expect saturated 1");
  finalize(context);
}

#endif
