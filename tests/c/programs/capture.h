/* A capture (tests/captures/README.md) in memory: its calls in the order made, as the events of interface.h. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "../nccl/plugin.h"

/* OTHER is what is no call. */
enum call_kind { INIT, START, STATE, STOP, FINALIZE, OTHER };

/* One recorded callback. What the recording plugin gave out is named by the recording's numbers. */
struct call {
  enum call_kind kind;
  uint64_t time; /* ns since the recording began */
  uint32_t thread;
  uint32_t context;
  uint64_t handle, parent;
  int state;
  bool has_argument;
  uint64_t argument;
  int nodes, ranks;
  struct event event; /* without its parent */
};

struct capture {
  char *text; /* all strings of the calls lie in it */
  int api;
  pid_t pid;
  struct call *calls;
  size_t count;
  uint64_t handles;  /* one more than the largest number of a handle */
  uint32_t contexts; /* and of a context */
};

static uint64_t type_bit(const char *name) {
  static const char *const names[] = {"Group",    "Coll",     "P2p",     "ProxyOp", "ProxyStep",    "ProxyCtrl", "KernelCh", "NetPlugin",
                                      "GroupApi", "CollApi",  "P2pApi",  "KernelLaunch", "CeColl", "CeSync",    "CeBatch",  "KernelPhase"};
  for (int bit = 0; bit < 16; bit++)
    if (strcmp(names[bit], name) == 0) return 1ULL << bit;
  return strtoull(name, NULL, 0);
}

static enum call_kind kind_of(const char *name) {
  static const char *const names[] = {"init", "start", "state", "stop", "finalize"};
  for (int kind = INIT; kind < OTHER; kind++)
    if (strcmp(names[kind], name) == 0) return (enum call_kind)kind;
  return OTHER;
}

/* Takes one field of a line. */
static void take_field(struct capture *capture, struct call *call, const char *name, char *value) {
#define TEXT(key, place) if (strcmp(name, key) == 0) { call->event.place = value; return; }
#define NUMBER(key, place) if (strcmp(name, key) == 0) { place = (__typeof__(place))strtoull(value, NULL, 10); return; }
  TEXT("name", comm_name) TEXT("func", func) TEXT("dtype", datatype) TEXT("algo", algorithm) TEXT("proto", protocol)
  NUMBER("t", call->time) NUMBER("tid", call->thread) NUMBER("ctx", call->context) NUMBER("h", call->handle) NUMBER("parent", call->parent)
  NUMBER("state", call->state) NUMBER("nnodes", call->nodes) NUMBER("nranks", call->ranks)
  NUMBER("rank", call->event.rank) NUMBER("seq", call->event.sequence) NUMBER("count", call->event.count) NUMBER("root", call->event.root)
  NUMBER("peer", call->event.peer) NUMBER("nch", call->event.channels) NUMBER("graph", call->event.captured) NUMBER("ch", call->event.channel)
  NUMBER("nsteps", call->event.steps) NUMBER("send", call->event.send) NUMBER("step", call->event.step) NUMBER("ptimer", call->event.ptimer)
  NUMBER("pid", call->event.pid)
  NUMBER("api", capture->api)
  if (strcmp(name, "arg") == 0) call->has_argument = true, call->argument = strtoull(value, NULL, 10);
  if (strcmp(name, "type") == 0) call->event.type = type_bit(value);
  if (strcmp(name, "comm") == 0) call->event.comm = strtoull(value, NULL, 16);
  if (strcmp(name, "cb") == 0) call->kind = kind_of(value);
#undef TEXT
#undef NUMBER
}

/* Takes a line apart where it lies: an object of numbers and strings without escapes. */
static void take_line(struct capture *capture, struct call *call, char *line) {
  char *at = line + 1;
  while (*at && *at != '}') {
    char *name = at + 1, *end = strstr(name, "\":");
    check(*at == '"' && end != NULL, "no field: %s", at);
    *end = 0;
    char *value = end + 2;
    bool is_text = *value == '"';
    value += is_text;
    end = value + strcspn(value, is_text ? "\"" : ",}");
    bool is_last = end[is_text] == '}';
    check(*end != 0 && !memchr(value, '\\', (size_t)(end - value)), "no value: %s", value);
    *end = 0;
    take_field(capture, call, name, value);
    if (is_last) return;
    at = end + is_text + 1;
  }
}

/* The file's text, unpacked. */
static char *unpacked(const char *path) {
  char command[4200];
  check(!strchr(path, '\'') && snprintf(command, sizeof command, "gzip -dc '%s'", path) < (int)sizeof command, "path %s", path);
  FILE *pipe = popen(command, "r");
  check(pipe != NULL, "no gzip");
  size_t size = 0, room = 1 << 20;
  char *text = malloc(room);
  for (size_t got; text && (got = fread(text + size, 1, room - size - 1, pipe)) > 0;) {
    size += got;
    if (room - size < 2) text = realloc(text, room *= 2);
  }
  check(text != NULL && pclose(pipe) == 0 && size > 0, "%s cannot be read", path);
  text[size] = 0;
  return text;
}

static struct capture read_capture(const char *path) {
  struct capture capture = {.text = unpacked(path)};
  size_t lines = 0;
  for (const char *at = capture.text; (at = strchr(at, '\n')); at++) lines++;
  capture.calls = calloc(lines, sizeof *capture.calls);
  check(capture.calls != NULL, "no memory for %zu calls", lines);
  char *rest = capture.text, *line = strsep(&rest, "\n");
  struct call first = {0};
  take_line(&capture, &first, line);
  capture.pid = first.event.pid; /* of other lines it is the process that a proxy operation is for */
  while ((line = strsep(&rest, "\n")) && *line) {
    struct call *call = &capture.calls[capture.count];
    *call = (struct call){0};
    take_line(&capture, call, line);
    if (call->kind == OTHER) continue;
    capture.count++;
    if (call->handle >= capture.handles) capture.handles = call->handle + 1;
    if (call->context >= capture.contexts) capture.contexts = call->context + 1;
  }
  check(capture.count > 0 && capture.handles <= 1 << 24, "%s: %zu calls, %llu handles", path, capture.count, (unsigned long long)capture.handles);
  return capture;
}

#endif
