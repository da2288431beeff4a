//! What is known of an operation's GPU time: whether its stamps are believed, and whether events timed its kernel.

use crate::event::name::Name;
use crate::launch::Untimed;
use crate::operation::kernels::Kernel;
use crate::operation::{Operation, Timing};

/// What is known of an operation's stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// They are its own.
    InStep,
    /// They may be another operation's.
    OutOfStep,
    /// Not known yet.
    Undecided,
}

/// Why stamps are not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A send or receive to oneself got no kernel channel.
    ToOneself,
    /// A call of this function was followed by no operation.
    Unfollowed(Name),
    /// An operation was launched beside a CUDA graph of its communicator.
    BesideGraph,
    /// A stamp lies clearly before its operation.
    EarlyStamp,
    /// There was more in doubt than is kept.
    TooMuchInDoubt,
    /// An operation or call found no room in the recording memory; it may have been one that NCCL does not count.
    Dropped,
}

/// What is known of an operation's time.
#[derive(Debug, Clone, Copy)]
pub struct Judged {
    /// Whether its stamps are its own.
    pub verdict: Verdict,
    /// Its kernel.
    pub kernel: Kernel,
    /// Why a kernel has no time of whose launch nobody has heard.
    pub unheard: Untimed,
}

impl Judged {
    /// The operation's time.
    pub fn timing(&self, operation: &Operation) -> Timing {
        operation.timing(self.verdict, self.kernel)
    }
}
