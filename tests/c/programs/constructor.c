/* A library whose constructor, within the loader's lock, calls a function of the program: harm_host's record_and_leave. */
extern void record_and_leave(void) __attribute__((weak));

__attribute__((constructor)) static void construct(void) {
  if (record_and_leave) record_and_leave();
}
