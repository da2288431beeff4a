//! A call that waits for the other ranks' calls.

use super::call::Call;

/// A call, and its place in the order of its GPU.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HeldCall {
    pub(super) call: Call,
    pub(super) process: usize,
    /// Number of the call among those of its GPU, in the order in which the host enqueued them.
    pub(super) number: u64,
}

/// A step towards the oldest operation that is not complete.
#[derive(Debug)]
pub(super) enum Next {
    /// It lacks a call of this process.
    Read(usize),
    Decided(CallGroup),
}

/// Calls that belong together, sorted by rank.
#[derive(Debug)]
pub(super) struct CallGroup {
    pub(super) calls: Vec<HeldCall>,
    /// Whether the calls of all ranks that take part are there.
    pub(super) is_whole: bool,
}

impl CallGroup {
    /// Makes a group of a call whose partners are unknown.
    pub(super) fn alone(held: HeldCall) -> Self {
        Self { calls: vec![held], is_whole: false }
    }
}
