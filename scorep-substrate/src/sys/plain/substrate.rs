//! The substrate plugin interface, version 3, written by hand from its behaviour: a substrate plugin takes part in the
//! whole measurement, next to Score-P's own profile and trace.

use super::definition::{
    AnyHandle, CallingContextHandle, ExitStatus, HandleType, LineNo, Location, LocationType, MetricHandle,
    MetricOccurrence, MetricProfilingType, MetricScope, MetricSourceType, ParadigmClass, ParadigmHandle, ParadigmType,
    ParameterHandle, ParameterType, RegionHandle, RegionType, SamplingSetClass, SamplingSetHandle, SourceFileHandle,
    StringHandle, TaskHandle,
};
use super::metric::{MetricMode, MetricValueType};
use libc::FILE;
use std::ffi::{c_char, c_int, c_void};

/// The version of this interface, for [`SubstratePluginInfo::plugin_version`].
pub const SUBSTRATE_PLUGIN_VERSION: u32 = 3;

/// Whether Score-P records events, when it asks for a table of event functions.
pub type SubstrateMode = u32;
/// Score-P records events.
pub const RECORDING_ENABLED: SubstrateMode = 0;
/// The application has switched recording off.
pub const RECORDING_DISABLED: SubstrateMode = 1;

/// A requirement that Score-P asks a plugin about.
pub type SubstrateRequirement = u32;
/// The plugin needs an experiment directory. Asked during the start; in a program with MPI, after the first events.
pub const REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY: SubstrateRequirement = 0;
/// The plugin needs a measurement without asynchronous metrics.
pub const REQUIREMENT_PREVENT_ASYNC_METRICS: SubstrateRequirement = 1;
/// The plugin needs a measurement without metrics that only one process of a node or of the run writes.
pub const REQUIREMENT_PREVENT_PER_HOST_AND_ONCE_METRICS: SubstrateRequirement = 2;

/// Index of an event's function in the table of [`SubstratePluginInfo::get_event_functions`].
pub type SubstrateEvent = u32;
/// The measurement ends: a [`ProgramEndFunction`].
pub const EVENT_PROGRAM_END: SubstrateEvent = 64;
/// Length of the table.
pub const NUM_EVENTS: SubstrateEvent = 83;
/// A function in the table; Score-P calls it with the arguments of its event.
pub type SubstrateEventFunction = Option<unsafe extern "C" fn()>;
/// Called once on the finalizing thread, after the metric plugins' `synchronize` and before any location is
/// deactivated. Events written to a location here still reach the profile and the trace.
pub type ProgramEndFunction = Option<
    unsafe extern "C" fn(
        location: *mut Location,
        timestamp: u64,
        exit_status: ExitStatus,
        program_region_handle: RegionHandle,
    ),
>;
/// Gets the values of a sampling set, in the order of its metrics.
pub type WriteMetricsFunction = Option<
    unsafe extern "C" fn(
        location: *mut Location,
        timestamp: u64,
        sampling_set: SamplingSetHandle,
        metric_values: *const u64,
    ),
>;

/// Type of the values that Score-P's communication transfers.
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
/// Bitwise and.
pub const IPC_BAND: IpcOperation = 0;
/// Bitwise or.
pub const IPC_BOR: IpcOperation = 1;
/// Minimum.
pub const IPC_MIN: IpcOperation = 2;
/// Maximum.
pub const IPC_MAX: IpcOperation = 3;
/// Sum.
pub const IPC_SUM: IpcOperation = 4;

