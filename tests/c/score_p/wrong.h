/* The stand-in itself: what it must take, and what it must abort at, as Score-P does. wrong 0 is right, and tells how many others
 * there are. */
#ifndef WRONG_H
#define WRONG_H

#include "host_regions.h"

static struct SCOREP_Location *(*new_location)(void *, int, int, const char *, uint32_t);
static uint32_t (*location_group)(void);
static void (*enter_at)(void *, uint64_t, uint32_t), (*leave_at)(void *, uint64_t, uint32_t);
static void (*count_at)(void *, uint64_t, uint32_t, uint64_t), (*attribute_at)(void *, uint32_t, const void *);
static uint32_t (*new_string)(const char *), (*new_attribute)(const char *, const char *, int);
static uint32_t (*new_metric)(const char *, const char *, int, int, int, int, int64_t, const char *, int, uint32_t);
static uint32_t (*new_sampling_set)(uint8_t, const uint32_t *, int, int);

static struct SCOREP_Location *at;
static uint32_t region, other_region, set, number_attribute, string_attribute;

static struct SCOREP_Location *lane(void) { return new_location(NULL, GPU_LOCATION, PARADIGM_CUDA, "lane", location_group()); }

static void define_all(void) {
  void *file = dlopen(measurement_path, RTLD_NOW | RTLD_GLOBAL);
#define FIND(name, theirs) *(void **)&name = symbol(file, "SCOREP_" theirs)
  FIND(new_location, "Location_CreateNonCPULocation"), FIND(location_group, "GetProcessLocationGroup");
  FIND(enter_at, "Location_EnterRegion"), FIND(leave_at, "Location_ExitRegion");
  FIND(count_at, "Location_TriggerCounterUint64"), FIND(attribute_at, "Location_AddAttribute");
  FIND(new_string, "Definitions_NewString"), FIND(new_attribute, "Definitions_NewAttribute");
  FIND(new_metric, "Definitions_NewMetric"), FIND(new_sampling_set, "Definitions_NewSamplingSet");
  region = new_region("one", NULL, 0, 0, 0, PARADIGM_CUDA, 13), other_region = new_region("other", NULL, 0, 0, 0, PARADIGM_CUDA, 13);
  uint32_t metric = new_metric("metric", "", 5, 7, VALUE_UINT64, 1, 0, "B", 0, 0);
  set = new_sampling_set(1, &metric, 2, 2);
  number_attribute = new_attribute("number", "", ATTRIBUTE_UINT64), string_attribute = new_attribute("string", "", ATTRIBUTE_STRING);
  at = lane();
}

static void all_right(void) {
  uint64_t sequence = 7;
  uint32_t ring = new_string("RING");
  check(ring == new_string("RING"), "a string is defined once");
  attribute_at(at, number_attribute, &sequence), attribute_at(at, string_attribute, &ring);
  count_at(at, 10, set, 4), enter_at(at, 10, region), count_at(at, 10, set, 5), enter_at(at, 11, other_region);
  leave_at(at, 11, other_region), leave_at(at, 12, region);
  /* what is made while recording is off vanishes */
  stand_in.switch_recording(false);
  enter_at(at, 1, region), leave_at(at, 2, region);
  stand_in.switch_recording(true);
}

static void time_falls(void) { enter_at(at, 10, region), leave_at(at, 9, region); }
static void counter_in_the_past(void) { enter_at(at, 10, region), leave_at(at, 20, region), count_at(at, 19, set, 1); }
static void leaves_another(void) { enter_at(at, 1, region), leave_at(at, 2, other_region); }
static void leaves_none(void) { leave_at(at, 2, region); }
static void stays_inside(void) { enter_at(at, 1, region); }
static void metric_for_a_set(void) { count_at(at, 1, set - 1, 1); }
static void no_such_set(void) { count_at(at, 1, 99, 1); }
static void no_such_region(void) { enter_at(at, 1, 0); }
static void no_such_location(void) { enter_at(&region, 1, region); }
static void no_such_group(void) { new_location(NULL, GPU_LOCATION, PARADIGM_CUDA, "lane", 0); }
static void a_thread_s_location(void) { new_location(NULL, CPU_LOCATION, NO_PARADIGM, "lane", location_group()); }
static void attributes_for_nobody(void) { uint64_t one = 1; attribute_at(at, number_attribute, &one); }
static void string_never_defined(void) { uint32_t none = 99; attribute_at(at, string_attribute, &none); }
static void out_of_memory(void) { for (;;) lane(); }
static void too_late(void) { next_phase(AFTER), next_phase(UNIFIED), enter_at(at, 1, region); }
static void region_of_an_unknown_thread(void) { on_thread((void *(*)(void *))(void (*)(void))enter_region, (void *)(uintptr_t)region); }

static void *writes(void *unused) { return enter_at(at, 1, region), unused; }
static void another_thread(void) { on_thread(writes, NULL); }

static void (*const wrongs[])(void) = {
  all_right, time_falls, counter_in_the_past, leaves_another, leaves_none, stays_inside, metric_for_a_set, no_such_set, no_such_region,
  no_such_location, no_such_group, a_thread_s_location, attributes_for_nobody, string_never_defined, out_of_memory, too_late,
  region_of_an_unknown_thread, another_thread,
};

