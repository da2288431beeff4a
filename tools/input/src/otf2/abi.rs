//! The part of OTF2's C interface that is used here: handles, numbers and callbacks of OTF2 3. A constant has OTF2's
//! name without `OTF2_`.

use std::ffi::{c_char, c_int, c_void};

/// Declares handles: opaque types of OTF2.
macro_rules! handles {
    ($($name:ident = $theirs:literal;)*) => {$(
        #[doc = concat!("`", $theirs, "`.")]
        #[repr(C)]
        pub(super) struct $name {
            _inside: [u8; 0],
        }
    )*};
}

handles! {
    Archive = "OTF2_Archive";
    EventWriter = "OTF2_EvtWriter";
    LocalDefinitionWriter = "OTF2_DefWriter";
    GlobalDefinitionWriter = "OTF2_GlobalDefWriter";
    AttributeList = "OTF2_AttributeList";
    Reader = "OTF2_Reader";
    GlobalDefinitionReader = "OTF2_GlobalDefReader";
    GlobalDefinitionCallbacks = "OTF2_GlobalDefReaderCallbacks";
    LocalDefinitionReader = "OTF2_DefReader";
    LocalDefinitionCallbacks = "OTF2_DefReaderCallbacks";
    EventReader = "OTF2_EvtReader";
    EventCallbacks = "OTF2_EvtReaderCallbacks";
}

/// `OTF2_CallbackCode`: 0 goes on.
pub(super) type CallbackCode = c_int;
pub(super) const CALLBACK_SUCCESS: CallbackCode = 0;

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
/// `OTF2_GlobalDefReaderCallback_Region`: number, name, canonical name, description, role, paradigm, flags, file,
/// lines.
pub(super) type RegionCallback =
    extern "C" fn(*mut c_void, u32, u32, u32, u32, u8, u8, u32, u32, u32, u32) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_Attribute`: number, name, description, type.
pub(super) type AttributeCallback = extern "C" fn(*mut c_void, u32, u32, u32, u8) -> CallbackCode;
/// `OTF2_GlobalDefReaderCallback_MetricMember`: number, name, description, type, mode, value type, base, exponent,
/// unit.
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
/// A failure without further information.
pub(super) const ERROR_INVALID: ErrorCode = 1;

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
pub(super) const FLUSH: u8 = 1;

/// The major version whose functions have the types declared in `library`.
pub(super) const VERSION_MAJOR: u8 = 3;

pub(super) const FILEMODE_WRITE: u8 = 0;
pub(super) const SUBSTRATE_POSIX: u8 = 1;
pub(super) const COMPRESSION_NONE: u8 = 1;
pub(super) const CHUNK_SIZE_MIN: u64 = 256 * 1024;
pub(super) const CHUNK_SIZE_DEFINITIONS_DEFAULT: u64 = 4 * 1024 * 1024;

/// The number for "no such definition" where OTF2 counts in 32 bits.
pub(super) const UNDEFINED_UINT32: u32 = u32::MAX;
pub(super) const UNDEFINED_TIMESTAMP: u64 = u64::MAX;

pub(super) const SYSTEM_TREE_DOMAIN_MACHINE: u8 = 0;
pub(super) const SYSTEM_TREE_DOMAIN_SHARED_MEMORY: u8 = 1;
pub(super) const LOCATION_GROUP_TYPE_PROCESS: u8 = 1;
pub(super) const LOCATION_TYPE_CPU_THREAD: u8 = 1;
pub(super) const LOCATION_TYPE_ACCELERATOR_STREAM: u8 = 2;

/// Locations, whose places are named by the groups of the next type.
pub(super) const GROUP_TYPE_COMM_LOCATIONS: u8 = 4;
pub(super) const GROUP_TYPE_COMM_GROUP: u8 = 5;
pub(super) const COLLECTIVE_ROOT_NONE: u32 = u32::MAX;

pub(super) const REGION_ROLE_WRAPPER: u8 = 2;
pub(super) const REGION_ROLE_UNKNOWN: u8 = 0;
pub(super) const REGION_ROLE_COLL_ONE2ALL: u8 = 23;
pub(super) const REGION_ROLE_COLL_ALL2ONE: u8 = 24;
pub(super) const REGION_ROLE_COLL_ALL2ALL: u8 = 25;
pub(super) const REGION_ROLE_COLL_OTHER: u8 = 26;
pub(super) const REGION_ROLE_POINT2POINT: u8 = 28;
pub(super) const REGION_ROLE_ARTIFICIAL: u8 = 31;
pub(super) const PARADIGM_USER: u8 = 1;
pub(super) const PARADIGM_UNKNOWN: u8 = 0;
pub(super) const PARADIGM_CUDA: u8 = 5;
pub(super) const PARADIGM_NONE: u8 = 22;
pub(super) const PARADIGM_CLASS_ACCELERATOR: u8 = 3;
/// No record names a communicator of the paradigm.
pub(super) const PARADIGM_PROPERTY_RMA_ONLY: u8 = 2;
pub(super) const REGION_FLAG_NONE: u32 = 0;

/// Which Score-P gives to metrics of plugins.
pub(super) const METRIC_TYPE_OTHER: u8 = 0;
pub(super) const METRIC_SYNCHRONOUS_STRICT: u8 = 0;
pub(super) const METRIC_ASYNCHRONOUS: u8 = 2;
pub(super) const RECORDER_KIND_CPU: u8 = 2;
pub(super) const RECORDER_KIND_GPU: u8 = 3;

pub(super) const METRIC_VALUE_ACCUMULATED: u8 = 0;
pub(super) const METRIC_VALUE_ABSOLUTE: u8 = 1;
pub(super) const METRIC_VALUE_RELATIVE: u8 = 2;
pub(super) const METRIC_TIMING_START: u8 = 0;
pub(super) const METRIC_TIMING_POINT: u8 = 1 << 4;
pub(super) const METRIC_TIMING_LAST: u8 = 2 << 4;
pub(super) const METRIC_TIMING_NEXT: u8 = 3 << 4;

pub(super) const TYPE_STRING: u8 = 11;
pub(super) const TYPE_UINT64: u8 = 4;
pub(super) const TYPE_INT64: u8 = 8;
pub(super) const TYPE_DOUBLE: u8 = 10;
pub(super) const BASE_BINARY: u8 = 0;
pub(super) const BASE_DECIMAL: u8 = 1;
