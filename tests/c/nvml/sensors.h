/* NVML's functions about the condition of a GPU, for nvml.c. With OLD_DRIVER, the reasons have their older name. */
#ifndef NVML_SENSORS_H
#define NVML_SENSORS_H

enum { CLOCK_SM = 1, CLOCK_MEMORY };
typedef struct { unsigned gpu, memory; } utilization;

static int give(bool has, unsigned value, unsigned *to) {
  if (has) *to = value;
  return has ? SUCCESS : NOT_SUPPORTED;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length) {
  if (length < sizeof driver) return INVALID_ARGUMENT;
  strcpy(version, driver);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetClockInfo(void *handle, int type, unsigned *clock) {
  struct gpu *gpu = OF(handle);
  if (!gpu || (type != CLOCK_SM && type != CLOCK_MEMORY)) return INVALID_ARGUMENT;
  return give(gpu->condition.has_clocks, gpu->condition.clocks[type == CLOCK_SM ? 0 : 2], clock);
}

EXPORT int nvmlDeviceGetMaxClockInfo(void *handle, int type, unsigned *clock) {
  struct gpu *gpu = OF(handle);
  if (!gpu || type != CLOCK_SM) return INVALID_ARGUMENT;
  return give(gpu->condition.has_clocks, gpu->condition.clocks[1], clock);
}

EXPORT int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *temperature) {
  struct gpu *gpu = OF(handle);
  if (!gpu || sensor != 0) return INVALID_ARGUMENT;
  return give(gpu->condition.has_temperature, gpu->condition.temperature, temperature);
}

EXPORT int nvmlDeviceGetUtilizationRates(void *handle, utilization *rates) {
  struct gpu *gpu = OF(handle);
  if (!gpu || !gpu->condition.has_use) return NOT_SUPPORTED;
  rates->gpu = gpu->condition.use[0], rates->memory = gpu->condition.use[1];
  return SUCCESS;
}

EXPORT int nvmlDeviceGetPowerUsage(void *handle, unsigned *power) {
  struct gpu *gpu = OF(handle);
  return gpu ? give(gpu->condition.has_power, gpu->condition.power[0], power) : UNKNOWN;
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *handle, unsigned *limit) {
  struct gpu *gpu = OF(handle);
  return gpu ? give(gpu->condition.has_power, gpu->condition.power[1], limit) : UNKNOWN;
}

EXPORT int nvmlDeviceGetCurrPcieLinkGeneration(void *handle, unsigned *generation) {
  struct gpu *gpu = OF(handle);
  return gpu ? give(gpu->condition.has_pcie, gpu->condition.pcie[0], generation) : UNKNOWN;
}

EXPORT int nvmlDeviceGetCurrPcieLinkWidth(void *handle, unsigned *width) {
  struct gpu *gpu = OF(handle);
  return gpu ? give(gpu->condition.has_pcie, gpu->condition.pcie[1], width) : UNKNOWN;
}

#ifdef OLD_DRIVER
#define REASONS nvmlDeviceGetCurrentClocksThrottleReasons
#else
#define REASONS nvmlDeviceGetCurrentClocksEventReasons
#endif
EXPORT int REASONS(void *handle, unsigned long long *reasons) {
  struct gpu *gpu = OF(handle);
  if (!gpu || !gpu->condition.has_reasons) return NOT_SUPPORTED;
  *reasons = gpu->condition.reasons;
  return SUCCESS;
}

#endif