/// Functions that Score-P offers to a substrate plugin. They are all set, and valid until the process ends.
///
/// The `Ipc` functions are collective over all processes of the run (one process without MPI) and carry Score-P's own
/// messages, too. So all processes call them in the same order, on the main thread, from `init_mpp` to `write_data`; a
/// process that calls one alone waits forever. They return 0 on success. Buffers and counts are the caller's; lengths
/// count values of the type, not bytes.
///
/// A `GetX` function requires a valid handle; strings that it returns belong to Score-P.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
#[allow(non_snake_case, reason = "the names are Score-P's")]
pub struct SubstratePluginCallbacks {
    /// Path of the experiment directory, from `init_mpp` on; NULL if there is none. The directory is renamed after the
    /// last callback; until then, paths made of it stay valid.
    pub SCOREP_GetExperimentDirName: Option<unsafe extern "C" fn() -> *const c_char>,
    /// Number of processes.
    pub SCOREP_Ipc_GetSize: Option<unsafe extern "C" fn() -> c_int>,
    /// Rank of this process.
    pub SCOREP_Ipc_GetRank: Option<unsafe extern "C" fn() -> c_int>,
    /// Sends to a process and waits until the buffer can be reused.
    pub SCOREP_Ipc_Send:
        Option<unsafe extern "C" fn(buf: *const c_void, count: c_int, datatype: IpcDatatype, dest: c_int) -> c_int>,
    /// Waits for a message of a process.
    pub SCOREP_Ipc_Recv:
        Option<unsafe extern "C" fn(buf: *mut c_void, count: c_int, datatype: IpcDatatype, source: c_int) -> c_int>,
    /// Waits for all processes.
    pub SCOREP_Ipc_Barrier: Option<unsafe extern "C" fn() -> c_int>,
    /// Copies the root's buffer to all processes.
    pub SCOREP_Ipc_Bcast:
        Option<unsafe extern "C" fn(buf: *mut c_void, count: c_int, datatype: IpcDatatype, root: c_int) -> c_int>,
    /// Gathers `count` values of each process in the root, in the order of ranks. Only the root's `recvbuf` is written.
    pub SCOREP_Ipc_Gather: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            root: c_int,
        ) -> c_int,
    >,
    /// Gathers different numbers of values. The root has all numbers in `recvcounts`, and gets the values without gaps.
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
    /// Gathers as [`SCOREP_Ipc_Gather`](Self::SCOREP_Ipc_Gather) does, in all processes.
    pub SCOREP_Ipc_Allgather: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
        ) -> c_int,
    >,
    /// Combines the processes' values, element by element, in the root.
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
    /// Combines the processes' values, element by element, in all processes.
    pub SCOREP_Ipc_Allreduce: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            operation: IpcOperation,
        ) -> c_int,
    >,
    /// Distributes the root's buffer: `count` values to each process, in the order of ranks.
    pub SCOREP_Ipc_Scatter: Option<
        unsafe extern "C" fn(
            sendbuf: *const c_void,
            recvbuf: *mut c_void,
            count: c_int,
            datatype: IpcDatatype,
            root: c_int,
        ) -> c_int,
    >,
    /// Distributes different numbers of values. The root has all numbers in `sendcounts`.
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
    /// Kind of a location.
    pub SCOREP_Location_GetType: Option<unsafe extern "C" fn(location: *const Location) -> LocationType>,
    /// A location's name.
    pub SCOREP_Location_GetName: Option<unsafe extern "C" fn(location: *const Location) -> *const c_char>,
    /// A location's number in this process.
    pub SCOREP_Location_GetId: Option<unsafe extern "C" fn(location: *const Location) -> u32>,
    /// A location's number in the whole run; known once the ranks are.
    pub SCOREP_Location_GetGlobalId: Option<unsafe extern "C" fn(location: *const Location) -> u64>,
    /// Stores a pointer with a location, under the number that `assign_id` has passed.
    pub SCOREP_Location_SetData:
        Option<unsafe extern "C" fn(location: *const Location, plugin_id: usize, data: *mut c_void)>,
    /// The pointer stored with a location; NULL at first.
    pub SCOREP_Location_GetData:
        Option<unsafe extern "C" fn(location: *const Location, plugin_id: usize) -> *mut c_void>,
    /// The region of a calling context.
    pub SCOREP_CallingContextHandle_GetRegion:
        Option<unsafe extern "C" fn(handle: CallingContextHandle) -> RegionHandle>,
    /// The parent of a calling context.
    pub SCOREP_CallingContextHandle_GetParent:
        Option<unsafe extern "C" fn(handle: CallingContextHandle) -> CallingContextHandle>,
    /// Type of a metric's values.
    pub SCOREP_MetricHandle_GetValueType: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricValueType>,
    /// A metric's name.
    pub SCOREP_MetricHandle_GetName: Option<unsafe extern "C" fn(handle: MetricHandle) -> *const c_char>,
    /// How a profile computes a metric.
    pub SCOREP_MetricHandle_GetProfilingType: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricProfilingType>,
    /// Meaning of a metric's values.
    pub SCOREP_MetricHandle_GetMode: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricMode>,
    /// Source of a metric.
    pub SCOREP_MetricHandle_GetSourceType: Option<unsafe extern "C" fn(handle: MetricHandle) -> MetricSourceType>,
    /// The kind of a programming model.
    pub SCOREP_ParadigmHandle_GetClass: Option<unsafe extern "C" fn(handle: ParadigmHandle) -> ParadigmClass>,
    /// A programming model's name.
    pub SCOREP_ParadigmHandle_GetName: Option<unsafe extern "C" fn(handle: ParadigmHandle) -> *const c_char>,
    /// Type of a programming model.
    pub SCOREP_ParadigmHandle_GetType: Option<unsafe extern "C" fn(handle: ParadigmHandle) -> ParadigmType>,
    /// A parameter's name.
    pub SCOREP_ParameterHandle_GetName: Option<unsafe extern "C" fn(handle: ParameterHandle) -> *const c_char>,
    /// Type of a parameter's values.
    pub SCOREP_ParameterHandle_GetType: Option<unsafe extern "C" fn(handle: ParameterHandle) -> ParameterType>,
    /// A region's number in this process.
    pub SCOREP_RegionHandle_GetId: Option<unsafe extern "C" fn(handle: RegionHandle) -> u32>,
    /// A region's name, as tools show it.
    pub SCOREP_RegionHandle_GetName: Option<unsafe extern "C" fn(handle: RegionHandle) -> *const c_char>,
    /// A region's name, as the compiler writes it.
    pub SCOREP_RegionHandle_GetCanonicalName: Option<unsafe extern "C" fn(handle: RegionHandle) -> *const c_char>,
    /// A region's source file; NULL if it is unknown.
    pub SCOREP_RegionHandle_GetFileName: Option<unsafe extern "C" fn(handle: RegionHandle) -> *const c_char>,
    /// A region's first line.
    pub SCOREP_RegionHandle_GetBeginLine: Option<unsafe extern "C" fn(handle: RegionHandle) -> LineNo>,
    /// A region's last line.
    pub SCOREP_RegionHandle_GetEndLine: Option<unsafe extern "C" fn(handle: RegionHandle) -> LineNo>,
    /// Kind of a region.
    pub SCOREP_RegionHandle_GetType: Option<unsafe extern "C" fn(handle: RegionHandle) -> RegionType>,
    /// The programming model that a region belongs to.
    pub SCOREP_RegionHandle_GetParadigmType: Option<unsafe extern "C" fn(handle: RegionHandle) -> ParadigmType>,
    /// Number of metrics in a sampling set.
    pub SCOREP_SamplingSetHandle_GetNumberOfMetrics: Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> u8>,
    /// A sampling set's metrics.
    pub SCOREP_SamplingSetHandle_GetMetricHandles:
        Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> *const MetricHandle>,
    /// When a sampling set's values are written.
    pub SCOREP_SamplingSetHandle_GetMetricOccurrence:
        Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> MetricOccurrence>,
    /// Whether a sampling set's values belong to an owner other than the location that writes them.
    pub SCOREP_SamplingSetHandle_IsScoped: Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> bool>,
    /// That owner.
    pub SCOREP_SamplingSetHandle_GetScope: Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> MetricScope>,
    /// The kind of location that writes a sampling set.
    pub SCOREP_SamplingSetHandle_GetSamplingSetClass:
        Option<unsafe extern "C" fn(handle: SamplingSetHandle) -> SamplingSetClass>,
    /// A source file's name.
    pub SCOREP_SourceFileHandle_GetName: Option<unsafe extern "C" fn(handle: SourceFileHandle) -> *const c_char>,
    /// A string's characters.
    pub SCOREP_StringHandle_Get: Option<unsafe extern "C" fn(handle: StringHandle) -> *const c_char>,
    /// Calls back with the strictly synchronous metrics of an event. Valid in the function of an enter, exit or sample
    /// only.
    pub SCOREP_Metric_WriteStrictlySynchronousMetrics:
        Option<unsafe extern "C" fn(location: *mut Location, timestamp: u64, cb: WriteMetricsFunction)>,
    /// Calls back with the synchronous metrics of an event.
    pub SCOREP_Metric_WriteSynchronousMetrics:
        Option<unsafe extern "C" fn(location: *mut Location, timestamp: u64, cb: WriteMetricsFunction)>,
    /// Calls back with the asynchronous metrics and their own times.
    pub SCOREP_Metric_WriteAsynchronousMetrics:
        Option<unsafe extern "C" fn(location: *mut Location, cb: WriteMetricsFunction)>,
    /// Writes a heading into MANIFEST.md, from `dump_manifest`.
    pub SCOREP_ConfigManifestSectionHeader: Option<unsafe extern "C" fn(out: *mut FILE, section: *const c_char)>,
    /// Writes a file's name and description into MANIFEST.md, formatted as by `printf`. The name must be shorter than
    /// 240 bytes, and the formatted text shorter than 1000: Score-P 8.4 copies them into buffers without a check.
    pub SCOREP_ConfigManifestSectionEntry: Option<
        unsafe extern "C" fn(out: *mut FILE, file_name: *const c_char, description_format_string: *const c_char, ...),
    >,
}

