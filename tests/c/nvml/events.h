/* NVML's events, for nvml.c: the Xids of registered GPUs, once each, from the second question on. */
#ifndef NVML_EVENTS_H
#define NVML_EVENTS_H

enum { TIMEOUT = 10, XID = 8 };
typedef struct { void *device; unsigned long long type, data; unsigned gpu_instance, compute_instance; } event_data;
typedef struct { bool has[GPUS]; int given[GPUS], questions; } event_set;

EXPORT int nvmlEventSetCreate(event_set **set) {
  *set = calloc(1, sizeof **set);
  return *set ? SUCCESS : UNKNOWN;
}

EXPORT int nvmlEventSetFree(event_set *set) {
  free(set);
  return SUCCESS;
}

EXPORT int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, event_set *set) {
  struct gpu *gpu = OF(handle);
  if (!gpu || types != XID) return INVALID_ARGUMENT;
  if (gpu->has_no_events) return NOT_SUPPORTED;
  set->has[(uintptr_t)handle - 1] = true;
  return SUCCESS;
}

EXPORT int nvmlEventSetWait_v2(event_set *set, event_data *data, unsigned milliseconds) {
  /* of 0, NVML's documentation says nothing */
  if (milliseconds == 0) return INVALID_ARGUMENT;
  look();
  if (set->questions++ == 0) return TIMEOUT;
  for (int i = 0; i < count; i++) {
    if (!set->has[i] || set->given[i] >= gpus[i].xids) continue;
    *data = (event_data){(void *)(uintptr_t)(i + 1), XID, gpus[i].xid[set->given[i]++], ~0u, ~0u};
    return SUCCESS;
  }
  return TIMEOUT;
}

#endif
