//! What is known of an operation's GPU time: whether its stamps are believed, and whether events have timed its kernel.

use crate::event::name::NcclName;
use crate::launch::Untimed;
use crate::operation::kernels::{Kernel, KernelTiming};
use crate::operation::{Operation, Timing};
use std::num::NonZeroU64;

/// Whether an operation's stamps are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampVerdict {
    /// The stamps are its own.
    InStep,
    /// The stamps may be another operation's.
    OutOfStep,
    /// Not decided yet.
    Undecided,
}

/// Why a communicator's stamps are no longer believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// A send or receive to the own rank got no kernel channel.
    ToOneself,
    /// No operation followed a call of this function.
    Unfollowed(NcclName),
    /// An operation was launched beside a CUDA graph of its communicator.
    BesideGraph,
    /// A stamp lies clearly before its operation's enqueue.
    EarlyStamp,
    /// More was in doubt than is kept.
    TooMuchInDoubt,
    /// An operation or call found no room in the recording memory; NCCL may not count it.
    Dropped,
}

/// What is known of an operation's GPU time.
#[derive(Debug, Clone, Copy)]
pub struct JudgedTime {
    /// Whether its stamps are its own.
    pub verdict: StampVerdict,
    /// Its kernel.
    pub kernel: Kernel,
    /// Why its kernel has no time if the kernel's launch was not reported.
    pub unheard: Untimed,
}

impl JudgedTime {
    /// Returns the operation's time.
    pub fn timing(&self, operation: &Operation) -> Timing {
        operation.timing(self.verdict, self.kernel)
    }
}

impl Operation {
    /// Returns whether the source of its time is certain. Whether its stamps are its own may still be undecided.
    pub fn is_certain(&self, verdict: StampVerdict, kernel: Kernel) -> bool {
        verdict != StampVerdict::Undecided
            || matches!(kernel.when, KernelTiming::Timed(_)) && !self.is_stamped_right(kernel)
    }

    /// Returns its time. Stamps count only in step and where they are the kernel's time; those of a collective only if
    /// all its channels are stamped, since a channel without stamps may have run longer.
    pub fn timing(&self, verdict: StampVerdict, kernel: Kernel) -> Timing {
        let stamps = self
            .span()
            .filter(|_| verdict == StampVerdict::InStep && self.is_stamped_right(kernel) && self.has_all_channels());
        match (stamps, kernel.when, self.proxy_stop) {
            (Some((start, stop)), _, _) => Timing::Stamps { start, stop },
            (None, KernelTiming::Timed(time), _) => Timing::Events(time),
            (None, _, Some(stop)) => Timing::Proxy(stop.get().saturating_sub(self.start)),
            _ => Timing::Enqueue(self.stop.map_or(self.start, NonZeroU64::get).saturating_sub(self.start)),
        }
    }
}
