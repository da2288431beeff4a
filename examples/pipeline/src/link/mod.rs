//! How two neighbouring stages exchange.

mod nccl;
mod tcp;

pub use nccl::Nccl;
pub use tcp::Tcp;

use crate::device::Device;
use anyhow::Result;

/// The connection of a stage with one neighbour.
pub trait Link<D: Device> {
    /// Sends a memory, receives one, or both at once. It is work of the device, in the order of its other work.
    fn exchange(&mut self, device: &D, send: Option<&D::Memory>, receive: Option<&mut D::Memory>) -> Result<()>;
}
