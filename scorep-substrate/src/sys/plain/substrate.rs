//! The substrate plugin interface, version 3, written by hand from what it does: a plugin that takes part in the whole
//! measurement, next to Score-P's own profile and trace.

use super::definition::{
    AnyHandle, CallingContextHandle, ExitStatus, HandleType, LineNo, Location, LocationType, MetricHandle,
    MetricOccurrence, MetricProfilingType, MetricScope, MetricSourceType, ParadigmClass, ParadigmHandle, ParadigmType,
    ParameterHandle, ParameterType, RegionHandle, RegionType, SamplingSetClass, SamplingSetHandle, SourceFileHandle,
    StringHandle, TaskHandle,
};
use super::metric::{MetricMode, MetricValueType};
use libc::FILE;
use std::ffi::{c_char, c_int, c_void};

/// The interface version that this is, for [`SubstratePluginInfo::plugin_version`].
pub const SUBSTRATE_PLUGIN_VERSION: u32 = 3;

/// Whether events are being recorded, when a table of event functions is asked for.
pub type SubstrateMode = u32;
/// They are.
pub const RECORDING_ENABLED: SubstrateMode = 0;
/// The application has switched recording off.
pub const RECORDING_DISABLED: SubstrateMode = 1;

/// What Score-P asks a plugin whether it needs it.
pub type SubstrateRequirement = u32;
/// An experiment directory. Asked during the start, after the first events in a program with MPI.
pub const REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY: SubstrateRequirement = 0;
/// That there be no asynchronous metrics, in the whole measurement.
pub const REQUIREMENT_PREVENT_ASYNC_METRICS: SubstrateRequirement = 1;
/// That there be no metrics that only one process of a node or of the run writes.
pub const REQUIREMENT_PREVENT_PER_HOST_AND_ONCE_METRICS: SubstrateRequirement = 2;

/// Place of an event's function in the table of [`SubstratePluginInfo::get_event_functions`].
pub type SubstrateEvent = u32;
/// The measurement ends: a [`ProgramEndFunction`].
pub const EVENT_PROGRAM_END: SubstrateEvent = 64;
/// Length of the table.
pub const NUM_EVENTS: SubstrateEvent = 83;
/// Any event's function, in the table; called as what the event's place says.
pub type SubstrateEventFunction = Option<unsafe extern "C" fn()>;
/// Called once on the finalizing thread, after the metric plugins' `synchronize` and before any location is
/// deactivated: what is written to a location here still gets into the profile and the trace.
pub type ProgramEndFunction = Option<
    unsafe extern "C" fn(
        location: *mut Location,
        timestamp: u64,
        exit_status: ExitStatus,
        program_region_handle: RegionHandle,
    ),
>;
/// Takes the values of one sampling set, in the order of its metrics.
pub type WriteMetricsFunction = Option<
    unsafe extern "C" fn(
        location: *mut Location,
        timestamp: u64,
        sampling_set: SamplingSetHandle,
        metric_values: *const u64,
    ),
>;

/// The type of what Score-P's communication carries.
pub type IpcDatatype = u32;
/// Bytes, never converted.
pub const IPC_BYTE: IpcDatatype = 0;
/// C's `char`.
pub const IPC_CHAR: IpcDatatype = 1;
/// C's `unsigned char`.
pub const IPC_UNSIGNED_CHAR: IpcDatatype = 2;
/// C's `int`.
pub const IPC_INT: IpcDatatype = 3;
/// C's `unsigned`.
pub const IPC_UNSIGNED: IpcDatatype = 4;
/// [`i32`].
pub const IPC_INT32_T: IpcDatatype = 5;
/// [`u32`].
pub const IPC_UINT32_T: IpcDatatype = 6;
/// [`i64`].
pub const IPC_INT64_T: IpcDatatype = 7;
/// [`u64`].
pub const IPC_UINT64_T: IpcDatatype = 8;
/// [`f64`].
pub const IPC_DOUBLE: IpcDatatype = 9;

/// How a reduction combines values.
pub type IpcOperation = u32;
/// Bits that all have.
pub const IPC_BAND: IpcOperation = 0;
/// Bits that any has.
pub const IPC_BOR: IpcOperation = 1;
/// The least.
pub const IPC_MIN: IpcOperation = 2;
/// The greatest.
pub const IPC_MAX: IpcOperation = 3;
/// The sum.
pub const IPC_SUM: IpcOperation = 4;

