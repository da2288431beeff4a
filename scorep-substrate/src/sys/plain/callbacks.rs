//! The functions that Score-P offers to a substrate plugin, written by hand from their behaviour.

use super::definition::{
    CallingContextHandle, LineNo, Location, LocationType, MetricHandle, MetricOccurrence, MetricProfilingType,
    MetricScope, MetricSourceType, ParadigmClass, ParadigmHandle, ParadigmType, ParameterHandle, ParameterType,
    RegionHandle, RegionType, SamplingSetClass, SamplingSetHandle, SourceFileHandle, StringHandle,
};
use super::metric::{MetricMode, MetricValueType};
use libc::FILE;
use std::ffi::{c_char, c_int, c_void};

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
