/* CUDA's runtime and NCCL for programs that load both at run time (tests/gpu): every function succeeds and does
 * nothing, so that the programs themselves run on machines without GPUs. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct unique_id {
  char bytes[128];
};

/* A handle or an address that nobody follows. */
static int make(void **made) {
  static char anything;
  *made = &anything;
  return 0;
}

int cudaSetDevice(int device) { return device < 0; }
int cudaMalloc(void **made, size_t size) { return size == 0 || make(made); }
int cudaStreamCreateWithFlags(void **made, unsigned flags) { return (void)flags, make(made); }
int cudaStreamSynchronize(void *stream) { return stream == NULL; }

int ncclGetUniqueId(struct unique_id *id) { return memset(id->bytes, 7, sizeof id->bytes), 0; }
/* Fails where the id is not that of all ranks. */
int ncclCommInitRank(void **made, int ranks, struct unique_id id, int rank) {
  return rank < 0 || rank >= ranks || id.bytes[0] != 7 || id.bytes[127] != 7 || make(made);
}
int ncclCommDestroy(void *comm) { return comm == NULL; }
int ncclGroupStart(void) { return 0; }
int ncclGroupEnd(void) { return 0; }
int ncclAllReduce(const void *from, void *to, size_t count, int type, int operation, void *comm, void *stream) {
  return (void)from, (void)to, (void)type, (void)operation, !count || !comm || !stream;
}
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, void *comm, void *stream) {
  return (void)from, (void)to, (void)type, (void)root, !count || !comm || !stream;
}
int ncclAllGather(const void *from, void *to, size_t count, int type, void *comm, void *stream) {
  return (void)from, (void)to, (void)type, !count || !comm || !stream;
}
int ncclSend(const void *from, size_t count, int type, int peer, void *comm, void *stream) {
  return (void)from, (void)type, (void)peer, !count || !comm || !stream;
}
int ncclRecv(void *to, size_t count, int type, int peer, void *comm, void *stream) {
  return (void)to, (void)type, (void)peer, !count || !comm || !stream;
}
