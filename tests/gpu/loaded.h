/* Libraries that are loaded at run time, so that neither CUDA nor NCCL need be installed where a program is compiled. */
#ifndef LOADED_H
#define LOADED_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (!handle) fprintf(stderr, "%s\n", dlerror()), exit(1);
  return handle;
}

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found) fprintf(stderr, "no %s\n", name), exit(1);
  return found;
}

#endif
