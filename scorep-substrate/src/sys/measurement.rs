//! Types of Score-P's measurement library that have no public header. The library's functions create locations, regions
//! and counters, and return the free memory; `measurement::symbols` lists them.
//!
//! This library finds them by name at run time. No header that is installed confirms their types: they follow from the
//! behaviour of Score-P 8.4 and 9.0 (`libscorep_measurement.so.11` and `.so.13`), and another release is tried first.
//! Their parameters have public types, which are compared with the headers like the rest of [`sys`](super), or the
//! types of this file.

use super::{AnyHandle, RegionHandle};
use std::ffi::c_int;

/// An attribute: a property of single events, in the trace only.
pub type AttributeHandle = AnyHandle;

/// The type of an attribute's values.
pub type AttributeType = u32;
/// The values are [`u64`].
pub const ATTRIBUTE_TYPE_UINT64: AttributeType = 7;
/// The values are [`StringHandle`](super::StringHandle)s.
pub const ATTRIBUTE_TYPE_STRING: AttributeType = 10;

/// `SCOREP_EnterRegion` and `SCOREP_ExitRegion`: enter and exit a region on the calling thread's location, at the
/// current time.
pub type EnterRegion = unsafe extern "C" fn(region: RegionHandle);

/// Allocator of pages; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Allocator {
    _unused: [u8; 0],
}

/// Pages of memory for one purpose; Score-P's own, and opaque.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PageManager {
    _unused: [u8; 0],
}

/// Memory in use, as `SCOREP_Allocator_GetStats` fills it in. The pages of `maintenance` are included in those of
/// `pages`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryUse {
    /// Greatest number of pages in use at a time.
    pub pages_allocated: u32,
    /// Number of pages in use.
    pub pages_used: u32,
    /// Bytes allocated.
    pub memory_allocated: usize,
    /// Bytes in use.
    pub memory_used: usize,
    /// Bytes available.
    pub memory_available: usize,
    /// Bytes lost to alignment.
    pub memory_alignment_loss: usize,
}

/// `scorep_measurement_phase`: the phase of the measurement. A variable, which Score-P changes.
pub type MeasurementPhase = c_int;
/// The measurement is in progress.
pub const PHASE_WITHIN: MeasurementPhase = 0;

/// `scorep_get_in_measurement`: returns the calling thread's count (a `sig_atomic_t`) of how deep it is inside Score-P.
/// While it is above 0, Score-P records none of the calls that it intercepts.
pub type GetInMeasurement = unsafe extern "C" fn() -> *mut c_int;

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::MemoryUse;
    use std::mem::offset_of;

    #[test]
    fn memory_use_has_the_layout_of_score_p_8_4() {
        let offsets = [
            offset_of!(MemoryUse, pages_used),
            offset_of!(MemoryUse, memory_allocated),
            offset_of!(MemoryUse, memory_used),
            offset_of!(MemoryUse, memory_available),
            offset_of!(MemoryUse, memory_alignment_loss),
        ];
        assert_eq!((size_of::<MemoryUse>(), offsets), (40, [4, 8, 16, 24, 32]));
    }
}
