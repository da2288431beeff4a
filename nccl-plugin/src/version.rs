//! What distinguishes one version of NCCL's profiler interface from another.

use crate::descriptor::Descriptor;

/// A version of the interface: its descriptor, and how to read it.
pub trait Version {
    /// The C structure that NCCL passes when an event starts.
    type Raw;
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
}
