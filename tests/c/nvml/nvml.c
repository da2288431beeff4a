/* A stand-in for NVML, which reads a text file (NVML_STAND_IN_FILE) at each call, so that a test changes its counters while a job runs. A
 * line each:
 *
 *   gpu BUS UUID           a GPU; the lines that follow are its own
 *   data SENT RECEIVED     KiB over all links
 *   raw SENT RECEIVED      the same with headers; without this line, NVML has no such counters
 *   link NUMBER SENT RECEIVED
 *   nvlinks NUMBER RATE    NVLinks that are up, MB/s of each; without this line NVML knows none of their rates
 *   gpm NUMBER SENT RECEIVED   MiB/s over a link, as GPM has it
 *   pcie SENT RECEIVED     kB/s
 *   step SENT RECEIVED     KiB by which the counters of all links grow with each reading
 *   clocks SM MAXIMUM MEMORY   MHz
 *   power POWER LIMIT      mW
 *   temperature DEGREES
 *   use GPU MEMORY         per cent
 *   reasons MASK           hexadecimal: why the clocks are low
 *   pcie_link GENERATION LANES
 *   field NUMBER VALUE [STEP]  any further field of the GPU, which grows by STEP with each reading of the GPU's fields
 *   link_field NUMBER LINK VALUE   any further field of a link
 *   xid NUMBER             an error, once; after nvmlDeviceRegisterEvents
 *   no_events              its events are not supported
 *   refuse                 its NVLinks are not supported
 *   hang                   a reading never returns
 *   hang_in_init           anywhere: nvmlInit never returns
 *   count NUMBER           anywhere: so many GPUs are said to be there
 *
 * What no line gives is not supported. Each call about a GPU adds its name to the file NVML_STAND_IN_CALLS, if there is this variable.
 *
 * The library that is under test has declarations of its own, so these are NVML's as its documentation has them. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, UNKNOWN = 999 };
enum { LINK_COUNT = 91, DATA_TX = 138, DATA_RX, RAW_TX, RAW_RX, LINK_SPEED = 164, LINK_STATE };
enum { GPM_VERSION = 1, GPM_FIRST_LINK = 62, GPM_ROOM = 210 };
enum { GPUS = 8, LINKS = 18, XIDS = 8, UNSIGNED_LONG_LONG = 3 };
static const unsigned ALL = 0xffffffff;

#include "condition.h"

typedef struct { unsigned field, scope; long long timestamp, latency; int type, result; union { double real; unsigned long long whole; } value; } field_value;
typedef struct { char legacy[16]; unsigned domain, bus, device, device_id, subsystem_id; char bus_id[32]; } pci_info;
typedef struct { unsigned version, is_supported; } gpm_support;
typedef struct { uintptr_t gpu, number; } gpm_sample;
typedef struct { unsigned id; int result; double value; const char *names[3]; } gpm_metric;
typedef struct { unsigned version, count; gpm_sample *samples[2]; gpm_metric metrics[GPM_ROOM]; } gpm_request;

struct gpu {
  struct condition condition;
  char bus[24], uuid[96];
  unsigned long long data[2], raw[2], link[LINKS][2], gpm[LINKS][2], pcie[2], step[2], nvlinks[2];
  unsigned long long xid[XIDS];
  int xids;
  bool has_no_events, has_gpm, has_nvlinks, has_data, has_raw, has_link[LINKS], has_pcie, refuses, hangs;
};

static struct gpu gpus[GPUS];
static int count;
static unsigned long long readings[GPUS];
static int condition_readings[GPUS];
static bool hangs_in_init;
static unsigned said;

static void wait_for_ever(void) {
  for (;;) pause();
}

/* Reads the file anew. */
static void look(void) {
  const char *path = getenv("NVML_STAND_IN_FILE");
  FILE *file = path ? fopen(path, "r") : NULL;
  count = 0, hangs_in_init = false, said = 0;
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    struct gpu *gpu = count > 0 ? &gpus[count - 1] : NULL;
    char word[32];
    unsigned long long one = 0, two = 0, three = 0;
    char bus[24] = "", uuid[96] = "";
    if (sscanf(line, "gpu %23s %95s", bus, uuid) == 2) {
      gpu = &gpus[count++];
      memset(gpu, 0, sizeof *gpu);
      strcpy(gpu->bus, bus), strcpy(gpu->uuid, uuid);
    } else if (sscanf(line, "%31s", word) != 1) {
      continue;
    } else if (strcmp(word, "hang_in_init") == 0) {
      hangs_in_init = true;
    } else if (sscanf(line, "count %llu", &one) == 1) {
      said = (unsigned)one;
    } else if (gpu && sscanf(line, "data %llu %llu", &one, &two) == 2) {
      gpu->data[0] = one, gpu->data[1] = two, gpu->has_data = true;
    } else if (gpu && sscanf(line, "raw %llu %llu", &one, &two) == 2) {
      gpu->raw[0] = one, gpu->raw[1] = two, gpu->has_raw = true;
    } else if (gpu && sscanf(line, "link %llu %llu %llu", &one, &two, &three) == 3 && one < LINKS) {
      gpu->link[one][0] = two, gpu->link[one][1] = three, gpu->has_link[one] = true;
    } else if (gpu && sscanf(line, "gpm %llu %llu %llu", &one, &two, &three) == 3 && one < LINKS) {
      gpu->gpm[one][0] = two, gpu->gpm[one][1] = three, gpu->has_gpm = true;
    } else if (gpu && sscanf(line, "pcie %llu %llu", &one, &two) == 2) {
      gpu->pcie[0] = one, gpu->pcie[1] = two, gpu->has_pcie = true;
    } else if (gpu && sscanf(line, "nvlinks %llu %llu", &one, &two) == 2) {
      gpu->nvlinks[0] = one, gpu->nvlinks[1] = two, gpu->has_nvlinks = true;
    } else if (gpu && sscanf(line, "step %llu %llu", &one, &two) == 2) {
      gpu->step[0] = one, gpu->step[1] = two;
    } else if (gpu && gpu->xids < XIDS && sscanf(line, "xid %llu", &one) == 1) {
      gpu->xid[gpu->xids++] = one;
    } else if (gpu && strcmp(word, "no_events") == 0) {
      gpu->has_no_events = true;
    } else if (gpu && condition_line(&gpu->condition, line)) {
      continue;
    } else if (gpu && strcmp(word, "refuse") == 0) {
      gpu->refuses = true;
    } else if (gpu && strcmp(word, "hang") == 0) {
      gpu->hangs = true;
    } else {
      fprintf(stderr, "the stand-in for NVML does not know: %s", line);
      abort();
    }
  }
  fclose(file);
}

