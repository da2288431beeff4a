/* A stand-in for the part of CUDA's driver that names the current GPU of a thread: its place on the PCI bus is CUDA_STAND_IN_GPU, or none
 * is current. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201, ORDINAL = 3 };

EXPORT int cuCtxGetDevice(int *device) {
  if (!getenv("CUDA_STAND_IN_GPU")) return INVALID_CONTEXT;
  *device = ORDINAL;
  return SUCCESS;
}

EXPORT int cuDeviceGetPCIBusId(char *bus, int length, int device) {
  const char *own = getenv("CUDA_STAND_IN_GPU");
  if (!own || device != ORDINAL || (size_t)length <= strlen(own)) return INVALID_VALUE;
  strcpy(bus, own);
  return SUCCESS;
}
