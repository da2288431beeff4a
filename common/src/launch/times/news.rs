//! News of kernels, from the launching threads and from CUDA's events, for the collector.

use super::{LaunchTimes, Replay};
use crate::launch::launches::Launches;
use crate::launch::{KernelId, KernelTime, News, Untimed};

/// News of a kernel for the collector's figures.
#[derive(Debug, Clone, Copy)]
pub enum OfKernel {
    /// The kernel was launched, and its time is to come.
    Launched {
        /// Whether NCCL was asked for the GPU's stamps, too.
        stamps: bool,
    },
    /// The kernel has no events.
    Untimed {
        /// The reason.
        cause: Untimed,
        /// Whether NCCL was asked for the GPU's stamps.
        stamps: bool,
    },
    /// A launch was captured with events: operations of this call are replays of it.
    Captured(u64),
    /// Which launch of the graph runs this call is not known.
    Ambiguous(u64),
    /// It is a replay whose times were not read, or not for sure.
    Missed,
    /// Its stream has come to it, and it is not over.
    Reached,
    /// The kernel is over: its time, or the reason why its events give none.
    Ran(Result<KernelTime, Untimed>),
    /// Its events give no time, for this reason, and nobody will know when it is over.
    GivenUp(Untimed),
}

/// Takes in the news from the launching threads. Calls `each` for every kernel before its time.
pub fn take_news(launches: &Launches, times: &mut LaunchTimes, mut each: impl FnMut(KernelId, OfKernel)) {
    for news in launches.heard() {
        match news {
            // the events' context has ended or was reset: CUDA may not know them any more
            News::Launched(launch) if launches.are_of_before(&launch) => {
                if let Some(kernel) = launch.kernel {
                    each(kernel, OfKernel::Untimed { cause: Untimed::NotBelieved, stamps: launch.stamps });
                }
                launches.give_back(launch);
            }
            News::Launched(launch) => {
                if let Some(kernel) = launch.kernel {
                    each(kernel, OfKernel::Launched { stamps: launch.stamps });
                }
                times.await_launch(launch);
            }
            News::Captured(launch) if launches.are_of_before(&launch) => {}
            News::Captured(launch) => {
                if let Some(kernel) = launch.kernel {
                    each(kernel, OfKernel::Captured(launch.number));
                }
                times.await_launch(launch);
            }
            News::Ambiguous { context, call } => {
                for Replay { first, .. } in times.forget_captured(context, call) {
                    each(KernelId { context, order: first }, OfKernel::Missed);
                }
                each(KernelId { context, order: 0 }, OfKernel::Ambiguous(call));
            }
            News::Untimed { kernel, cause, stamps } => each(kernel, OfKernel::Untimed { cause, stamps }),
        }
    }
}
