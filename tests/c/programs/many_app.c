/* An application with more operations than Score-P has memory for: many_app LIBRARY OPERATIONS COMMUNICATORS makes that many all-reduces in each
 * communicator, between user regions. */
#include "../nccl/operations.h"
#ifdef SCOREP_USER_ENABLE
#include <scorep/SCOREP_User.h>
#else
#define SCOREP_USER_REGION_DEFINE(handle)
#define SCOREP_USER_REGION_BEGIN(handle, name, type)
#define SCOREP_USER_REGION_END(handle)
#endif

enum { MOST = 64, AT_A_TIME = 100 };

int main(int count, char **arguments) {
  check(count == 4, "usage: many_app LIBRARY OPERATIONS COMMUNICATORS");
  library_path = arguments[1];
  take_version("6");
  load();
  long operations = atol(arguments[2]), communicators = atol(arguments[3]);
  check(communicators <= MOST, "at most %d communicators", MOST);
  void *contexts[MOST];
  int mask;
  for (long i = 0; i < communicators; i++) contexts[i] = init_as(0xab + (uint64_t)i, NULL, 0, &mask);
  SCOREP_USER_REGION_DEFINE(step)
  for (long number = 0; number < operations; number++) {
    SCOREP_USER_REGION_BEGIN(step, "step", SCOREP_USER_REGION_TYPE_COMMON)
    for (long i = 0; i < communicators; i++) {
      struct event event = a_coll();
      event.comm = 0xab + (uint64_t)i, event.sequence = (uint64_t)number;
      void *operation = start(contexts[i], &event);
      stop(operation);
      event = a_kernel(operation, 0);
      event.ptimer = gpu_clock();
      void *channel = start(contexts[i], &event);
      state(channel, KERNEL_CH_STOP, gpu_clock());
      stop(channel);
    }
    SCOREP_USER_REGION_END(step)
    if (number % AT_A_TIME == 0) flush();
  }
  for (long i = 0; i < communicators; i++) finalize(contexts[i]);
  return 0;
}
