//! What distinguishes one version of NCCL's profiler interface from another.

use crate::interface::descriptor::Descriptor;
use crate::interface::payload::{Change, Frame};

/// A version of the interface: its descriptor, and how to read and write it.
pub trait Version {
    /// The C structure that NCCL passes when an event starts.
    type Raw: Frame;
    /// The C union that NCCL passes when an event's state changes.
    type Arguments: Change;
    /// Number of the version.
    const NUMBER: u32;
    /// Event types that the version has.
    const TYPES: u64;
    /// Whether API calls are reported.
    const API_CALLS: bool;

    /// Reads a descriptor.
    ///
    /// # Safety
    /// `raw` points to NCCL's descriptor of this version, whose strings are alive as long as `'a`: for the callback.
    unsafe fn decode<'a>(raw: *const Self::Raw) -> Descriptor<'a>;

    /// Writes a descriptor, for a plugin of this version; `None` when the version has no such type, or would have to
    /// say what is not known. What it has no place for is left out; strings are the descriptor's, and live as long as
    /// those.
    fn encode(descriptor: &Descriptor<'_>) -> Option<Self::Raw>;
}