static bool initialised;

/* Returns the GPU of a call. */
#define OF(handle) of(handle, __func__)
static struct gpu *of(void *handle, const char *name) {
  const char *path = getenv("NVML_STAND_IN_CALLS");
  FILE *calls = path ? fopen(path, "a") : NULL;
  if (calls) fprintf(calls, "%s\n", name), fclose(calls);
  uintptr_t number = (uintptr_t)handle;
  if (!initialised || number < 1 || number > GPUS) {
    fprintf(stderr, "NVML is called with a handle that is none, or before nvmlInit\n");
    abort();
  }
  look();
  return number <= (uintptr_t)count ? &gpus[number - 1] : NULL;
}

EXPORT const char *nvmlErrorString(int result) {
  return result == SUCCESS ? "Success" : result == NOT_SUPPORTED ? "Not Supported" : result == NOT_FOUND ? "Not Found" : "Unknown Error";
}

EXPORT int nvmlInit_v2(void) {
  look();
  if (hangs_in_init) wait_for_ever();
  initialised = true;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *number) {
  look();
  *number = said ? said : (unsigned)count;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
  look();
  if (index >= (unsigned)count) return INVALID_ARGUMENT;
  *handle = (void *)(uintptr_t)(index + 1);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **handle) {
  look();
  for (int i = 0; i < count; i++) {
    if (strcasecmp(gpus[i].bus, bus) != 0) continue;
    *handle = (void *)(uintptr_t)(i + 1);
    return SUCCESS;
  }
  return NOT_FOUND;
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *handle, pci_info *info) {
  struct gpu *gpu = OF(handle);
  if (!gpu) return UNKNOWN;
  memset(info, 0x55, sizeof *info);
  /* NVML writes the domain with eight digits */
  snprintf(info->bus_id, sizeof info->bus_id, "0000%s", gpu->bus);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length) {
  struct gpu *gpu = OF(handle);
  if (!gpu || strlen(gpu->uuid) + 1 > length) return UNKNOWN;
  strcpy(uuid, gpu->uuid);
  return SUCCESS;
}

