/* Collectives that NCCL enqueues, for the hosts that play a job. */
#ifndef ENQUEUED_H
#define ENQUEUED_H

#include "../nccl/operations.h"

/* A collective as NCCL enqueues it: its call in a group, the launch of its kernel, and the operation. */
static void *enqueued(void *context, struct event event) {
  void *group = NULL;
  if (version->api) {
    struct event api = {.type = GROUP_API, .rank = event.rank};
    group = start(context, &api);
    state_alone(group, GROUP_START_RETURNS);
    api = a_call(COLL_API, event.func, false);
    api.parent = group, api.count = event.count;
    event.parent = start(context, &api);
    stop(event.parent);
    state_alone(group, GROUP_END_BEGINS);
    api = (struct event){.type = KERNEL_LAUNCH, .parent = group, .rank = event.rank};
    stop(start(context, &api));
  }
  void *operation = start(context, &event);
  stop(operation);
  if (group) stop(group);
  return operation;
}

#endif
