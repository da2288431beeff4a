//! The part of OTF2's C interface that is used here: handles, numbers and callbacks of OTF2 3.

use std::ffi::{c_char, c_int, c_void};

/// Declares handles: opaque types of OTF2.
macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[repr(C)]
        pub(super) struct $name {
            _inside: [u8; 0],
        }
    )*};
}

handles! {
    /// `OTF2_Archive`.
    Archive;
    /// `OTF2_EvtWriter`.
    EventWriter;
    /// `OTF2_DefWriter`, of one location.
    LocalDefinitionWriter;
    /// `OTF2_GlobalDefWriter`.
    GlobalDefinitionWriter;
    /// `OTF2_AttributeList`.
    AttributeList;
    /// `OTF2_Reader`.
    Reader;
    /// `OTF2_GlobalDefReader`.
    GlobalDefinitionReader;
    /// `OTF2_GlobalDefReaderCallbacks`.
    GlobalDefinitionCallbacks;
    /// `OTF2_DefReader`, of one location.
    LocalDefinitionReader;
    /// `OTF2_DefReaderCallbacks`.
    LocalDefinitionCallbacks;
    /// `OTF2_EvtReader`, of one location.
    EventReader;
    /// `OTF2_EvtReaderCallbacks`.
    EventCallbacks;
}

/// `OTF2_CallbackCode`: 0 goes on.
pub(super) type CallbackCode = c_int;
/// `OTF2_CALLBACK_SUCCESS`.
pub(super) const GO_ON: CallbackCode = 0;

/// `OTF2_GlobalDefReaderCallback_ClockProperties`: ticks per second, offset, length, time of day.
pub(super) type ClockCallback = extern "C" fn(*mut c_void, u64, u64, u64, u64) -> CallbackCode;
/// `OTF2_DefReaderCallback_ClockOffset`: time, offset, standard deviation.
pub(super) type OffsetCallback = unsafe extern "C" fn(*mut c_void, u64, i64, f64) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_String`.
pub(super) type StringCallback = unsafe extern "C" fn(*mut c_void, u32, *const c_char) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_SystemTreeNode`: number, name, class, parent.
pub(super) type NodeCallback = extern "C" fn(*mut c_void, u32, u32, u32, u32) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_LocationGroup`: number, name, type, node, creator.
pub(super) type GroupCallback = extern "C" fn(*mut c_void, u32, u32, u8, u32, u32) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_Location`: number, name, type, events, group.
pub(super) type LocationCallback = extern "C" fn(*mut c_void, u64, u32, u8, u64, u32) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_Region`: number, name, canonical name, description, role, paradigm, flags, file, lines.
pub(super) type RegionCallback =
    extern "C" fn(*mut c_void, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_Attribute`: number, name, description, type.
pub(super) type AttributeCallback = extern "C" fn(*mut c_void, u32, u32, u32, u8) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_MetricMember`: number, name, description, type, mode, value type, base, exponent, unit.
pub(super) type MemberCallback = extern "C" fn(*mut c_void, u32, u32, u32, u8, u8, u8, u8, i64, u32) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_MetricClass`: number, count, members, occurrence, recorder kind.
pub(super) type ClassCallback = unsafe extern "C" fn(*mut c_void, u32, u8, *const u32, u8, u8) -> CallbackCode;
/// `OTF2_EvtReaderCallback_Enter` and `_Leave`: location, time, position, data, attributes, region.
pub(super) type RegionEventCallback =
    unsafe extern "C" fn(u64, u64, u64, *mut c_void, *mut AttributeList, u32) -> CallbackCode;
/// `OTF2_EvtReaderCallback_Metric`: location, time, position, data, attributes, metric, count, types, values as bits.
pub(super) type MetricEventCallback = unsafe extern "C" fn(
    u64,
    u64,
    u64,
    *mut c_void,
    *mut AttributeList,
    u32,
    u8,
    *const u8,
    *const u64,
) -> CallbackCode;

