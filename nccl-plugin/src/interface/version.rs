//! The trait of a version of NCCL's profiler interface.

use crate::interface::descriptor::Descriptor;
use crate::interface::payload::{Frame, StateUnion};

/// A version of the interface: its descriptor, and how to read and write it.
pub trait Version {
    /// The C structure that NCCL passes when an event starts.
    type Raw: Frame;
    /// The C union that NCCL passes when an event's state changes.
    type Arguments: StateUnion;
    /// Version number.
    const NUMBER: u32;
    /// Event types that the version has, as NCCL's bits.
    const TYPES: u64;
    /// Whether NCCL reports API calls in this version.
    const API_CALLS: bool;

    /// Reads a descriptor.
    ///
    /// # Safety
    /// `raw` points to NCCL's descriptor of this version. Its strings live as long as `'a`: until the callback returns.
    unsafe fn decode<'a>(raw: *const Self::Raw) -> Descriptor<'a>;

    /// Writes a descriptor for a plugin of this version, without the fields that the version lacks. The strings are
    /// borrowed from `descriptor`.
    /// An event of an unknown type has its number alone. Returns `None` if the version lacks the event's type, or requires
    /// a field whose value is unknown.
    fn encode(descriptor: &Descriptor<'_>) -> Option<Self::Raw>;
}