static void wrong(void) {
  long count = sizeof wrongs / sizeof *wrongs;
  printf("wrongs\t%ld\n", count - 1);
  check(number < count, "nothing is that wrong");
  score_p_clock.offset = 0;
  begin_measurement();
  define_all();
  wrongs[number]();
}

/* Lanes that the host writes itself, in the library's place: right with 0, wrong with any other number. The test must find that. */
enum { RIGHT, LATE, LONG, OTHER_BYTES, NO_BYTES, OTHER_TIMING, OTHER_SEQUENCE, MISSING, TWICE, OTHER_LANE, FLAWS };

static void write_own(const struct operation *it, uint32_t function, const uint32_t *attributes, const uint32_t *values) {
  bool flawed = it->sequence == 3;
#define FLAW(which) (flawed && number == (which))
  uint64_t begin = shown(&score_p_clock, it->begin) + (FLAW(LATE) ? 3000 : 0);
  uint64_t end = shown(&score_p_clock, it->end) + (FLAW(LONG) ? 3000 : FLAW(LATE) ? 3000 : 0);
  uint64_t sequence = it->sequence + FLAW(OTHER_SEQUENCE), bytes = 4 * it->count + FLAW(OTHER_BYTES);
  if (FLAW(MISSING)) return;
  for (int times = 1 + FLAW(TWICE); times > 0; times--, begin = end, end++) {
    attribute_at(at, number_attribute, &sequence);
    for (int i = 0; i < 3; i++) attribute_at(at, attributes[i], &values[i + (i == 0 && FLAW(OTHER_TIMING))]);
    enter_at(at, begin, function);
    if (!FLAW(NO_BYTES)) count_at(at, begin, set, bytes);
    leave_at(at, end, function);
  }
}

static void own_lanes(void) {
  printf("wrongs\t%d\n", FLAWS - 1);
  setenv("SCOREP_METRIC_PLUGINS", "", 1);
  begin_measurement();
  define_all();
  uint32_t function = new_region("ncclAllReduce", NULL, 0, 0, 0, PARADIGM_CUDA, 13);
  uint32_t metric = new_metric("nccl_op_bytes", "", 5, 7, VALUE_UINT64, 1, 0, "B", 0, 0);
  set = new_sampling_set(1, &metric, 2, 2);
  const char *const names[] = {"nccl_timing", "nccl_algorithm", "nccl_protocol"};
  uint32_t attributes[3], values[] = {new_string("stamps"), new_string("RING"), new_string("LL")};
  for (int i = 0; i < 3; i++) attributes[i] = new_attribute(names[i], "", ATTRIBUTE_STRING);
  number_attribute = new_attribute("nccl_sequence", "", ATTRIBUTE_UINT64);
  const char *name = number == OTHER_LANE ? "NCCL 0000000000001a2b rank 1" : "NCCL 0000000000001a2b rank 0";
  at = new_location(NULL, GPU_LOCATION, PARADIGM_CUDA, name, location_group());
  struct communicator of = {.id = 0x1a2b, .ranks = 2};
  for (uint64_t i = 0; i < 10; i++) {
    uint64_t begin = now() + i * MILLISECONDS;
    struct operation *it = add(all_reduce(&of, 1000, begin, begin + MILLISECONDS / 2));
    print_truth(it);
    write_own(it, function, attributes, values);
  }
  advance_to(now() + SECONDS);
}

/* The host itself: true time goes on from process to process, and the functions between them say what they should. */
static void between(void) {
  ipc_open = true;
  const struct substrate_callbacks *score_p = substrate_callbacks();
  int rank = score_p->rank(), size = score_p->size(), ranks[MOST_RANKS], counts[MOST_RANKS], sum = 0;
  advance_to(now() + (uint64_t)rank * SECONDS);
  check(score_p->allgather(&rank, ranks, 1, 3) == 0, "allgather");
  for (int i = 0; i < size; i++) check(ranks[i] == i, "rank %d", i), counts[i] = i;
  score_p->allreduce(&rank, &sum, 1, 3, SUM);
  check(sum == size * (size - 1) / 2, "sum %d", sum);
  uint64_t own = (uint64_t)rank + 5, least = 0;
  score_p->allreduce(&own, &least, 1, 8, MIN);
  check(least == 5, "least %lu", (unsigned long)least);
  char mine[MOST_RANKS], all[MOST_RANKS * MOST_RANKS] = "";
  memset(mine, 'a' + rank, sizeof mine);
  score_p->gatherv(mine, rank, all, counts, 1, size - 1);
  check(rank != size - 1 || strcmp(all, "bccddd") == 0, "gathered %s", all);
  int told = rank == 2 ? 42 : 0;
  score_p->broadcast(&told, 1, 3, 2);
  check(told == 42, "told %d", told);
  for (int i = 0; i < size; i++) ranks[i] = 10 * i;
  score_p->scatter(rank == 1 ? ranks : NULL, &told, 1, 3, 1);
  check(told == 10 * rank, "scattered %d", told);
  check(now() >= BEGIN_OF_TIME + (uint64_t)(size - 1) * SECONDS, "time is behind");
  for (int i = 0; i < 20 && rank < 2; i++) {
    uint64_t sent = now();
    if (rank == 0) score_p->send(&sent, 1, 8, 1), score_p->receive(&sent, 1, 8, 1);
    else score_p->receive(&sent, 1, 8, 0), score_p->send(&sent, 1, 8, 0), check(now() > sent, "a message arrives before it is sent");
  }
  score_p->barrier();
  exit(0);
}

#endif