/// `OTF2_EvtReaderCallback_BufferFlush`: location, time, position, data, attributes, end of the flush.
pub(super) type FlushEventCallback =
    unsafe extern "C" fn(u64, u64, u64, *mut c_void, *mut AttributeList, u64) -> CallbackCode;

/// `OTF2_ErrorCode`: 0 is success, negative numbers are warnings.
pub(super) type ErrorCode = c_int;
/// The code of success.
pub(super) const SUCCESS: ErrorCode = 0;
/// `OTF2_ERROR_INVALID`: a failure without further information.
pub(super) const ERROR: ErrorCode = 1;

/// `OTF2_ErrorCallback`. The last argument is a `va_list`, which C passes as one pointer on every Linux platform that
/// NCCL supports.
pub(super) type ErrorCallback =
    extern "C" fn(*mut c_void, *const c_char, u64, *const c_char, ErrorCode, *const c_char, *mut c_void) -> ErrorCode;

/// `OTF2_FlushCallbacks`.
#[repr(C)]
pub(super) struct FlushCallbacks {
    /// Called before a buffer is flushed: user data, file type, location, caller's data, whether it is the last flush.
    pub(super) before: extern "C" fn(*mut c_void, u8, u64, *mut c_void, bool) -> u8,
    /// Returns the time after a flush, for a BufferFlush event; null for no such event.
    pub(super) after: Option<extern "C" fn(*mut c_void, u8, u64) -> u64>,
}
/// `OTF2_FLUSH`.
pub(super) const FLUSH: u8 = 1;

/// The major version whose functions have the types declared in `library`.
pub(super) const VERSION_MAJOR: u8 = 3;

/// `OTF2_FILEMODE_WRITE`.
pub(super) const FILE_MODE_WRITE: u8 = 0;
/// `OTF2_SUBSTRATE_POSIX`.
pub(super) const SUBSTRATE_POSIX: u8 = 1;
/// `OTF2_COMPRESSION_NONE`.
pub(super) const COMPRESSION_NONE: u8 = 1;
/// `OTF2_CHUNK_SIZE_MIN`.
pub(super) const CHUNK_SIZE_MIN: u64 = 256 * 1024;
/// `OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT`.
pub(super) const CHUNK_SIZE_DEFINITIONS: u64 = 4 * 1024 * 1024;

/// The number for "no such definition" where OTF2 counts in 32 bits.
pub(super) const UNDEFINED: u32 = u32::MAX;
/// `OTF2_UNDEFINED_TIMESTAMP`.
pub(super) const UNDEFINED_TIMESTAMP: u64 = u64::MAX;

/// `OTF2_SYSTEM_TREE_DOMAIN_MACHINE`.
pub(super) const DOMAIN_MACHINE: u8 = 0;
/// `OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY`.
pub(super) const DOMAIN_SHARED_MEMORY: u8 = 1;
/// `OTF2_LOCATION_GROUP_TYPE_PROCESS`.
pub(super) const GROUP_PROCESS: u8 = 1;
/// `OTF2_LOCATION_TYPE_CPU_THREAD`.
pub(super) const LOCATION_CPU_THREAD: u8 = 1;
/// `OTF2_LOCATION_TYPE_ACCELERATOR_STREAM`.
pub(super) const LOCATION_ACCELERATOR_STREAM: u8 = 2;

/// `OTF2_GROUP_TYPE_COMM_LOCATIONS`: locations, whose places are named by the groups of the next type.
pub(super) const GROUP_COMM_LOCATIONS: u8 = 4;
/// `OTF2_GROUP_TYPE_COMM_GROUP`.
pub(super) const GROUP_COMM_RANKS: u8 = 5;
/// `OTF2_COLLECTIVE_ROOT_NONE`.
pub(super) const ROOT_NONE: u32 = u32::MAX;

