/* What an instrumented program pays for an enter or a leave: a loop of empty user regions, timed in pieces by the thread's own CPU
 * time. Prints nanoseconds an event of the fastest piece. */
#include <scorep/SCOREP_User.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double nanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s PIECES REGIONS\n", arguments[0]);
    return 2;
  }
  int pieces = atoi(arguments[1]), regions = atoi(arguments[2]);
  double fastest = 1e300;
  SCOREP_USER_REGION_DEFINE(region)
  for (int piece = 0; piece < pieces; piece++) {
    double start = nanoseconds();
    for (int i = 0; i < regions; i++) {
      SCOREP_USER_REGION_BEGIN(region, "region", SCOREP_USER_REGION_TYPE_COMMON)
      SCOREP_USER_REGION_END(region)
    }
    double taken = nanoseconds() - start;
    if (taken < fastest) fastest = taken;
  }
  printf("%.2f\n", fastest / (2.0 * regions));
  return 0;
}
