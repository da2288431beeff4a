//! The plain form of the interfaces, for builds without Score-P's headers: the metric plugin interface, version 1, and
//! the substrate plugin interface, version 3, written by hand from their behaviour. It declares the types and constants
//! that the library and the tool use. Names of fields are Score-P's, as in the generated form.

use libc::FILE;
use std::ffi::{c_char, c_int, c_void};

/// Hands the declarations to a macro: to [`declare`] below, and to those of the layout test.
macro_rules! interface { ($use:ident $($module:ident)?) => { $use! { $($module)?
types {
    /// A definition of this process. Handles differ between processes; 0 is none.
    AnyHandle = u32;
    LocationGroupHandle = AnyHandle;
    MetricHandle = AnyHandle;
    RegionHandle = AnyHandle;
    SamplingSetHandle = AnyHandle;
    SourceFileHandle = AnyHandle;
    StringHandle = AnyHandle;
    LineNo = u32;
    /// Exit status of the program.
    ExitStatus = i64;
    LocationType = u32;
    ParadigmType = u32;
    RegionType = u32;
    MetricSourceType = u32;
    /// How a profile computes a metric.
    MetricProfilingType = u32;
    /// When the values of a sampling set are written.
    MetricOccurrence = u32;
    /// The kind of location that writes a sampling set.
    SamplingSetClass = u32;
    /// Meaning of a metric's values, and the period that a value describes.
    ///
    /// The first part of a name is the meaning: `ACCUMULATED` counts from the start of the run, `ABSOLUTE` is a value
    /// at a time, `RELATIVE` is the change since the previous value. The second part is the period: `START` from the
    /// start of the run, `POINT` the instant only, `LAST` since the previous value, `NEXT` until the next value. A trace
    /// keeps the mode; a profile ignores it.
    MetricMode = u32;
    /// Type of the 64 bits of a value.
    MetricValueType = u32;
    /// Base of a metric's exponent.
    MetricBase = u32;
    /// Threads that Score-P asks for values.
    MetricPer = u32;
    /// When Score-P asks for values, and so which callback it needs.
    MetricSynchronicity = u32;
    /// The moment at which `synchronize` is called.
    SynchronizationMode = u32;
    /// Whether Score-P records events, when it asks for a table of event functions.
    SubstrateMode = u32;
    /// A requirement that Score-P asks a plugin about.
    SubstrateRequirement = u32;
    /// Index of an event's function in the table of `get_event_functions`.
    SubstrateEvent = u32;
    /// A function in the table; Score-P calls it with the arguments of its event.
    SubstrateEventFunction = Option<unsafe extern "C" fn()>;
    /// Called once on the finalizing thread, after the metric plugins' `synchronize` and before any location is
    /// deactivated. Events written to a location here still reach the profile and the trace.
    ProgramEndFunction = Option<unsafe extern "C" fn(
        location: *mut Location, timestamp: u64, exit_status: ExitStatus, program_region_handle: RegionHandle,
    )>;
    /// Type of the values that Score-P's communication transfers.
    IpcDatatype = u32;
}
constants {
    /// Score-P accepts a plugin with version 0, but never calls its `synchronize`.
    PLUGIN_VERSION: u32 = 1;
    SUBSTRATE_PLUGIN_VERSION: u32 = 3;

    /// As a parent, it means that the metric has none.
    INVALID_METRIC: MetricHandle = 0;
    /// For a region whose place in the source is unknown.
    INVALID_SOURCE_FILE: SourceFileHandle = 0;
    INVALID_LINE_NO: LineNo = 0;

    /// A stream of an accelerator.
    LOCATION_TYPE_GPU: LocationType = 1;
    PARADIGM_CUDA: ParadigmType = 11;
    REGION_FUNCTION: RegionType = 1;
    REGION_COLL_ONE2ALL: RegionType = 11;
    REGION_COLL_ALL2ONE: RegionType = 12;
    REGION_COLL_ALL2ALL: RegionType = 13;
    REGION_COLL_OTHER: RegionType = 14;
    /// A message, or a part of one.
    REGION_POINT2POINT: RegionType = 15;
    /// A region that is no function of the program.
    REGION_ARTIFICIAL: RegionType = 36;

    SOURCE_TYPE_OTHER: MetricSourceType = 3;
    /// The sum of the values, for the call path at which they were written and none above it.
    PROFILING_TYPE_EXCLUSIVE: MetricProfilingType = 0;
    /// Independently of events.
    OCCURRENCE_ASYNCHRONOUS: MetricOccurrence = 2;
    /// Streams of accelerators.
    SAMPLING_SET_GPU: SamplingSetClass = 2;

    MODE_ACCUMULATED_START: MetricMode = 0;
    MODE_ACCUMULATED_POINT: MetricMode = 1;
    MODE_ACCUMULATED_LAST: MetricMode = 2;
    MODE_ACCUMULATED_NEXT: MetricMode = 3;
    MODE_ABSOLUTE_POINT: MetricMode = 4;
    MODE_ABSOLUTE_LAST: MetricMode = 5;
    MODE_ABSOLUTE_NEXT: MetricMode = 6;
    MODE_RELATIVE_POINT: MetricMode = 7;
    MODE_RELATIVE_LAST: MetricMode = 8;
    MODE_RELATIVE_NEXT: MetricMode = 9;
    VALUE_INT64: MetricValueType = 0;
    VALUE_UINT64: MetricValueType = 1;
    /// The bits of a double, as [`f64::to_bits`] returns them.
    VALUE_DOUBLE: MetricValueType = 2;
    BASE_BINARY: MetricBase = 0;
    BASE_DECIMAL: MetricBase = 1;

    /// Every thread of every process.
    PER_THREAD: MetricPer = 0;
    /// The first thread of every process.
    PER_PROCESS: MetricPer = 1;
    /// One thread of the whole run.
    ONCE: MetricPer = 3;
    /// At every event, with `get_current_value`, which must return a value. Requires [`PER_THREAD`].
    STRICTLY_SYNC: MetricSynchronicity = 0;
    /// At every event, with `get_optional_value`, which may return no value.
    SYNC: MetricSynchronicity = 1;
    /// Once at the end, with `get_all_values`, which returns all values with their times. Dropped if Score-P makes a
    /// profile.
    ASYNC: MetricSynchronicity = 3;
    /// The measurement ends: in an exit handler, when handlers registered later have already run.
    SYNCHRONIZATION_MODE_END: SynchronizationMode = 2;

    /// The plugin needs an experiment directory. Asked during the start; in a program with MPI, after the first events.
    REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY: SubstrateRequirement = 0;
    /// The measurement ends: a [`ProgramEndFunction`].
    EVENT_PROGRAM_END: SubstrateEvent = 64;
    /// Length of the table.
    NUM_EVENTS: SubstrateEvent = 83;
    /// Bytes, never converted.
    IPC_BYTE: IpcDatatype = 0;
    IPC_INT: IpcDatatype = 3;
}
structs {
    /// A metric, as `get_event_info` describes it. An array of metrics ends with an entry without a name.
    MetricProperties {
        /// NUL-terminated; letters, digits and underscores. From `malloc`: Score-P frees it at the end.
        name: *mut c_char,
        /// NUL-terminated, or NULL for none. Used until the end of the process and never freed.
        description: *mut c_char,
        mode: MetricMode,
        value_type: MetricValueType,
        base: MetricBase,
        /// A value is in units of `base` to the power of `exponent`.
        exponent: i64,
        /// NUL-terminated, or NULL for a number without a unit. Used until the end of the process and never freed.
        unit: *mut c_char,
    }

    /// A value of an asynchronous metric.
    TimeValuePair {
        /// Ticks of Score-P's clock. They must not fall within a list: Score-P silently drops an older value.
        timestamp: u64,
        /// Bits of the value.
        value: u64,
    }

    /// The table of a metric plugin, returned by value from `SCOREP_MetricPlugin_<name>_get_info`.
    ///
    /// Score-P copies it. It calls the callbacks on the application's threads, and none may unwind.
    MetricPluginInfo {
        plugin_version: u32,
        run_per: MetricPer,
        sync: MetricSynchronicity,
        /// Least number of ticks between two readings of a [`SYNC`] metric; other kinds ignore it.
        delta_t: u64,
        /// Called once, first after the clock has been set. On a result other than 0 the plugin is not used, but still
        /// finalized.
        initialize: Option<unsafe extern "C" fn() -> i32>,
        /// Called once, last, just before the library is closed.
        finalize: Option<unsafe extern "C" fn()>,
        /// Called once for each token. Returns the metrics that it stands for, never NULL: Score-P aborts
        /// on NULL. Score-P owns the array from then on.
        get_event_info: Option<unsafe extern "C" fn(token: *mut c_char) -> *mut MetricProperties>,
        /// Called for each metric on each thread that is asked for values. Returns the metric's number from then on, or
        /// a negative number on failure. A strictly synchronous metric must not fail.
        add_counter: Option<unsafe extern "C" fn(metric_name: *mut c_char) -> i32>,
        /// Returns the bits of the current value; required by [`STRICTLY_SYNC`].
        get_current_value: Option<unsafe extern "C" fn(id: i32) -> u64>,
        /// Writes the bits of the current value and returns true, or returns false; required by [`SYNC`].
        get_optional_value: Option<unsafe extern "C" fn(id: i32, value: *mut u64) -> bool>,
        /// Passes the function that reads Score-P's clock, once, before `initialize`; required by [`ASYNC`].
        set_clock_function: Option<unsafe extern "C" fn(clock_time: Option<unsafe extern "C" fn() -> u64>)>,
        /// Writes a list of values and returns their number; required by [`ASYNC`]. Score-P frees the list; NULL with 0
        /// is allowed.
        get_all_values: Option<unsafe extern "C" fn(id: i32, time_value_list: *mut *mut TimeValuePair) -> u64>,
        /// Called once at the begin and once at the end, if the plugin has any metric.
        synchronize: Option<unsafe extern "C" fn(is_responsible: bool, sync_mode: SynchronizationMode)>,
        reserved: [u64; 92],
    }

    /// The table of a substrate plugin, returned by value from `SCOREP_SubstratePlugin_<name>_get_info`.
    ///
    /// Score-P copies it. Functions that are not set are not called, and none may unwind. Score-P calls them on the
    /// main thread unless a field says otherwise.
    SubstratePluginInfo {
        plugin_version: u32,
        /// Called once, first. On a result other than 0, Score-P closes the plugin and does not use it.
        init: Option<unsafe extern "C" fn() -> c_int>,
        assign_id: UnusedFunction,
        /// Called once when the processes can communicate: in `MPI_Init`, or without MPI during the start. Ranks are
        /// known from here on. When another rank is here, rank 0 may not have created the experiment directory yet.
        init_mpp: Option<unsafe extern "C" fn()>,
        finalize: UnusedFunction, create_location: UnusedFunction,
        /// A thread begins to record on its location. Called on that thread, each time that it begins.
        activate_cpu_location: Option<
            unsafe extern "C" fn(location: *const Location, parent_location: *const Location, fork_sequence_count: u32),
        >,
        deactivate_cpu_location: UnusedFunction, delete_location: UnusedFunction,
        /// Called once at the end, after the last events of Score-P's profile and trace: events written to a location
        /// here are lost. Processes can still communicate.
        pre_unify: Option<unsafe extern "C" fn()>,
        /// Called once, after the definitions of all processes have been unified, to write results. Processes can still
        /// communicate.
        write_data: Option<unsafe extern "C" fn()>,
        core_task_create: UnusedFunction, core_task_complete: UnusedFunction, new_definition_handle: UnusedFunction,
        /// Called twice, for recording on and off, before any definition. Writes the address of a table with
        /// [`NUM_EVENTS`] functions and returns its length. The plugin owns the table, which must stay alive.
        get_event_functions:
            Option<unsafe extern "C" fn(mode: SubstrateMode, functions: *mut *mut SubstrateEventFunction) -> u32>,
        /// Passes Score-P's functions right after `init`, and their size in bytes. If the size is smaller than declared
        /// here, the last functions are missing.
        set_callbacks: Option<unsafe extern "C" fn(callbacks: *const SubstratePluginCallbacks, size: usize)>,
        /// Returns whether the plugin has a requirement: the same answer each time, and false for an unknown one.
        /// Called at any time, on any thread.
        get_requirement: Option<unsafe extern "C" fn(flag: SubstrateRequirement) -> bool>,
        /// Called once on rank 0, before `init_mpp`, to add entries to MANIFEST.md.
        dump_manifest: Option<unsafe extern "C" fn(
            manifest_file: *mut FILE, relative_source_dir: *const c_char, target_dir: *const c_char,
        )>,
        undeclared: [UnusedFunction; 99],
    }

    /// Functions that Score-P offers to a substrate plugin. They are all set, and valid until the process ends.
    ///
    /// The `Ipc` functions are collective over all processes of the run (one process without MPI) and carry Score-P's
    /// own messages, too. So all processes call them in the same order, on the main thread, from `init_mpp` to
    /// `write_data`; a process that calls one alone waits forever. They return 0 on success. Buffers and counts are the
    /// caller's; lengths count values of the type, not bytes.
    SubstratePluginCallbacks {
        /// Path of the experiment directory, from `init_mpp` on; NULL if there is none. The directory is renamed after
        /// the last callback; until then, paths made of it stay valid.
        SCOREP_GetExperimentDirName: Option<unsafe extern "C" fn() -> *const c_char>,
        /// Number of processes.
        SCOREP_Ipc_GetSize: Option<unsafe extern "C" fn() -> c_int>,
        /// Rank of this process.
        SCOREP_Ipc_GetRank: Option<unsafe extern "C" fn() -> c_int>,
        /// Sends to a process and waits until the buffer can be reused.
        SCOREP_Ipc_Send:
            Option<unsafe extern "C" fn(buf: *const c_void, count: c_int, datatype: IpcDatatype, dest: c_int) -> c_int>,
        /// Waits for a message of a process.
        SCOREP_Ipc_Recv:
            Option<unsafe extern "C" fn(buf: *mut c_void, count: c_int, datatype: IpcDatatype, source: c_int) -> c_int>,
        SCOREP_Ipc_Barrier: UnusedFunction, SCOREP_Ipc_Bcast: UnusedFunction,
        /// Gathers `count` values of each process in the root, in the order of ranks. Only the root's `recvbuf` is
        /// written.
        SCOREP_Ipc_Gather: Option<unsafe extern "C" fn(
            sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: IpcDatatype, root: c_int,
        ) -> c_int>,
        SCOREP_Ipc_Gatherv: UnusedFunction,
        /// Gathers as `SCOREP_Ipc_Gather` does, in all processes.
        SCOREP_Ipc_Allgather: Option<unsafe extern "C" fn(
            sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: IpcDatatype,
        ) -> c_int>,
        SCOREP_Ipc_Reduce: UnusedFunction, SCOREP_Ipc_Allreduce: UnusedFunction, SCOREP_Ipc_Scatter: UnusedFunction,
        SCOREP_Ipc_Scatterv: UnusedFunction, SCOREP_Location_GetType: UnusedFunction,
        SCOREP_Location_GetName: UnusedFunction, SCOREP_Location_GetId: UnusedFunction,
        SCOREP_Location_GetGlobalId: UnusedFunction, SCOREP_Location_SetData: UnusedFunction,
        SCOREP_Location_GetData: UnusedFunction, SCOREP_CallingContextHandle_GetRegion: UnusedFunction,
        SCOREP_CallingContextHandle_GetParent: UnusedFunction, SCOREP_MetricHandle_GetValueType: UnusedFunction,
        SCOREP_MetricHandle_GetName: UnusedFunction, SCOREP_MetricHandle_GetProfilingType: UnusedFunction,
        SCOREP_MetricHandle_GetMode: UnusedFunction, SCOREP_MetricHandle_GetSourceType: UnusedFunction,
        SCOREP_ParadigmHandle_GetClass: UnusedFunction, SCOREP_ParadigmHandle_GetName: UnusedFunction,
        SCOREP_ParadigmHandle_GetType: UnusedFunction, SCOREP_ParameterHandle_GetName: UnusedFunction,
        SCOREP_ParameterHandle_GetType: UnusedFunction, SCOREP_RegionHandle_GetId: UnusedFunction,
        SCOREP_RegionHandle_GetName: UnusedFunction, SCOREP_RegionHandle_GetCanonicalName: UnusedFunction,
        SCOREP_RegionHandle_GetFileName: UnusedFunction, SCOREP_RegionHandle_GetBeginLine: UnusedFunction,
        SCOREP_RegionHandle_GetEndLine: UnusedFunction, SCOREP_RegionHandle_GetType: UnusedFunction,
        SCOREP_RegionHandle_GetParadigmType: UnusedFunction,
        SCOREP_SamplingSetHandle_GetNumberOfMetrics: UnusedFunction,
        SCOREP_SamplingSetHandle_GetMetricHandles: UnusedFunction,
        SCOREP_SamplingSetHandle_GetMetricOccurrence: UnusedFunction,
        SCOREP_SamplingSetHandle_IsScoped: UnusedFunction, SCOREP_SamplingSetHandle_GetScope: UnusedFunction,
        SCOREP_SamplingSetHandle_GetSamplingSetClass: UnusedFunction, SCOREP_SourceFileHandle_GetName: UnusedFunction,
        SCOREP_StringHandle_Get: UnusedFunction, SCOREP_Metric_WriteStrictlySynchronousMetrics: UnusedFunction,
        SCOREP_Metric_WriteSynchronousMetrics: UnusedFunction, SCOREP_Metric_WriteAsynchronousMetrics: UnusedFunction,
        /// Writes a heading into MANIFEST.md, from `dump_manifest`.
        SCOREP_ConfigManifestSectionHeader: Option<unsafe extern "C" fn(out: *mut FILE, section: *const c_char)>,
        /// Writes a file's name and description into MANIFEST.md, formatted as by `printf`. The name must be shorter
        /// than 240 bytes, and the formatted text shorter than 1000: Score-P 8.4 copies them into buffers without a
        /// check.
        SCOREP_ConfigManifestSectionEntry: Option<unsafe extern "C" fn(
            out: *mut FILE, file_name: *const c_char, description_format_string: *const c_char, ...
        )>,
    }
}
} } }

/// A thread or stream on which events happen; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Location {
    _unused: [u8; 0],
}

/// A function that this library neither calls nor has: it is not set, and its arguments are not declared.
pub type UnusedFunction = Option<unsafe extern "C" fn()>;

macro_rules! declare {
    (
        types { $($(#[$type_doc:meta])* $type:ident = $is:ty;)* }
        constants { $($(#[$constant_doc:meta])* $constant:ident: $of:ty = $value:literal;)* }
        structs { $($(#[$doc:meta])* $struct:ident { $($(#[$field_doc:meta])* $field:ident: $holds:ty),* $(,)? })* }
    ) => {
        $($(#[$type_doc])* pub type $type = $is;)*
        $($(#[$constant_doc])* pub const $constant: $of = $value;)*
        $($(#[$doc])* #[derive(Clone, Copy, Debug)] #[repr(C)] pub struct $struct {
            $($(#[$field_doc])* pub $field: $holds),*
        })*
    };
}

interface!(declare);

#[cfg(test)]
pub(super) use interface;