/// What Score-P offers to a substrate plugin; alive until the process ends, all of it set.
///
/// The `Ipc` functions are collective over all processes of the run (one, without MPI) and carry Score-P's own
/// messages, so all processes call them in the same order, on the main thread, from `init_mpp` to `write_data`; they
/// give 0 on success. One that calls alone waits for ever. Buffers and counts are the caller's, lengths count values of
/// the type, not bytes.
///
/// A `GetX` function takes a valid handle; strings that it gives belong to Score-P.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(non_snake_case, reason = "the names are Score-P's")]
pub struct SubstratePluginCallbacks {
    /// Path of the experiment directory: from `init_mpp` on, NULL where there is none. It is renamed after the last
    /// callback; paths made of it stay good until then.
    pub SCOREP_GetExperimentDirName: Option<unsafe extern "C" fn() -> *const c_char>,
    /// Number of processes.
    pub SCOREP_Ipc_GetSize: Option<unsafe extern "C" fn() -> c_int>,
    /// Number of this one.
    pub SCOREP_Ipc_GetRank: Option<unsafe extern "C" fn() -> c_int>,
    /// Sends to one process and waits until the buffer can be used again.
    pub SCOREP_Ipc_Send:
        Option<unsafe extern "C" fn(buf: *const c_void, count: c_int, datatype: IpcDatatype, dest: c_int) -> c_int>,
    /// Waits for what one process sends.
    pub SCOREP_Ipc_Recv:
        Option<unsafe extern "C" fn(buf: *mut c_void, count: c_int, datatype: IpcDatatype, source: c_int) -> c_int>,
    /// Waits for all.
    pub SCOREP_Ipc_Barrier: Option<unsafe extern "C" fn() -> c_int>,
    /// Copies the root's buffer to all.
    pub SCOREP_Ipc_Bcast:
        Option<unsafe extern "C" fn(buf: *mut c_void, count: c_int, datatype: IpcDatatype, root: c_int) -> c_int>,
    /// Brings `count` values of each process to the root, in the order of ranks. Only the root's `recvbuf` is written.
    pub SCOREP_Ipc_Gather: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            root: c_int,
        ) -> c_int,
    >,
    /// The same with a number of values that differs; the root has all numbers in `recvcounts`, and what comes lies
    /// without gaps.
    pub SCOREP_Ipc_Gatherv: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            sendcount: c_int,
            recvbuf: *mut c_void,
            recvcounts: *const c_int,
            datatype: IpcDatatype,
            root: c_int,
        ) -> c_int,
    >,
    /// As [`SCOREP_Ipc_Gather`](Self::SCOREP_Ipc_Gather), to all.
    pub SCOREP_Ipc_Allgather: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
        ) -> c_int,
    >,
    /// Combines values of all, place by place, at the root.
    pub SCOREP_Ipc_Reduce: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            operation: IpcOperation,
            root: c_int,
        ) -> c_int,
    >,
    /// The same, and all get the result.
    pub SCOREP_Ipc_Allreduce: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            operation: IpcOperation,
        ) -> c_int,
    >,
    /// Hands `count` values of the root's buffer to each process, in the order of ranks.
    pub SCOREP_Ipc_Scatter: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            root: c_int,
        ) -> c_int,
    >,
    /// The same with numbers of values that differ; the root has all of them in `sendcounts`.
    pub SCOREP_Ipc_Scatterv: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            sendcounts: *const c_int,
            recvbuf: *mut c_void,
            recvcount: c_int,
            datatype: IpcDatatype,
            root: c_int,
        ) -> c_int,
    >,
    /// What runs on a location.
    pub SCOREP_Location_GetType: Option<unsafe extern "C" fn(location: *const Location) -> LocationType>,
    /// A location's name.
    pub SCOREP_Location_GetName: Option<unsafe extern "C" fn(location: *const Location) -> *const c_char>,
    /// A location's number in this process.
    pub SCOREP_Location_GetId: Option<unsafe extern "C" fn(location: *const Location) -> u32>,
    /// A location's number in the whole run; known once ranks are.
    pub SCOREP_Location_GetGlobalId: Option<unsafe extern "C" fn(location: *const Location) -> u64>,
    /// Keeps a pointer with a location, under the number that `assign_id` brought.
    pub SCOREP_Location_SetData:
        Option<unsafe extern "C" fn(location: *const Location, plugin_id: usize, data: *mut c_void)>,
    /// The pointer kept with a location; NULL at first.
    pub SCOREP_Location_GetData:
        Option<unsafe extern "C" fn(location: *const Location, plugin_id: usize) -> *mut c_void>,
    /// The region of a calling context.
    pub SCOREP_CallingContextHandle_GetRegion:
        Option<unsafe extern "C" fn(handle: CallingContextHandle) -> RegionHandle>,
    /// The calling context above one.
    pub SCOREP_CallingContextHandle_GetParent:
        Option<unsafe extern "C" fn(handle: CallingContextHandle) -> CallingContextHandle>,
    /// How a metric's values are read.
    pub SCOREP_MetricHandle_GetValueType: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricValueType>,
    /// A metric's name.
    pub SCOREP_MetricHandle_GetName: Option<unsafe extern "C" fn(handle: MetricHandle) -> *const c_char>,
    /// What a profile makes of a metric.
    pub SCOREP_MetricHandle_GetProfilingType: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricProfilingType>,
    /// What a metric's values mean.
    pub SCOREP_MetricHandle_GetMode: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricMode>,
    /// Who brings a metric.
    pub SCOREP_MetricHandle_GetSourceType: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricSourceType>,
    /// The kind of a programming model.
    pub SCOREP_ParadigmHandle_GetClass: Option<unsafe extern "C" fn(handle: ParadigmHandle) -> ParadigmClass>,
    /// A programming model's name.
    pub SCOREP_ParadigmHandle_GetName: Option<unsafe extern "C" fn(handle: ParadigmHandle) -> *const c_char>,
    /// Which programming model it is.
    pub SCOREP_ParadigmHandle_GetType: Option<unsafe extern "C" fn(handle: ParadigmHandle) -> ParadigmType>,
    /// A parameter's name.
    pub SCOREP_ParameterHandle_GetName: Option<unsafe extern "C" fn(handle: ParameterHandle) -> *const c_char>,
    /// The type of a parameter's values.
    pub SCOREP_ParameterHandle_GetType: Option<unsafe extern "C" fn(handle: ParameterHandle) -> ParameterType>,
    /// A region's number in this process.
    pub SCOREP_RegionHandle_GetId: Option<unsafe extern "C" fn(handle: RegionHandle) -> u32>,
    /// A region's name, as it is shown.
    pub SCOREP_RegionHandle_GetName: Option<unsafe extern "C" fn(handle: RegionHandle) -> *const c_char>,
    /// A region's name, as the compiler has it.
    pub SCOREP_RegionHandle_GetCanonicalName: Option<unsafe extern "C" fn(handle: RegionHandle) -> *const c_char>,
    /// The source file of a region; NULL where it is not known.
    pub SCOREP_RegionHandle_GetFileName: Option<unsafe extern "C" fn(handle: RegionHandle) -> *const c_char>,
    /// A region's first line.
    pub SCOREP_RegionHandle_GetBeginLine: Option<unsafe extern "C" fn(handle: RegionHandle) -> LineNo>,
    /// A region's last line.
    pub SCOREP_RegionHandle_GetEndLine: Option<unsafe extern "C" fn(handle: RegionHandle) -> LineNo>,
    /// What a region does.
    pub SCOREP_RegionHandle_GetType: Option<unsafe extern "C" fn(handle: RegionHandle) -> RegionType>,
    /// The programming model that a region belongs to.
    pub SCOREP_RegionHandle_GetParadigmType: Option<unsafe extern "C" fn(handle: RegionHandle) -> ParadigmType>,
    /// Number of metrics in a sampling set.
    pub SCOREP_SamplingSetHandle_GetNumberOfMetrics: Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> u8>,
    /// A sampling set's metrics.
    pub SCOREP_SamplingSetHandle_GetMetricHandles:
        Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> *const MetricHandle>,
    /// When a sampling set's values come.
    pub SCOREP_SamplingSetHandle_GetMetricOccurrence:
        Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> MetricOccurrence>,
    /// Whether a sampling set's values are those of something else than the location that writes them.
    pub SCOREP_SamplingSetHandle_IsScoped: Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> bool>,
    /// Whose they are then.
    pub SCOREP_SamplingSetHandle_GetScope: Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> MetricScope>,
    /// The kind of location that writes a sampling set.
    pub SCOREP_SamplingSetHandle_GetSamplingSetClass:
        Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> SamplingSetClass>,
    /// A source file's name.
    pub SCOREP_SourceFileHandle_GetName: Option<unsafe extern "C" fn(handle: SourceFileHandle) -> *const c_char>,
    /// A string's characters.
    pub SCOREP_StringHandle_Get: Option<unsafe extern "C" fn(handle: StringHandle) -> *const c_char>,
    /// Calls back with the strictly synchronous metrics of an event; from the function of an enter, a leave or a sample
    /// only.
    pub SCOREP_Metric_WriteStrictlySynchronousMetrics:
        Option<unsafe extern "C" fn(location: *mut Location, timestamp: u64, cb: WriteMetricsFunction)>,
    /// The same for the synchronous ones.
    pub SCOREP_Metric_WriteSynchronousMetrics:
        Option<unsafe extern "C" fn(location: *mut Location, timestamp: u64, cb: WriteMetricsFunction)>,
    /// The same for the asynchronous ones, with their own times.
    pub SCOREP_Metric_WriteAsynchronousMetrics:
        Option<unsafe extern "C" fn(location: *mut Location, cb: WriteMetricsFunction)>,
    /// Writes a heading into MANIFEST.md, from `dump_manifest`.
    pub SCOREP_ConfigManifestSectionHeader: Option<unsafe extern "C" fn(out: *mut FILE, section: *const c_char)>,
    /// Writes a file's name and what it holds, formatted as by `printf`, into MANIFEST.md. The name has to be shorter
    /// than 240 bytes and the text, once formatted, than 1000: Score-P 8.4 copies them into buffers without looking.
    pub SCOREP_ConfigManifestSectionEntry: Option<
        unsafe extern "C" fn(out: *mut FILE, file_name: *const c_char, description_format_string: *const c_char, ...),
    >,
}

