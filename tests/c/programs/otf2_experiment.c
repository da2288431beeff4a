/*
 * Writes an OTF2 archive as Score-P may leave one, with the lanes of a communicator of four ranks, and with a definition of every kind
 * and events of many kinds on threads. What must come out of it with records of communication is known: each rank has ROUNDS rounds of a
 * broadcast (root 2), an all-reduce, and a message to the next rank. The last lane has local numbers and a clock that is an hour wrong,
 * which its local definitions say.
 *
 * Usage: otf2_experiment DIR ROUNDS EVENTS [WRONG]
 *
 * ROUNDS rounds on each lane, EVENTS events on each of two threads. WRONG: "unmatched": rank 1 has one send less; "reversed": the clock of
 * rank 3 is late; "rootless": broadcasts do not say their root; "strange": a lane has an event that no lane has; "none": there are no
 * lanes; "rma_only": CUDA has no group of locations, and its communicators are in no record; "timers": the last two ranks are in a process
 * of their own, and an offset of its clock is 900 us wrong.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <otf2/otf2.h>

enum { RANKS = 4, BYTES = 1000 };
enum { MAIN_THREAD = 0, WORKER = 1, FIRST_LANE = 2, METRICS = FIRST_LANE + RANKS, LOCATIONS };
static const uint64_t AN_HOUR = 3600ull * 1000 * 1000;

static const char *wrong = "";

static void must(OTF2_ErrorCode code, const char *what) {
    if (code == OTF2_SUCCESS) return;
    fprintf(stderr, "%s: %s\n", what, OTF2_Error_GetDescription(code));
    exit(1);
}
#define MUST(call) must(call, #call)

static OTF2_FlushType flush(void *data, OTF2_FileType type, OTF2_LocationRef location, void *caller, bool final) {
    (void)data, (void)type, (void)location, (void)caller, (void)final;
    return OTF2_FLUSH;
}
static const OTF2_FlushCallbacks flush_callbacks = {.otf2_pre_flush = flush};

/* Strings are defined where they are first named. */
static const char *strings[256];
static uint32_t string_count;

static uint32_t string(const char *text) {
    for (uint32_t i = 0; i < string_count; i++)
        if (strcmp(strings[i], text) == 0) return i;
    strings[string_count] = text;
    return string_count++;
}

enum { ALL_REDUCE, BROADCAST, SEND, RECEIVE, USER, REGIONS };
static const char *regions[REGIONS] = {"ncclAllReduce", "ncclBroadcast (not GPU-timed)", "ncclSend", "ncclRecv", "main"};
enum { PEER, ROOT, SEQUENCE, ATTRIBUTES };
static const char *attributes[ATTRIBUTES] = {"nccl_peer", "nccl_root", "nccl_sequence"};

static bool has_timers(void) { return strcmp(wrong, "timers") == 0; }

static uint64_t begin_of(uint64_t round, unsigned part) { return 1000 + (round * 4 + part) * 100; }

static void operation(OTF2_EvtWriter *lane, unsigned rank, uint64_t round, unsigned part, uint32_t region, int attribute, uint64_t value) {
    /* the last lane counts from another time, and has other numbers for regions */
    bool is_last = rank == RANKS - 1;
    uint64_t begin = begin_of(round, part) + rank + (is_last && !has_timers() ? AN_HOUR : 0);
    if (is_last) region = REGIONS - 1 - region;
    OTF2_AttributeList *list = OTF2_AttributeList_New();
    if (attribute >= 0) MUST(OTF2_AttributeList_AddUint64(list, (OTF2_AttributeRef)attribute, value));
    MUST(OTF2_EvtWriter_Enter(lane, list, begin, region));
    OTF2_AttributeList_Delete(list);
    MUST(OTF2_EvtWriter_Metric(lane, NULL, begin, 0, 1, (OTF2_Type[]){OTF2_TYPE_UINT64}, (OTF2_MetricValue[]){{.unsigned_int = BYTES + round}}));
    MUST(OTF2_EvtWriter_Leave(lane, NULL, begin + 50, region));
}

