/* Preloaded, a resolver that never answers: of a name server that is gone for good, or a directory service that hangs. */
#include <netdb.h>
#include <unistd.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  (void)name, (void)service, (void)hints, (void)found;
  for (;;) pause();
}