/// The table of a substrate plugin, returned by value from `SCOREP_SubstratePlugin_<name>_get_info`.
///
/// Score-P copies it. Functions that are not set are not called, and none may unwind. Score-P calls them on the main
/// thread unless a field says otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SubstratePluginInfo {
    /// [`SUBSTRATE_PLUGIN_VERSION`].
    pub plugin_version: u32,
    /// Called once, first. On a result other than 0, Score-P closes the plugin and does not use it.
    pub init: Option<unsafe extern "C" fn() -> c_int>,
    /// Passes the number under which the plugin can store data with locations. Called after `set_callbacks` and
    /// `get_event_functions`, before the metric plugins are loaded.
    pub assign_id: Option<unsafe extern "C" fn(plugin_id: usize)>,
    /// Called once when the processes can communicate: in `MPI_Init`, or without MPI during the start. Ranks are known
    /// from here on. When another rank is here, rank 0 may not have created the experiment directory yet.
    pub init_mpp: Option<unsafe extern "C" fn()>,
    /// Called once, last. The library stays open.
    pub finalize: Option<unsafe extern "C" fn()>,
    /// A location is created, by the thread `parent_location` if that is not NULL. Called on any thread, and on several
    /// at once.
    pub create_location: Option<unsafe extern "C" fn(location: *const Location, parent_location: *const Location)>,
    /// A thread begins to record on its location. Called on that thread, each time that it begins.
    pub activate_cpu_location: Option<
        unsafe extern "C" fn(location: *const Location, parent_location: *const Location, fork_sequence_count: u32),
    >,
    /// A thread stops recording on its location. Threads that still record at the end of the run are stopped then.
    pub deactivate_cpu_location:
        Option<unsafe extern "C" fn(location: *const Location, parent_location: *const Location)>,
    /// A location is about to be deleted, at the end of the run.
    pub delete_location: Option<unsafe extern "C" fn(location: *const Location)>,
    /// Called once at the end, after the last events of Score-P's profile and trace: events written to a location here
    /// are lost. Processes can still communicate.
    pub pre_unify: Option<unsafe extern "C" fn()>,
    /// Called once, after the definitions of all processes have been unified, to write results. Processes can still
    /// communicate.
    pub write_data: Option<unsafe extern "C" fn()>,
    /// A task is created; on any thread.
    pub core_task_create: Option<unsafe extern "C" fn(location: *const Location, task_handle: TaskHandle)>,
    /// A task has completed; on any thread.
    pub core_task_complete: Option<unsafe extern "C" fn(location: *const Location, task_handle: TaskHandle)>,
    /// A definition is created; on any thread, possibly while Score-P holds locks.
    pub new_definition_handle: Option<unsafe extern "C" fn(handle: AnyHandle, type_: HandleType)>,
    /// Called twice, for recording on and off, before any definition. Writes the address of a table with [`NUM_EVENTS`]
    /// functions and returns its length. The plugin owns the table, which must stay alive.
    pub get_event_functions:
        Option<unsafe extern "C" fn(mode: SubstrateMode, functions: *mut *mut SubstrateEventFunction) -> u32>,
    /// Passes Score-P's functions right after `init`, and their size in bytes. If the size is smaller than declared
    /// here, the last functions are missing.
    pub set_callbacks: Option<unsafe extern "C" fn(callbacks: *const SubstratePluginCallbacks, size: usize)>,
    /// Returns whether the plugin has a requirement: the same answer each time, and false for an unknown one. Called at
    /// any time, on any thread.
    pub get_requirement: Option<unsafe extern "C" fn(flag: SubstrateRequirement) -> bool>,
    /// Called once on rank 0, before `init_mpp`, to add entries to MANIFEST.md.
    pub dump_manifest: Option<
        unsafe extern "C" fn(manifest_file: *mut FILE, relative_source_dir: *const c_char, target_dir: *const c_char),
    >,
    /// Zero.
    pub undeclared: [Option<unsafe extern "C" fn()>; 99],
}
