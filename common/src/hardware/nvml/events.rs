//! NVML's events: a set of events that GPUs are registered in, and that is asked for the next one.

use super::function::{Handle, function};
use super::layout::{EventData, SUCCESS, XID_EVENT};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// Milliseconds for which a question waits for an event. NVML's documentation says nothing about 0.
const WAIT: c_uint = 1;

/// The functions, declared as NVML's documentation has them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events {
    pub(super) create: unsafe extern "C" fn(*mut Handle) -> c_int,
    pub(super) register: unsafe extern "C" fn(Handle, c_ulonglong, Handle) -> c_int,
    wait: unsafe extern "C" fn(Handle, *mut EventData, c_uint) -> c_int,
    free: unsafe extern "C" fn(Handle) -> c_int,
}

impl Events {
    /// Looks the functions up.
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
                create: function(library, c"nvmlEventSetCreate")?,
                register: function(library, c"nvmlDeviceRegisterEvents")?,
                wait: function(library, c"nvmlEventSetWait_v2")?,
                free: function(library, c"nvmlEventSetFree")?,
            })
        }
    }
}

/// A set of events.
#[derive(Debug)]
pub(super) struct EventSet {
    pub(super) handle: Handle,
    pub(super) events: Events,
}

impl EventSet {
    /// Returns the next Xid: the GPU's handle and the number. `None` if there is none within [`WAIT`].
    pub(super) fn next_xid(&self) -> Option<(Handle, u64)> {
        let mut data = EventData::default();
        // SAFETY: the set lives; the function fills the structure in, whose layout is tested.
        let result = unsafe { (self.events.wait)(self.handle, &raw mut data, WAIT) };
        (result == SUCCESS && data.kind == XID_EVENT).then_some((data.device, data.data))
    }
}

impl Drop for EventSet {
    fn drop(&mut self) {
        // SAFETY: the handle is NVML's and this is its only owner. A failure leaves the set to the process.
        let _ = unsafe { (self.events.free)(self.handle) };
    }
}