EXPORT int nvmlDeviceGetFieldValues(void *handle, int number, field_value *values) {
  struct gpu *gpu = OF(handle);
  if (!gpu) return UNKNOWN;
  if (gpu->hangs) wait_for_ever();
  unsigned long long *reading = &readings[(uintptr_t)handle - 1];
  bool is_whole = number > 0 && values[0].scope == ALL;
  int *of_condition = &condition_readings[(uintptr_t)handle - 1];
  bool is_condition = number > 1 && values[0].field < LINK_COUNT;
  for (int i = 0; i < number; i++) {
    field_value *value = &values[i];
    if (value->field == LINK_COUNT || value->field == LINK_SPEED || value->field == LINK_STATE) {
      bool is_up = gpu->has_nvlinks && (value->field == LINK_COUNT || value->scope < gpu->nvlinks[0]);
      value->type = UNSIGNED_LONG_LONG;
      value->result = is_up ? SUCCESS : gpu->has_nvlinks ? INVALID_ARGUMENT : NOT_SUPPORTED;
      value->value.whole = value->field == LINK_COUNT ? gpu->nvlinks[0] : value->field == LINK_SPEED ? gpu->nvlinks[1] : 1;
      continue;
    }
    int way = value->field == DATA_RX || value->field == RAW_RX;
    bool is_raw = value->field == RAW_TX || value->field == RAW_RX;
    bool is_all = value->scope == ALL;
    bool has = is_all ? (is_raw ? gpu->has_raw : gpu->has_data) : !is_raw && value->scope < LINKS && gpu->has_link[value->scope];
    bool is_known = value->field >= DATA_TX && value->field <= RAW_RX;
    value->type = UNSIGNED_LONG_LONG;
    if (!is_known) {
      value->result = condition_field(&gpu->condition, *of_condition, value->field, value->scope, &value->value.whole);
      continue;
    }
    value->result = has && !gpu->refuses ? SUCCESS : NOT_SUPPORTED;
    value->value.whole = 0;
    if (value->result != SUCCESS) continue;
    value->value.whole = is_all ? (is_raw ? gpu->raw[way] : gpu->data[way]) + *reading * gpu->step[way] : gpu->link[value->scope][way];
  }
  *reading += is_whole, *of_condition += is_condition;
  return SUCCESS;
}

EXPORT int nvmlDeviceGetPcieThroughput(void *handle, unsigned way, unsigned *kilobytes) {
  struct gpu *gpu = OF(handle);
  if (!gpu || way > 1) return INVALID_ARGUMENT;
  if (!gpu->has_pcie) return NOT_SUPPORTED;
  *kilobytes = (unsigned)gpu->pcie[way];
  return SUCCESS;
}

#include "events.h"
#include "sensors.h"

EXPORT int nvmlGpmQueryDeviceSupport(void *handle, gpm_support *support) {
  struct gpu *gpu = OF(handle);
  if (!gpu || support->version != GPM_VERSION) return INVALID_ARGUMENT;
  support->is_supported = gpu->has_gpm;
  return SUCCESS;
}

EXPORT int nvmlGpmSampleAlloc(gpm_sample **sample) {
  *sample = calloc(1, sizeof **sample);
  return *sample ? SUCCESS : UNKNOWN;
}

EXPORT int nvmlGpmSampleFree(gpm_sample *sample) {
  free(sample);
  return SUCCESS;
}

EXPORT int nvmlGpmSampleGet(void *handle, gpm_sample *sample) {
  static uintptr_t samples;
  struct gpu *gpu = OF(handle);
  if (!gpu || !gpu->has_gpm) return NOT_SUPPORTED;
  sample->gpu = (uintptr_t)handle, sample->number = ++samples;
  return SUCCESS;
}

/* Both samples are of one GPU, and the second one is the later. */
EXPORT int nvmlGpmMetricsGet(gpm_request *request) {
  gpm_sample *const *samples = request->samples;
  bool is_right = request->version == GPM_VERSION && request->count <= GPM_ROOM;
  if (!is_right || samples[0]->gpu != samples[1]->gpu || samples[0]->number >= samples[1]->number) return INVALID_ARGUMENT;
  struct gpu *gpu = OF((void *)samples[0]->gpu);
  if (!gpu) return UNKNOWN;
  for (unsigned i = 0; i < request->count; i++) {
    gpm_metric *metric = &request->metrics[i];
    unsigned of_links = metric->id - GPM_FIRST_LINK, link = of_links / 2;
    metric->result = metric->id < GPM_FIRST_LINK || link >= LINKS ? INVALID_ARGUMENT : SUCCESS;
    /* what a link received comes first */
    if (metric->result == SUCCESS) metric->value = (double)gpu->gpm[link][of_links % 2 == 0];
  }
  return SUCCESS;
}
