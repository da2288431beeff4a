//! NVML's GPU performance monitoring (GPM): rates over single NVLinks, of Hopper GPUs and newer ones.
//!
//! NVML's fields count the bytes of all links, and some drivers give that sum for each link. GPM counts by link. It
//! gives no bytes, but the rate between two samples.

use super::function::{Handle, function};
use super::layout::{GpmMetricsGet, GpmSupport};
use std::ffi::{c_int, c_void};
use std::time::{Duration, Instant};

/// Least time between two samples, by NVML's documentation: GPM refreshes its counters every 100 ms.
pub const LEAST: Duration = Duration::from_millis(100);

/// GPM's functions, declared as NVML's documentation has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gpm {
    pub(super) support: unsafe extern "C" fn(Handle, *mut GpmSupport) -> c_int,
    pub(super) alloc: unsafe extern "C" fn(*mut Handle) -> c_int,
    free: unsafe extern "C" fn(Handle) -> c_int,
    pub(super) sample: unsafe extern "C" fn(Handle, Handle) -> c_int,
    pub(super) metrics: unsafe extern "C" fn(*mut GpmMetricsGet) -> c_int,
}

impl Gpm {
    /// Looks the functions up. Drivers before 520 lack them.
    ///
    /// # Errors
    /// Names the first one that is missing.
    ///
    /// # Safety
    /// `library` is a handle of NVML's library.
    pub(super) unsafe fn of(library: *mut c_void) -> Result<Self, String> {
        // SAFETY: the types are those of NVML's interface; the caller guarantees the handle.
        unsafe {
            Ok(Self {
                support: function(library, c"nvmlGpmQueryDeviceSupport")?,
                alloc: function(library, c"nvmlGpmSampleAlloc")?,
                free: function(library, c"nvmlGpmSampleFree")?,
                sample: function(library, c"nvmlGpmSampleGet")?,
                metrics: function(library, c"nvmlGpmMetricsGet")?,
            })
        }
    }
}

/// GPM's counters of a GPU at a moment.
#[derive(Debug)]
pub struct GpmSample {
    pub(super) handle: Handle,
    pub(super) gpm: Gpm,
    /// When it was taken.
    pub taken: Instant,
}

impl Drop for GpmSample {
    fn drop(&mut self) {
        // SAFETY: the handle is GPM's and this is its only owner. A failure leaves the memory to the process.
        let _ = unsafe { (self.gpm.free)(self.handle) };
    }
}
