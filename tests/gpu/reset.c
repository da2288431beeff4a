/* What CUDA says of a context that was reset, which the library's events rest on (docs/presets.md): reset LIBCUDART. It prints the number
 * of the primary context, what cuCtxGetId answers when cudaDeviceReset has taken it down, and the number of the one made after that.
 * Compile with gcc -O2 reset.c -ldl. */
#define _GNU_SOURCE
#include "loaded.h"

static int (*reset_device)(void), (*synchronize)(void), (*current)(void **), (*id_of)(void *, unsigned long long *);

static void print(const char *when, void *context) {
  unsigned long long id = 0;
  int error = id_of(context, &id);
  printf("%s: context %p, error %d, number %llu\n", when, context, error, id);
}

int main(int count, char **arguments) {
  if (count < 2) return fprintf(stderr, "usage: reset LIBCUDART\n"), 1;
  void *runtime = library(arguments[1]), *driver = library("libcuda.so.1"), *context = NULL;
  reset_device = symbol(runtime, "cudaDeviceReset"), synchronize = symbol(runtime, "cudaDeviceSynchronize");
  current = symbol(driver, "cuCtxGetCurrent"), id_of = symbol(driver, "cuCtxGetId");
  int (*make)(int) = symbol(runtime, "cudaSetDevice");
  if (make(0) || synchronize() || current(&context)) return fprintf(stderr, "no context\n"), 1;
  print("made", context);
  if (reset_device()) return fprintf(stderr, "no reset\n"), 1;
  print("reset", context);
  if (make(0) || synchronize() || current(&context)) return fprintf(stderr, "no context\n"), 1;
  print("made again", context);
}
