//! State of the stamps of a communicator's kernels.

use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64};

/// State of the stamps of a communicator's kernels.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub(super) struct Stamping {
    /// For each function, a bit for each size class: whether stamps time such kernels.
    pub(super) believed: [AtomicU64; STAMPED_FUNCTIONS],
    /// Set when stamps may belong to other operations.
    pub(super) doubt: AtomicBool,
    pub(super) counts_self: AtomicBool,
    pub(super) silent_broadcasts: AtomicBool,
    /// Whether NCCL was asked for kernel events when the communicator was made.
    pub(super) kernel_events: AtomicBool,
    /// The mask of its NCCL, as [`Switched`](super::switching::Switched) has it.
    pub(super) mask: AtomicU32,
    /// Number of the pool of its launches plus one; 0 for none.
    pub(super) pool: AtomicU32,
}

/// Number of functions that are told apart. All further functions share the last place.
pub(super) const STAMPED_FUNCTIONS: usize = 8;