static uint64_t write_lane(OTF2_Archive *archive, unsigned rank, uint64_t rounds) {
    OTF2_EvtWriter *lane = OTF2_Archive_GetEvtWriter(archive, FIRST_LANE + rank);
    for (uint64_t round = 0; round < rounds; round++) {
        operation(lane, rank, round, 0, BROADCAST, strcmp(wrong, "rootless") == 0 ? -1 : ROOT, 2);
        operation(lane, rank, round, 1, ALL_REDUCE, SEQUENCE, round);
        bool lacks_send = rank == 1 && round == 1 && strcmp(wrong, "unmatched") == 0;
        if (!lacks_send) operation(lane, rank, round, 2, SEND, PEER, (rank + 1) % RANKS);
        operation(lane, rank, round, 3, RECEIVE, PEER, (rank + RANKS - 1) % RANKS);
        /* no room in memory: OTF2 writes what it has to the file */
        if (rank == 0 && round == 0) MUST(OTF2_EvtWriter_BufferFlush(lane, NULL, begin_of(0, 3) + 60, begin_of(0, 3) + 70));
        if (strcmp(wrong, "strange") == 0 && rank == 0 && round == 0)
            MUST(OTF2_EvtWriter_ParameterUnsignedInt(lane, NULL, begin_of(1, 0), 0, 7));
    }
    uint64_t count;
    MUST(OTF2_EvtWriter_GetNumberOfEvents(lane, &count));
    MUST(OTF2_Archive_CloseEvtWriter(archive, lane));
    return count;
}

/* Events of many kinds, one after the other. */
static uint64_t write_thread(OTF2_Archive *archive, OTF2_LocationRef location, uint64_t events) {
    OTF2_EvtWriter *thread = OTF2_Archive_GetEvtWriter(archive, location);
    for (uint64_t i = 0; i < events; i++) {
        uint64_t time = 1000 + i;
        switch (i % 10) {
        case 0: MUST(OTF2_EvtWriter_Enter(thread, NULL, time, USER)); break;
        case 1: MUST(OTF2_EvtWriter_MpiSend(thread, NULL, time, 1, 0, 3, 64)); break;
        case 2: MUST(OTF2_EvtWriter_MpiRecv(thread, NULL, time, 1, 0, 3, 64)); break;
        case 3: MUST(OTF2_EvtWriter_MpiCollectiveBegin(thread, NULL, time)); break;
        case 4: MUST(OTF2_EvtWriter_MpiCollectiveEnd(thread, NULL, time, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_COLLECTIVE_ROOT_NONE, 0, 0)); break;
        case 5: MUST(OTF2_EvtWriter_RmaPut(thread, NULL, time, 0, 1, 4096, i)); break;
        case 6: MUST(OTF2_EvtWriter_ParameterString(thread, NULL, time, 0, 0)); break;
        case 7: MUST(OTF2_EvtWriter_ThreadFork(thread, NULL, time, OTF2_PARADIGM_OPENMP, 4)); break;
        case 8: MUST(OTF2_EvtWriter_BufferFlush(thread, NULL, time, time)); break;
        default: MUST(OTF2_EvtWriter_Leave(thread, NULL, time, USER));
        }
    }
    uint64_t count;
    MUST(OTF2_EvtWriter_GetNumberOfEvents(thread, &count));
    MUST(OTF2_Archive_CloseEvtWriter(archive, thread));
    return count;
}

/* A location with no event. */
static void write_nothing(OTF2_Archive *archive, OTF2_LocationRef location) {
    MUST(OTF2_Archive_CloseEvtWriter(archive, OTF2_Archive_GetEvtWriter(archive, location)));
}

/* The process of a location. */
static uint32_t group_of(OTF2_LocationRef location) { return has_timers() && location >= METRICS - 2 && location < METRICS; }

static void write_local_definitions(OTF2_Archive *archive, bool has_lanes) {
    MUST(OTF2_Archive_OpenDefFiles(archive));
    for (OTF2_LocationRef location = 0; location < LOCATIONS; location++) {
        if (!has_lanes && location >= FIRST_LANE && location < METRICS) continue;
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive, location);
        if (location == METRICS - 1) {
            OTF2_IdMap *map = OTF2_IdMap_CreateFromUint32Array(REGIONS, (uint32_t[]){4, 3, 2, 1, 0}, false);
            MUST(OTF2_DefWriter_WriteMappingTable(writer, OTF2_MAPPING_REGION, map));
            OTF2_IdMap_Free(map);
            int64_t offset = -(int64_t)AN_HOUR + (strcmp(wrong, "reversed") == 0 ? -300 : 0);
            if (!has_timers()) MUST(OTF2_DefWriter_WriteClockOffset(writer, AN_HOUR, offset, 0.0));
            if (!has_timers()) MUST(OTF2_DefWriter_WriteClockOffset(writer, 2 * AN_HOUR, offset, 0.0));
        }
        if (has_timers()) {
            bool is_second = group_of(location) == 1;
            MUST(OTF2_DefWriter_WriteClockOffset(writer, 1000, is_second ? 900 : 0, 0.0));
            MUST(OTF2_DefWriter_WriteClockOffset(writer, AN_HOUR, 0, 0.0));
        }
        MUST(OTF2_Archive_CloseDefWriter(archive, writer));
    }
    MUST(OTF2_Archive_CloseDefFiles(archive));
}

