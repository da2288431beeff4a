/* CUDA's driver as the host has it: the stand-in (cuda_driver.c), loaded before NCCL's plugin as a program's CUDA is. And the callbacks in
 * which the library may call it. */
#ifndef DRIVER_H
#define DRIVER_H

#include "cuda_driver.h"
#include "../nccl/plugin.h"

/* NULL where the program has no CUDA. */
static const struct driver_control *driver;

static void load_driver(const char *path) {
  void *loaded = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  check(loaded != NULL, "%s", dlerror());
  check(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) == loaded, "the stand-in is not what the library will find");
  const struct driver_control *(*control)(void) = (const struct driver_control *(*)(void))dlsym(loaded, "driver_control");
  check(control != NULL, "%s is no stand-in", path);
  driver = control();
}

/* Events of a stream of the library's own. */
enum { OF_OWN = 3 };

/* All calls of the library's so far. */
static inline uint64_t driver_calls(void) {
  uint64_t calls = 0;
  for (int i = 0; driver && i < DRIVER_FUNCTION_COUNT; i++) calls += driver->calls((enum driver_function)i);
  return calls;
}

/* The thread lives with captures as before when the library has called CUDA. */
static enum capture_mode mode_before(void) { return driver ? driver->mode() : CAPTURE_GLOBAL; }
static bool is_mode_kept = true; /* but where it cannot be set */
static void check_mode(enum capture_mode before) {
  enum capture_mode after = mode_before();
  check(!is_mode_kept || after == before, "the thread lives with captures by mode %d, not %d", after, before);
}

/* Starts an event, of which NCCL tells the stream, and what a group of calls is. */
static void *start_on(void *context, const struct event *event, void *stream) {
  void *handle = GARBAGE;
  char *descriptor = at_the_edge(descriptor_size(version));
  put_descriptor(event, descriptor, version);
  char *payload = descriptor + offsetof(struct descriptor, payload);
  switch (event->type) {
    case COLL_API: memcpy(payload + offsetof(struct coll_api, stream), &stream, sizeof stream); break;
    case P2P_API: memcpy(payload + offsetof(struct p2p_api, stream), &stream, sizeof stream); break;
    case KERNEL_LAUNCH: memcpy(payload, &stream, sizeof stream); break;
    case CE_COLL: memcpy(payload + offsetof(struct ce_coll, stream), &stream, sizeof stream); break;
    case GROUP_API: memcpy(payload, &(struct group_api){event->captured, 1}, sizeof(struct group_api)); break;
    default: break;
  }
  enum capture_mode mode = mode_before();
  int result = table.start(context, &handle, descriptor);
  check(result == 0 && handle != GARBAGE, "start of type 0x%llx: %d, handle %p", (unsigned long long)event->type, result, handle);
  check_mode(mode);
  want.callbacks++;
  want.events++;
  return handle;
}

/* Stops it, or tells of its state. */
static inline void stop_on(void *handle) {
  enum capture_mode mode = mode_before();
  if (handle) stop(handle);
  check_mode(mode);
}

static inline void state_on(void *handle, int number) {
  enum capture_mode mode = mode_before();
  if (handle) state_alone(handle, number);
  check_mode(mode);
}

#endif
