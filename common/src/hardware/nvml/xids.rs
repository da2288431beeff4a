//! Xids: errors of GPUs that the driver reports, by number.

use super::events::EventSet;
use super::function::Handle;
use super::layout::{NOT_SUPPORTED, SUCCESS, UNKNOWN, XID_EVENT};
use super::{Nvml, NvmlGpu, Refusal};

/// Most events of a question, since a failing GPU may report without end.
const MOST: usize = 1000;

/// An error of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xid {
    /// The GPU's place on the PCI bus.
    pub bus: String,
    /// NVIDIA's number of the error; 999 for an unknown one.
    pub number: u64,
}

/// GPUs whose Xids are awaited.
#[derive(Debug)]
pub struct XidWatch {
    set: EventSet,
    gpus: Vec<(Handle, String)>,
}

impl Nvml {
    /// Begins to await Xids of GPUs. Earlier ones are not known. GPUs without events are left out.
    ///
    /// # Errors
    /// Says why there are no events of any GPU.
    pub fn watch_xids(&self, gpus: &[NvmlGpu]) -> Result<XidWatch, Refusal> {
        let events = *self.events.as_ref().map_err(|why| Refusal { why: why.clone(), is_final: true })?;
        let mut handle = 0;
        // SAFETY: the function writes one handle.
        self.check("nvmlEventSetCreate", unsafe { (events.create)(&raw mut handle) })?;
        let mut watch = XidWatch { set: EventSet { handle, events }, gpus: vec![] };
        for gpu in gpus {
            // SAFETY: both handles are NVML's.
            match unsafe { (events.register)(gpu.handle, XID_EVENT, handle) } {
                SUCCESS => watch.gpus.push((gpu.handle, gpu.bus.clone())),
                // then the set is of no use, and otherwise it is as before
                UNKNOWN => self.check("nvmlDeviceRegisterEvents", UNKNOWN)?,
                _ => {}
            }
        }
        if watch.gpus.is_empty() {
            self.check("nvmlDeviceRegisterEvents", NOT_SUPPORTED)?;
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
        let next = std::iter::from_fn(|| self.set.next_xid()).take(MOST);
        next.filter_map(|(gpu, number)| Some(Xid { bus: place(gpu)?, number })).collect()
    }
}