/* One of each kind. */
static void write_definitions(OTF2_Archive *archive, const uint64_t *counts, bool has_lanes) {
    OTF2_GlobalDefWriter *to = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_AttributeValue number = {.uint64 = 77}, text = {.stringRef = 1};
    static char names[RANKS][64];
    bool is_rma_only = strcmp(wrong, "rma_only") == 0;
    string(""), string("text");
    for (int i = 0; i < REGIONS; i++) string(regions[i]);
    for (int i = 0; i < ATTRIBUTES; i++) string(attributes[i]);
    for (int i = 0; i < RANKS; i++) snprintf(names[i], sizeof names[i], "NCCL 0000000000001a2b rank %d", i), string(names[i]);
    string("nccl_op_bytes"), string("B"), string("machine"), string("Master thread");
    MUST(OTF2_GlobalDefWriter_WriteClockProperties(to, 1000000, 0, 1u << 30, 1700000000000000000));
    for (uint32_t i = 0; i < string_count; i++) MUST(OTF2_GlobalDefWriter_WriteString(to, i, strings[i]));
    MUST(OTF2_GlobalDefWriter_WriteParadigm(to, OTF2_PARADIGM_CUDA, 1, OTF2_PARADIGM_CLASS_ACCELERATOR));
    MUST(OTF2_GlobalDefWriter_WriteParadigmProperty(to, OTF2_PARADIGM_CUDA, OTF2_PARADIGM_PROPERTY_RMA_WIN_NAME_TEMPLATE, OTF2_TYPE_STRING, text));
    MUST(OTF2_GlobalDefWriter_WriteIoParadigm(to, 0, 1, 1, OTF2_IO_PARADIGM_CLASS_SERIAL, OTF2_IO_PARADIGM_FLAG_NONE, 1, (OTF2_IoParadigmProperty[]){OTF2_IO_PARADIGM_PROPERTY_VERSION}, (OTF2_Type[]){OTF2_TYPE_STRING}, &text));
    for (uint32_t i = 0; i < ATTRIBUTES; i++) MUST(OTF2_GlobalDefWriter_WriteAttribute(to, i, string(attributes[i]), 0, OTF2_TYPE_UINT64));
    MUST(OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, string("machine"), string("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    MUST(OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(to, 0, 1, OTF2_TYPE_UINT64, number));
    MUST(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(to, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    MUST(OTF2_GlobalDefWriter_WriteLocationGroup(to, 0, 1, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP));
    if (has_timers()) MUST(OTF2_GlobalDefWriter_WriteLocationGroup(to, 1, 1, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP));
    MUST(OTF2_GlobalDefWriter_WriteLocationGroupProperty(to, 0, 1, OTF2_TYPE_STRING, text));
    for (OTF2_LocationRef i = 0; i < LOCATIONS; i++) {
        bool is_lane = i >= FIRST_LANE && i < METRICS;
        if (is_lane && !has_lanes) continue;
        OTF2_LocationType kind = is_lane ? OTF2_LOCATION_TYPE_ACCELERATOR_STREAM : i < FIRST_LANE ? OTF2_LOCATION_TYPE_CPU_THREAD : OTF2_LOCATION_TYPE_METRIC;
        MUST(OTF2_GlobalDefWriter_WriteLocation(to, i, string(is_lane ? names[i - FIRST_LANE] : "Master thread"), kind, counts[i], group_of(i)));
    }
    MUST(OTF2_GlobalDefWriter_WriteLocationProperty(to, 0, 1, OTF2_TYPE_UINT64, number));
    for (uint32_t i = 0; i < REGIONS; i++)
        MUST(OTF2_GlobalDefWriter_WriteRegion(to, i, string(regions[i]), string(regions[i]), 0, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_CUDA, OTF2_REGION_FLAG_NONE, 1, 3, 9));
    MUST(OTF2_GlobalDefWriter_WriteCallpath(to, 0, OTF2_UNDEFINED_CALLPATH, USER));
    MUST(OTF2_GlobalDefWriter_WriteGroup(to, 0, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, (uint64_t[]){0, 1}));
    MUST(OTF2_GlobalDefWriter_WriteGroup(to, 1, 1, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 2, (uint64_t[]){0, 1}));
    if (is_rma_only)
        MUST(OTF2_GlobalDefWriter_WriteParadigmProperty(to, OTF2_PARADIGM_CUDA, OTF2_PARADIGM_PROPERTY_RMA_ONLY, OTF2_TYPE_UINT8, (OTF2_AttributeValue){.uint8 = OTF2_TRUE}));
    else
        MUST(OTF2_GlobalDefWriter_WriteGroup(to, 2, 1, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_CUDA, OTF2_GROUP_FLAG_NONE, 1, (uint64_t[]){0}));
    MUST(OTF2_GlobalDefWriter_WriteMetricMember(to, 0, string("nccl_op_bytes"), 0, OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, string("B")));
    MUST(OTF2_GlobalDefWriter_WriteMetricClass(to, 0, 1, (uint32_t[]){0}, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_GPU));
    MUST(OTF2_GlobalDefWriter_WriteMetricInstance(to, 1, 0, METRICS, OTF2_SCOPE_LOCATION_GROUP, 0));
    MUST(OTF2_GlobalDefWriter_WriteMetricClassRecorder(to, 0, 0));
    MUST(OTF2_GlobalDefWriter_WriteComm(to, 0, 1, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    MUST(OTF2_GlobalDefWriter_WriteInterComm(to, 1, 1, 1, 1, 0, OTF2_COMM_FLAG_NONE));
    MUST(OTF2_GlobalDefWriter_WriteParameter(to, 0, 1, OTF2_PARAMETER_TYPE_STRING));
    MUST(OTF2_GlobalDefWriter_WriteCallpathParameter(to, 0, 0, OTF2_TYPE_STRING, text));
    MUST(OTF2_GlobalDefWriter_WriteRmaWin(to, 0, 1, 0, OTF2_RMA_WIN_FLAG_NONE));
    MUST(OTF2_GlobalDefWriter_WriteCartDimension(to, 0, 1, 2, OTF2_CART_PERIODIC_FALSE));
    MUST(OTF2_GlobalDefWriter_WriteCartTopology(to, 0, 1, 0, 1, (uint32_t[]){0}));
    MUST(OTF2_GlobalDefWriter_WriteCartCoordinate(to, 0, 1, 1, (uint32_t[]){1}));
    MUST(OTF2_GlobalDefWriter_WriteSourceCodeLocation(to, 0, 1, 42));
    MUST(OTF2_GlobalDefWriter_WriteCallingContext(to, 0, USER, 0, OTF2_UNDEFINED_CALLING_CONTEXT));
    MUST(OTF2_GlobalDefWriter_WriteCallingContextProperty(to, 0, 1, OTF2_TYPE_UINT64, number));
    MUST(OTF2_GlobalDefWriter_WriteInterruptGenerator(to, 0, 1, OTF2_INTERRUPT_GENERATOR_MODE_TIME, OTF2_BASE_DECIMAL, -9, 1000));
    MUST(OTF2_GlobalDefWriter_WriteIoRegularFile(to, 0, 1, 0));
    MUST(OTF2_GlobalDefWriter_WriteIoDirectory(to, 1, 1, 0));
    MUST(OTF2_GlobalDefWriter_WriteIoFileProperty(to, 0, 1, OTF2_TYPE_UINT64, number));
    MUST(OTF2_GlobalDefWriter_WriteIoHandle(to, 0, 1, 0, 0, OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE));
    MUST(OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(to, 0, OTF2_IO_ACCESS_MODE_READ_WRITE, OTF2_IO_STATUS_FLAG_APPEND));
    MUST(OTF2_Archive_CloseGlobalDefWriter(archive, to));
}

int main(int count, char **arguments) {
    if (count < 4) return fprintf(stderr, "usage: otf2_experiment DIR ROUNDS EVENTS [WRONG]\n"), 2;
    uint64_t rounds = strtoull(arguments[2], NULL, 10), events = strtoull(arguments[3], NULL, 10);
    if (count > 4) wrong = arguments[4];
    bool has_lanes = strcmp(wrong, "none") != 0;
    OTF2_Archive *archive = OTF2_Archive_Open(arguments[1], "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT, OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!archive) return 1;
    MUST(OTF2_Archive_SetSerialCollectiveCallbacks(archive));
    MUST(OTF2_Archive_SetFlushCallbacks(archive, &flush_callbacks, NULL));
    MUST(OTF2_Archive_SetCreator(archive, "a measurement system 9"));
    MUST(OTF2_Archive_SetDescription(archive, "an experiment"));
    MUST(OTF2_Archive_SetMachineName(archive, "a machine"));
    MUST(OTF2_Archive_SetProperty(archive, "SITE::KEY", "value", true));
    uint64_t counts[LOCATIONS] = {0};
    MUST(OTF2_Archive_OpenEvtFiles(archive));
    counts[MAIN_THREAD] = write_thread(archive, MAIN_THREAD, events);
    counts[WORKER] = write_thread(archive, WORKER, events);
    for (unsigned rank = 0; rank < RANKS && has_lanes; rank++) counts[FIRST_LANE + rank] = write_lane(archive, rank, rounds);
    write_nothing(archive, METRICS);
    MUST(OTF2_Archive_CloseEvtFiles(archive));
    write_local_definitions(archive, has_lanes);
    write_definitions(archive, counts, has_lanes);
    MUST(OTF2_Archive_Close(archive));
    return 0;
}
