/* What the host tells the stand-in for Score-P's measurement library (scorep_measurement.c) beside Score-P's own functions. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdbool.h>
#include <stdint.h>

/* How a measurement is set up. */
struct set_up {
  uint64_t (*clock)(void);
  bool tracing, profiling;
  uint64_t memory; /* SCOREP_TOTAL_MEMORY, bytes */
};

/* Phases of a measurement. Score-P knows the first three; from UNIFIED on nothing more is recorded. */
enum phase { BEFORE = -1, WITHIN = 0, AFTER = 1, UNIFIED = 2 };

/* Score-P's constants, as of 8.4. */
enum { CPU_LOCATION, GPU_LOCATION, METRIC_LOCATION };
enum { PARADIGM_USER = 1, PARADIGM_CUDA = 11, NO_PARADIGM = 17 };
enum { REGION_USER = 3, LAST_REGION_TYPE = 47 };
enum { ATTRIBUTE_UINT64 = 7, ATTRIBUTE_STRING = 10 };
enum { VALUE_UINT64 = 1 };

/* The stand-in's own functions: exported as stand_in_NAME, found with dlsym. A thread is known from `know_thread` on; the one that
 * begins is. */
#define STAND_IN(X)                                                                                                              \
  X(begin, (const struct set_up *set_up))                                                                                        \
  X(enter_phase, (enum phase phase))                                                                                             \
  X(know_thread, (const char *name))                                                                                             \
  X(switch_recording, (bool on))                                                                                                 \
  X(flush, (void))                                                                                                               \
  X(print, (void))

#endif