/// `OTF2_REGION_ROLE_WRAPPER`.
pub(super) const ROLE_WRAPPER: u8 = 2;
/// `OTF2_REGION_ROLE_UNKNOWN`.
pub(super) const ROLE_UNKNOWN: u8 = 0;
/// `OTF2_REGION_ROLE_COLL_ONE2ALL`.
pub(super) const ROLE_ONE_TO_ALL: u8 = 23;
/// `OTF2_REGION_ROLE_COLL_ALL2ONE`.
pub(super) const ROLE_ALL_TO_ONE: u8 = 24;
/// `OTF2_REGION_ROLE_COLL_ALL2ALL`.
pub(super) const ROLE_ALL_TO_ALL: u8 = 25;
/// `OTF2_REGION_ROLE_COLL_OTHER`.
pub(super) const ROLE_COLLECTIVE: u8 = 26;
/// `OTF2_REGION_ROLE_POINT2POINT`.
pub(super) const ROLE_POINT_TO_POINT: u8 = 28;
/// `OTF2_REGION_ROLE_ARTIFICIAL`.
pub(super) const ROLE_ARTIFICIAL: u8 = 31;
/// `OTF2_PARADIGM_USER`.
pub(super) const PARADIGM_USER: u8 = 1;
/// `OTF2_PARADIGM_UNKNOWN`.
pub(super) const PARADIGM_UNKNOWN: u8 = 0;
/// `OTF2_PARADIGM_CUDA`.
pub(super) const PARADIGM_CUDA: u8 = 5;
/// `OTF2_PARADIGM_NONE`.
pub(super) const PARADIGM_NONE: u8 = 22;
/// `OTF2_PARADIGM_CLASS_ACCELERATOR`.
pub(super) const CLASS_ACCELERATOR: u8 = 3;
/// `OTF2_PARADIGM_PROPERTY_RMA_ONLY`: no record names a communicator of the paradigm.
pub(super) const PROPERTY_RMA_ONLY: u8 = 2;
/// `OTF2_REGION_FLAG_NONE`.
pub(super) const REGION_FLAG_NONE: u32 = 0;

/// `OTF2_METRIC_TYPE_OTHER`, which Score-P gives to metrics of plugins.
pub(super) const METRIC_OTHER: u8 = 0;
/// `OTF2_METRIC_SYNCHRONOUS_STRICT`.
pub(super) const OCCURRENCE_STRICT: u8 = 0;
/// `OTF2_METRIC_ASYNCHRONOUS`.
pub(super) const OCCURRENCE_ASYNCHRONOUS: u8 = 2;
/// `OTF2_RECORDER_KIND_CPU`.
pub(super) const RECORDER_CPU: u8 = 2;
/// `OTF2_RECORDER_KIND_GPU`.
pub(super) const RECORDER_GPU: u8 = 3;

/// `OTF2_METRIC_VALUE_ACCUMULATED`.
pub(super) const VALUE_ACCUMULATED: u8 = 0;
/// `OTF2_METRIC_VALUE_ABSOLUTE`.
pub(super) const VALUE_ABSOLUTE: u8 = 1;
/// `OTF2_METRIC_VALUE_RELATIVE`.
pub(super) const VALUE_RELATIVE: u8 = 2;
/// `OTF2_METRIC_TIMING_START`.
pub(super) const TIMING_START: u8 = 0;
/// `OTF2_METRIC_TIMING_POINT`.
pub(super) const TIMING_POINT: u8 = 1 << 4;
/// `OTF2_METRIC_TIMING_LAST`.
pub(super) const TIMING_LAST: u8 = 2 << 4;
/// `OTF2_METRIC_TIMING_NEXT`.
pub(super) const TIMING_NEXT: u8 = 3 << 4;

/// `OTF2_TYPE_STRING`.
pub(super) const TYPE_STRING: u8 = 11;
/// `OTF2_TYPE_UINT64`.
pub(super) const TYPE_UINT64: u8 = 4;
/// `OTF2_TYPE_INT64`.
pub(super) const TYPE_INT64: u8 = 8;
/// `OTF2_TYPE_DOUBLE`.
pub(super) const TYPE_DOUBLE: u8 = 10;
/// `OTF2_BASE_BINARY`.
pub(super) const BASE_BINARY: u8 = 0;
/// `OTF2_BASE_DECIMAL`.
pub(super) const BASE_DECIMAL: u8 = 1;
