//! Counters of the machine: bytes over NVLink and PCIe of each GPU, as NVIDIA's management library (NVML) has them, and
//! bytes of each network adapter, as the kernel has them; and the rates of these links. The library and the tool read
//! them in the same way.

mod folder;
mod forward;
pub mod links;
pub mod nics;
pub mod nvml;
pub mod pcie;

pub use forward::Forward;

/// A pair of figures by direction, as the GPU or the adapter sees them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Ways<T> {
    /// From the GPU or adapter to others.
    pub sent: T,
    /// From others to it.
    pub received: T,
}

impl<T> Ways<T> {
    /// Applies a function to both figures.
    pub fn map<U>(self, mut of: impl FnMut(T) -> U) -> Ways<U> {
        Ways { sent: of(self.sent), received: of(self.received) }
    }

    /// Pairs each figure with the other's of the same direction.
    pub fn zip<U>(self, other: Ways<U>) -> Ways<(T, U)> {
        Ways { sent: (self.sent, other.sent), received: (self.received, other.received) }
    }
}
