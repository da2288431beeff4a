//! Bytes and rates of a GPU and of a network adapter, or why they are absent.

use crate::hardware::Ways;

/// Why a figure is absent, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsenceReason(pub String);

/// Bytes of a GPU since its counters were first read.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuBytes {
    /// Its place on the PCI bus.
    pub bus: String,
    /// Its UUID, if NVML tells it.
    pub uuid: Option<String>,
    /// Seconds from the first reading of its counters to the last one.
    pub seconds: f64,
    /// Bytes of data over all its NVLinks, or why they are not known.
    pub nvlink: Result<Ways<u64>, AbsenceReason>,
    /// Whether NVML has refused the last reading: the bytes are those of an earlier one.
    pub is_old: bool,
    /// The same with the protocol's headers, if NVML counts them.
    pub raw: Option<Ways<u64>>,
    /// Number of times that a counter had gone back, since it had wrapped or was reset. The bytes until then are lost.
    pub set_back: u64,
    /// Rate over PCIe, if NVML measures it.
    pub pcie: Option<PcieRate>,
}

/// Rates over PCIe, each measured for 20 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PcieRate {
    /// Number of measurements.
    pub samples: u64,
    /// Sum of the rates, bytes per second.
    pub sum: Ways<u64>,
    /// Largest rates, bytes per second.
    pub max: Ways<u64>,
}

impl PcieRate {
    pub(super) fn add(&mut self, rate: Ways<u64>) {
        self.samples += 1;
        self.sum = self.sum.zip(rate).map(|(sum, rate)| sum.saturating_add(rate));
        self.max = self.max.zip(rate).map(|(max, rate)| max.max(rate));
    }
}

/// Bytes of a network adapter of the node since its counters were first read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterBytes {
    /// Its name.
    pub name: String,
    /// The bytes.
    pub bytes: Ways<u64>,
}
