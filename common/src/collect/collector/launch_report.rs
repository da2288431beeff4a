//! A report of a kernel's launch or time, on its way to the kernel's communicator.

use crate::launch::KernelId;
use crate::launch::times::{LaunchOutcome, OfKernel};

/// A report of a kernel's launch or time.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaunchReport {
    pub(super) kernel: KernelId,
    pub(super) news: OfKernel,
}

impl LaunchReport {
    pub(super) fn of(LaunchOutcome { kernel, time, is_over, .. }: LaunchOutcome) -> Self {
        let news = match time {
            Err(cause) if !is_over => OfKernel::GivenUp(cause),
            time => OfKernel::Ran(time),
        };
        Self { kernel, news }
    }
}
