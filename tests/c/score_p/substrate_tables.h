/* The tables of Score-P's substrate plugin interface, version 3. */
#ifndef SUBSTRATE_TABLES_H
#define SUBSTRATE_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SUBSTRATE_EVENTS = 83, EVENT_PROGRAM_BEGIN = 63, EVENT_PROGRAM_END = 64 };

/* Requirements a plugin may have. */
enum { NEEDS_DIRECTORY, PREVENTS_ASYNCHRONOUS, PREVENTS_PER_HOST, REQUIREMENTS };

struct SCOREP_Location;
struct substrate_callbacks;
typedef void (*function)(void);

/* What Score-P's plugin interface calls SCOREP_SubstratePluginInfo. */
struct substrate_plugin {
  uint32_t version;
  int (*init)(void);
  void (*assign_id)(size_t);
  void (*init_mpp)(void);
  void (*finalize)(void);
  void (*create_location)(const struct SCOREP_Location *, const struct SCOREP_Location *);
  void (*activate_cpu_location)(const struct SCOREP_Location *, const struct SCOREP_Location *, uint32_t);
  void (*deactivate_cpu_location)(const struct SCOREP_Location *, const struct SCOREP_Location *);
  void (*delete_location)(const struct SCOREP_Location *);
  void (*pre_unify)(void);
  void (*write_data)(void);
  function core_task_create, core_task_complete, new_definition_handle;
  uint32_t (*get_event_functions)(int, function **);
  void (*set_callbacks)(const struct substrate_callbacks *, size_t);
  bool (*get_requirement)(int);
  void (*dump_manifest)(FILE *, const char *, const char *);
  function undeclared[99];
};
_Static_assert(sizeof(struct substrate_plugin) == 936, "8.4's size");

/* What a plugin is given: SCOREP_SubstratePluginCallbacks. */
struct substrate_callbacks {
  const char *(*directory)(void);
  int (*size)(void), (*rank)(void);
  int (*send)(const void *, int, int, int), (*receive)(void *, int, int, int);
  int (*barrier)(void);
  int (*broadcast)(void *, int, int, int);
  int (*gather)(const void *, void *, int, int, int);
  int (*gatherv)(const void *, int, void *, const int *, int, int);
  int (*allgather)(const void *, void *, int, int);
  int (*reduce)(const void *, void *, int, int, int, int);
  int (*allreduce)(const void *, void *, int, int, int);
  int (*scatter)(const void *, void *, int, int, int);
  int (*scatterv)(const void *, const int *, void *, int, int, int);
  /* of locations, metrics, paradigms, regions and so on */
  function others[37];
  void (*section_header)(FILE *, const char *);
  void (*section_entry)(FILE *, const char *, const char *, ...);
};
_Static_assert(sizeof(struct substrate_callbacks) == 424, "8.4's size");

#endif
