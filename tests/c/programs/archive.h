/*
 * The definitions of an archive, as otf2_last_values keeps them, and the metrics on one of its locations. Whatever fails ends the
 * program.
 */

#ifndef ARCHIVE_H
#define ARCHIVE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <otf2/otf2.h>

/* A named thing: string, location group, location or metric member; `other` is what it refers to. */
struct named {
    uint64_t ref;
    char *text;
    uint64_t other;
    OTF2_Type type;
};

/* A metric class with its members, or an instance, which has those of its class. */
struct metric {
    OTF2_MetricRef ref;
    OTF2_MetricMemberRef *members;
    uint8_t count;
};

/* One metric on the location that is being read. */
struct column {
    OTF2_MetricRef metric;
    const struct named *member;
    uint64_t count;
    OTF2_MetricValue last;
    bool monotone;
};

/* A list of any of these. */
struct list {
    void *items;
    size_t count;
    size_t room;
};

struct archive {
    struct list strings, groups, locations, members, metrics, columns;
};

static void
fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("otf2_last_values: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void
check(OTF2_ErrorCode code, const char *call)
{
    if (code != OTF2_SUCCESS) {
        fail("%s: %s", call, OTF2_Error_GetDescription(code));
    }
}

#define CHECK(call) check((call), #call)

static void *
not_null(void *pointer, const char *what)
{
    if (pointer == NULL) {
        fail("%s failed", what);
    }
    return pointer;
}

/* A new item at the end of a list. */
static void *
append(struct list *list, size_t size)
{
    if (list->count == list->room) {
        list->room = list->room == 0 ? 16 : 2 * list->room;
        list->items = not_null(realloc(list->items, list->room * size), "realloc");
    }
    return (char *)list->items + list->count++ * size;
}

static void
append_named(struct list *list, uint64_t ref, const char *text, uint64_t other, OTF2_Type type)
{
    char *copy = not_null(malloc(strlen(text) + 1), "malloc");
    struct named *item = append(list, sizeof *item);
    *item = (struct named){ ref, strcpy(copy, text), other, type };
}

static const struct named *
find(const struct list *list, uint64_t ref, const char *what)
{
    const struct named *items = list->items;
    for (size_t i = 0; i < list->count; i++) {
        if (items[i].ref == ref) {
            return &items[i];
        }
    }
    fail("%s %" PRIu64 " is not defined", what, ref);
    return NULL;
}

static const char *
string(const struct archive *archive, OTF2_StringRef ref)
{
    return ref == OTF2_UNDEFINED_STRING ? "" : find(&archive->strings, ref, "string")->text;
}

static const struct metric *
find_metric(const struct archive *archive, OTF2_MetricRef ref)
{
    const struct metric *metrics = archive->metrics.items;
    for (size_t i = 0; i < archive->metrics.count; i++) {
        if (metrics[i].ref == ref) {
            return &metrics[i];
        }
    }
    fail("metric %" PRIu32 " is not defined", ref);
    return NULL;
}

static void
append_metric(struct archive *archive, OTF2_MetricRef ref, const OTF2_MetricMemberRef *members, uint8_t count)
{
    /* One more than needed, for malloc may answer null to a class of none. */
    OTF2_MetricMemberRef *copy = not_null(malloc((count + 1u) * sizeof *copy), "malloc");
    memcpy(copy, members, count * sizeof *copy);
    struct metric *metric = append(&archive->metrics, sizeof *metric);
    *metric = (struct metric){ ref, copy, count };
}

static void
release(struct archive *archive)
{
    struct list *lists[] = { &archive->strings, &archive->groups, &archive->locations, &archive->members };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (size_t j = 0; j < lists[i]->count; j++) {
            free(((struct named *)lists[i]->items)[j].text);
        }
        free(lists[i]->items);
    }
    for (size_t i = 0; i < archive->metrics.count; i++) {
        free(((struct metric *)archive->metrics.items)[i].members);
    }
    free(archive->metrics.items);
    free(archive->columns.items);
}

#endif
