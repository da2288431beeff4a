/*
 * Reads an OTF2 archive with OTF2's own reader and prints what became of every metric on every location, one line each, tab
 * separated:
 *
 *   process  location  metric  unit  value type (uint64|int64|double)  number of values  last value  monotone (yes|no)
 *
 * Locations come in the order of their definitions, metrics in the order in which they are first seen on a location. Monotone is a
 * metric whose values never fall. Any failure ends the program with a message and status 1.
 *
 * Usage: otf2_last_values traces.otf2
 */

#include "archive.h"

static OTF2_CallbackCode
on_string(void *data, OTF2_StringRef ref, const char *text)
{
    struct archive *archive = data;
    append_named(&archive->strings, ref, text, 0, OTF2_TYPE_NONE);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_group(void *data, OTF2_LocationGroupRef ref, OTF2_StringRef name, OTF2_LocationGroupType type,
         OTF2_SystemTreeNodeRef node, OTF2_LocationGroupRef creator)
{
    struct archive *archive = data;
    (void)type, (void)node, (void)creator;
    append_named(&archive->groups, ref, string(archive, name), 0, OTF2_TYPE_NONE);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_location(void *data, OTF2_LocationRef ref, OTF2_StringRef name, OTF2_LocationType type, uint64_t events,
            OTF2_LocationGroupRef group)
{
    struct archive *archive = data;
    (void)type, (void)events;
    append_named(&archive->locations, ref, string(archive, name), group, OTF2_TYPE_NONE);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_member(void *data, OTF2_MetricMemberRef ref, OTF2_StringRef name, OTF2_StringRef description, OTF2_MetricType kind,
          OTF2_MetricMode mode, OTF2_Type type, OTF2_Base base, int64_t exponent, OTF2_StringRef unit)
{
    struct archive *archive = data;
    (void)description, (void)kind, (void)mode, (void)base, (void)exponent;
    append_named(&archive->members, ref, string(archive, name), unit, type);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_class(void *data, OTF2_MetricRef ref, uint8_t count, const OTF2_MetricMemberRef *members,
         OTF2_MetricOccurrence occurrence, OTF2_RecorderKind kind)
{
    (void)occurrence, (void)kind;
    append_metric(data, ref, members, count);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode
on_instance(void *data, OTF2_MetricRef ref, OTF2_MetricRef class, OTF2_LocationRef recorder, OTF2_MetricScope scope_kind,
            uint64_t scope)
{
    const struct metric *metric = find_metric(data, class);
    (void)recorder, (void)scope_kind, (void)scope;
    append_metric(data, ref, metric->members, metric->count);
    return OTF2_CALLBACK_SUCCESS;
}

/* The first of a metric's columns, which are one per member; they are made when it is first seen. */
static struct column *
columns_of(struct archive *archive, OTF2_MetricRef ref, uint8_t count)
{
    struct list *columns = &archive->columns;
    for (size_t i = 0; i < columns->count; i++) {
        struct column *column = (struct column *)columns->items + i;
        if (column->metric == ref) {
            return column;
        }
    }
    const struct metric *metric = find_metric(archive, ref);
    if (metric->count != count) {
        fail("metric %" PRIu32 " has %d members, an event of it %d values", ref, metric->count, count);
    }
    size_t first = columns->count;
    for (uint8_t i = 0; i < count; i++) {
        const struct named *member = find(&archive->members, metric->members[i], "metric member");
        struct column *column = append(columns, sizeof *column);
        *column = (struct column){ ref, member, 0, { 0 }, true };
    }
    return (struct column *)columns->items + first;
}

/* Whether a value is less than the one before it; a double that is no number counts as less than any. */
static bool
falls(OTF2_Type type, OTF2_MetricValue before, OTF2_MetricValue after)
{
    switch (type) {
    case OTF2_TYPE_UINT64:
        return after.unsigned_int < before.unsigned_int;
    case OTF2_TYPE_INT64:
        return after.signed_int < before.signed_int;
    default:
        return !(after.floating_point >= before.floating_point);
    }
}

static OTF2_CallbackCode
on_metric(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position, void *data, OTF2_AttributeList *attributes,
          OTF2_MetricRef ref, uint8_t count, const OTF2_Type *types, const OTF2_MetricValue *values)
{
    (void)location, (void)time, (void)position, (void)attributes;
    if (count == 0) {
        return OTF2_CALLBACK_SUCCESS;
    }
    struct column *columns = columns_of(data, ref, count);
    for (uint8_t i = 0; i < count; i++) {
        struct column *column = &columns[i];
        if (types[i] != column->member->type) {
            fail("a value of %s is of another type than its definition", column->member->text);
        }
        if (column->count > 0 && falls(types[i], column->last, values[i])) {
            column->monotone = false;
        }
        column->last = values[i];
        column->count++;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static void
print_column(const struct archive *archive, const struct named *location, const struct column *column)
{
    const struct named *member = column->member;
    const char *group = find(&archive->groups, location->other, "location group")->text;
    const char *unit = string(archive, (OTF2_StringRef)member->other);
    printf("%s\t%s\t%s\t%s\t", group, location->text, member->text, unit);
    switch (member->type) {
    case OTF2_TYPE_UINT64:
        printf("uint64\t%" PRIu64 "\t%" PRIu64, column->count, column->last.unsigned_int);
        break;
    case OTF2_TYPE_INT64:
        printf("int64\t%" PRIu64 "\t%" PRId64, column->count, column->last.signed_int);
        break;
    case OTF2_TYPE_DOUBLE:
        printf("double\t%" PRIu64 "\t%.17g", column->count, column->last.floating_point);
        break;
    default:
        fail("%s has values of type %d, which is none of a metric", member->text, member->type);
    }
    printf("\t%s\n", column->monotone ? "yes" : "no");
}

static void
read_definitions(OTF2_Reader *reader, struct archive *archive)
{
    OTF2_GlobalDefReader *definitions = not_null(OTF2_Reader_GetGlobalDefReader(reader), "OTF2_Reader_GetGlobalDefReader");
    OTF2_GlobalDefReaderCallbacks *callbacks = not_null(OTF2_GlobalDefReaderCallbacks_New(), "OTF2_GlobalDefReaderCallbacks_New");
    uint64_t expected = 0, read = 0;

    CHECK(OTF2_GlobalDefReaderCallbacks_SetStringCallback(callbacks, on_string));
    CHECK(OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(callbacks, on_group));
    CHECK(OTF2_GlobalDefReaderCallbacks_SetLocationCallback(callbacks, on_location));
    CHECK(OTF2_GlobalDefReaderCallbacks_SetMetricMemberCallback(callbacks, on_member));
    CHECK(OTF2_GlobalDefReaderCallbacks_SetMetricClassCallback(callbacks, on_class));
    CHECK(OTF2_GlobalDefReaderCallbacks_SetMetricInstanceCallback(callbacks, on_instance));
    CHECK(OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, callbacks, archive));
    OTF2_GlobalDefReaderCallbacks_Delete(callbacks);

    CHECK(OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &expected));
    CHECK(OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read));
    if (read != expected) {
        fail("%" PRIu64 " definitions instead of %" PRIu64, read, expected);
    }
    CHECK(OTF2_Reader_CloseGlobalDefReader(reader, definitions));
}

/* Definitions of single locations may say by which numbers its events name the global definitions. */
static void
read_local_definitions(OTF2_Reader *reader, OTF2_LocationRef location)
{
    OTF2_DefReader *definitions = not_null(OTF2_Reader_GetDefReader(reader, location), "OTF2_Reader_GetDefReader");
    uint64_t read = 0;
    CHECK(OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &read));
    CHECK(OTF2_Reader_CloseDefReader(reader, definitions));
}

static void
read_events(OTF2_Reader *reader, struct archive *archive, const struct named *location)
{
    OTF2_EvtReader *events = not_null(OTF2_Reader_GetEvtReader(reader, location->ref), "OTF2_Reader_GetEvtReader");
    OTF2_EvtReaderCallbacks *callbacks = not_null(OTF2_EvtReaderCallbacks_New(), "OTF2_EvtReaderCallbacks_New");
    uint64_t read = 0;

    CHECK(OTF2_EvtReaderCallbacks_SetMetricCallback(callbacks, on_metric));
    CHECK(OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, archive));
    OTF2_EvtReaderCallbacks_Delete(callbacks);

    archive->columns.count = 0;
    CHECK(OTF2_Reader_ReadAllLocalEvents(reader, events, &read));
    CHECK(OTF2_Reader_CloseEvtReader(reader, events));
    for (size_t i = 0; i < archive->columns.count; i++) {
        print_column(archive, location, (struct column *)archive->columns.items + i);
    }
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fail("usage: %s traces.otf2", argv[0]);
    }
    struct archive archive = { 0 };
    OTF2_Reader *reader = not_null(OTF2_Reader_Open(argv[1]), "OTF2_Reader_Open");
    CHECK(OTF2_Reader_SetSerialCollectiveCallbacks(reader));
    read_definitions(reader, &archive);

    const struct named *locations = archive.locations.items;
    for (size_t i = 0; i < archive.locations.count; i++) {
        CHECK(OTF2_Reader_SelectLocation(reader, locations[i].ref));
    }
    CHECK(OTF2_Reader_OpenDefFiles(reader));
    CHECK(OTF2_Reader_OpenEvtFiles(reader));
    for (size_t i = 0; i < archive.locations.count; i++) {
        read_local_definitions(reader, locations[i].ref);
        read_events(reader, &archive, &locations[i]);
    }
    CHECK(OTF2_Reader_CloseDefFiles(reader));
    CHECK(OTF2_Reader_CloseEvtFiles(reader));
    CHECK(OTF2_Reader_Close(reader));
    release(&archive);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fail("cannot write the result");
    }
    return 0;
}
