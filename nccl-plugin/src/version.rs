//! What distinguishes one version of NCCL's profiler interface from another.

use common::event::Event;

/// A start, decoded.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// Handle of the parent, as NCCL gave it; 0 for none.
    pub parent: u64,
    /// What starts.
    pub event: Event<'a>,
}

/// A version of the interface: its descriptor, and how to read it.
pub trait Version {
    /// The C structure that NCCL passes when an event starts.
    type Descriptor;
    /// Event types that this plugin makes use of.
    const MASK: u64;
    /// Whether API calls are reported.
    const API_CALLS: bool;

    /// Event types asked for in this process.
    fn mask() -> u64 {
        Self::MASK
    }

    /// Reads a descriptor.
    ///
    /// # Safety
    /// `descriptor` points to NCCL's descriptor of this version, whose strings are alive as long as `'a`: for the callback.
    unsafe fn decode<'a>(descriptor: *const Self::Descriptor) -> Start<'a>;
}
