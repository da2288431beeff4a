//! Rates of a process' links, as far as they are known.

use super::nics::rates::NicRate;
use crate::base::lock;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// Rates of a process' links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessLinks {
    /// Its GPUs, in the order in which they were met.
    pub gpus: Vec<GpuLinks>,
    /// The node's network adapters that NCCL would take.
    pub adapters: Vec<NicRate>,
}

/// Rates of a GPU's links, Mbit/s in one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuLinks {
    /// Its place on the PCI bus.
    pub gpu: String,
    /// Number of its NVLinks that are up; 0 if it has none. Absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlinks: Option<u32>,
    /// Sum of their rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvlink_mbit_s: Option<u64>,
    /// Rate of its PCIe link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie_mbit_s: Option<u64>,
}

impl ProcessLinks {
    /// Returns the GPU at this place on the PCI bus.
    pub(crate) fn of(&mut self, bus: &str) -> &mut GpuLinks {
        let place = self.gpus.iter().position(|gpu| gpu.gpu == bus).unwrap_or(self.gpus.len());
        if place == self.gpus.len() {
            self.gpus.push(GpuLinks { gpu: bus.to_owned(), ..GpuLinks::default() });
        }
        &mut self.gpus[place]
    }
}

static KNOWN: Mutex<Option<ProcessLinks>> = Mutex::new(None);

/// Returns whether rates were noted.
pub(crate) fn are_noted() -> bool {
    lock::hold(&KNOWN).is_none_or(|known| known.is_some())
}

/// Notes rates. Not on a thread of NCCL's or of the application's.
pub(crate) fn note(change: impl FnOnce(&mut ProcessLinks)) {
    if let Some(mut known) = lock::hold(&KNOWN) {
        change(known.get_or_insert_default());
    }
}

/// Returns the rates that are known by now; `None` if there is none.
pub fn known() -> Option<ProcessLinks> {
    lock::hold(&KNOWN)?.clone().filter(|links| *links != ProcessLinks::default())
}