/// What a substrate plugin hands to Score-P: returned by value from `SCOREP_SubstratePlugin_<name>_get_info`.
///
/// Score-P copies it. Functions that are not set are not called; none may unwind. Those below come in this order, on
/// the main thread unless it says otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SubstratePluginInfo {
    /// [`SUBSTRATE_PLUGIN_VERSION`].
    pub plugin_version: u32,
    /// Called once, first. Other than 0: the plugin is closed again, and not used.
    pub init: Option<unsafe extern "C" fn() -> c_int>,
    /// Brings the number under which the plugin can keep data with locations; comes after `set_callbacks` and
    /// `get_event_functions`, before the metric plugins are there.
    pub assign_id: Option<unsafe extern "C" fn(plugin_id: usize)>,
    /// Called once when the processes can talk to each other (in `MPI_Init`; without MPI, in the start). Ranks are
    /// known from here on. Rank 0 may not have made the experiment directory yet when another rank is here.
    pub init_mpp: Option<unsafe extern "C" fn()>,
    /// Called once, last. The library stays open.
    pub finalize: Option<unsafe extern "C" fn()>,
    /// A location is made, by the thread `parent_location` if there is one; on any thread, several at once.
    pub create_location: Option<unsafe extern "C" fn(location: *const Location, parent_location: *const Location)>,
    /// A thread begins to record on its location; on that thread, each time that it does.
    pub activate_cpu_location: Option<
        unsafe extern "C" fn(location: *const Location, parent_location: *const Location, fork_sequence_count: u32),
    >,
    /// A thread stops recording on its location. Those that still record at the end of the run are stopped there.
    pub deactivate_cpu_location:
        Option<unsafe extern "C" fn(location: *const Location, parent_location: *const Location)>,
    /// A location is about to go, at the end of the run.
    pub delete_location: Option<unsafe extern "C" fn(location: *const Location)>,
    /// Called once at the end, after Score-P's profile and trace have taken their last events: what is written to a
    /// location here is lost. Processes can still talk to each other.
    pub pre_unify: Option<unsafe extern "C" fn()>,
    /// Called once, after the definitions of all processes have been made one: the time to write results. Processes can
    /// still talk to each other.
    pub write_data: Option<unsafe extern "C" fn()>,
    /// A task is made; on any thread.
    pub core_task_create: Option<unsafe extern "C" fn(location: *const Location, task_handle: TaskHandle)>,
    /// A task is done; on any thread.
    pub core_task_complete: Option<unsafe extern "C" fn(location: *const Location, task_handle: TaskHandle)>,
    /// Something is defined; on any thread, and locks of Score-P's may be held.
    pub new_definition_handle: Option<unsafe extern "C" fn(handle: AnyHandle, type_: HandleType)>,
    /// Called twice, for recording on and off, before any definition. Writes the address of a table with [`NUM_EVENTS`]
    /// functions, which stays the plugin's and has to stay alive, and gives its length.
    pub get_event_functions:
        Option<unsafe extern "C" fn(mode: SubstrateMode, functions: *mut *mut SubstrateEventFunction) -> u32>,
    /// Brings what Score-P offers, right after `init`, and its size in bytes: a smaller one than declared here lacks
    /// the last ones.
    pub set_callbacks: Option<unsafe extern "C" fn(callbacks: *const SubstratePluginCallbacks, size: usize)>,
    /// Whether something is needed; the same answer each time, false for what is not known. At any time, on any thread.
    pub get_requirement: Option<unsafe extern "C" fn(flag: SubstrateRequirement) -> bool>,
    /// Called once on rank 0, before `init_mpp`, when MANIFEST.md is written: the time to add an entry to it.
    pub dump_manifest: Option<
        unsafe extern "C" fn(manifest_file: *mut FILE, relative_source_dir: *const c_char, target_dir: *const c_char),
    >,
    /// Zero.
    pub undeclared: [Option<unsafe extern "C" fn()>; 99],
}
