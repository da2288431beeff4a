//! Xids: errors of GPUs that the driver reports, by number.

use super::functions::{Functions, Handle, written};
use super::layout::{EventData, NOT_SUPPORTED, UNKNOWN, XID_EVENT};
use super::{Nvml, NvmlGpu, Refusal};
use std::ffi::c_uint;

/// Events of a question, since a failing GPU may report without end.
const MAX_EVENTS: usize = 1000;
/// Milliseconds for which a question waits for an event. NVML's documentation says nothing about 0.
const WAIT: c_uint = 1;

/// An error of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// The GPU's place on the PCI bus.
    pub bus: String,
    /// NVIDIA's number of the error; 999 for an unknown one.
    pub number: u64,
}

/// GPUs whose Xids are awaited, in a set of NVML's events.
#[derive(Debug)]
pub struct XidWatch {
    set: Handle,
    functions: Functions,
    gpus: Vec<(Handle, String)>,
}

impl Nvml {
    /// Begins to await Xids of GPUs. Earlier ones are not known. GPUs without events are left out.
    ///
    /// # Errors
    /// Says why there are no events of any GPU.
    pub fn watch_xids(&self, gpus: &[NvmlGpu]) -> Result<XidWatch, Refusal> {
        let functions = self.functions;
        let set = written(|to| functions.event_set(to))?;
        let mut watch = XidWatch { set, functions, gpus: vec![] };
        for gpu in gpus {
            match functions.register(gpu.handle, XID_EVENT, set) {
                Ok(()) => watch.gpus.push((gpu.handle, gpu.bus.clone())),
                // then the set is of no use, and otherwise it is as before
                Err(refusal) if refusal.result == UNKNOWN => return Err(refusal),
                Err(_) => {}
            }
        }
        if watch.gpus.is_empty() {
            functions.check("nvmlDeviceRegisterEvents", NOT_SUPPORTED)?;
        }
        Ok(watch)
    }
}

impl XidWatch {
    /// Returns whether the GPU's Xids are awaited.
    pub fn has(&self, bus: &str) -> bool {
        self.gpus.iter().any(|(_, of)| of == bus)
    }

    /// Returns the Xids since the last question. Waits for a millisecond.
    pub fn take(&self) -> Vec<Xid> {
        let place = |gpu| self.gpus.iter().find(|(handle, _)| *handle == gpu).map(|(_, bus)| bus.clone());
        let next = || written(|to: &mut EventData| self.functions.next_event(self.set, to, WAIT)).ok();
        let xid = || next().filter(|event| event.kind == XID_EVENT).map(|event| (event.device, event.data));
        let next = std::iter::from_fn(xid).take(MAX_EVENTS);
        next.filter_map(|(gpu, number)| Some(Xid { bus: place(gpu)?, number })).collect()
    }
}

impl Drop for XidWatch {
    fn drop(&mut self) {
        // a failure leaves the set to the process
        let _ = self.functions.free_events(self.set);
    }
}
