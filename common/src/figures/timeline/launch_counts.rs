//! How many collectives waited for their launch or for their GPU since the process began, for exporters.
//!
//! The GPUs' clocks show when a kernel began only some time behind it, and more exactly with time. So collectives wait
//! here for the next export, and a count never changes afterwards: receivers take a sum that falls for a restart.

use super::entry::TimelineEntry;
use crate::operation::Later;

/// Most collectives of a rank that wait for an export. Of more, they are spread evenly over the time since the last one.
const MOST: usize = 512;

/// Collectives of a rank that were looked at, each with a kernel of its own and a known begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LaunchCounts {
    /// Those that began at once when the host had launched them.
    pub(crate) host_later: u64,
    /// Those that the host had launched while the GPU was still busy.
    pub(crate) gpu_later: u64,
    /// From the launch to the begin of the latter, nanoseconds, summed.
    pub(crate) queued: u64,
}

/// A collective that waits for an export.
#[derive(Debug, Clone, Copy)]
struct WaitingCollective {
    entry: TimelineEntry,
    /// Whether an export has met it before its begin was known.
    was_met: bool,
}

/// The collectives of a rank.
#[derive(Debug)]
pub(super) struct RankLaunchCounts {
    counts: LaunchCounts,
    waiting: Vec<WaitingCollective>,
    /// One in this many waits, since the last export.
    one_in: u64,
    /// Number of collectives since the last export.
    since: u64,
}

impl RankLaunchCounts {
    /// Adds a collective.
    pub(super) fn add(&mut self, entry: TimelineEntry) {
        if self.since.is_multiple_of(self.one_in) {
            if self.waiting.len() >= MOST {
                let mut place = 0_usize;
                self.waiting.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.one_in = self.one_in.saturating_mul(2);
            }
            self.waiting.push(WaitingCollective { entry, was_met: false });
        }
        self.since = self.since.saturating_add(1);
    }

    /// Returns whether a collective waits for an export.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Counts the collectives whose begin is known by now: `begun` returns the later one of launch and GPU, and the
    /// nanoseconds from the launch to the begin. The others wait for one further export.
    pub(super) fn count(&mut self, begun: impl Fn(&TimelineEntry) -> Option<(Later, u64)>) -> LaunchCounts {
        let Self { counts, waiting, one_in, since } = self;
        (*one_in, *since) = (1, 0);
        waiting.retain_mut(|WaitingCollective { entry, was_met }| {
            match begun(entry) {
                Some((Later::Host, _)) => counts.host_later += 1,
                Some((Later::Gpu, queued)) => {
                    counts.gpu_later += 1;
                    counts.queued = counts.queued.saturating_add(queued);
                }
                None => return !std::mem::replace(was_met, true),
            }
            false
        });
        *counts
    }
}

impl Default for RankLaunchCounts {
    fn default() -> Self {
        Self { counts: LaunchCounts::default(), waiting: Vec::new(), one_in: 1, since: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::NcclName;
    use crate::figures::timeline::NO_ROOT;
    use crate::operation::TimeSource;

    fn entry(order: u32) -> TimelineEntry {
        let name = NcclName::default();
        TimelineEntry {
            start: u64::from(order),
            stop: u64::from(order) + 1,
            bytes: 1,
            sequence: 9,
            peer: -1,
            root: NO_ROOT,
            place: 0,
            order,
            launched: 1,
            function: name,
            algorithm: name,
            protocol: name,
            source: TimeSource::Stamps,
            alone: true,
        }
    }

    #[test]
    fn a_collective_is_counted_once_and_given_up_at_the_second_export() {
        let mut rank = RankLaunchCounts::default();
        (0..3).for_each(|order| rank.add(entry(order)));
        let of = |entry: &TimelineEntry| match entry.order {
            0 => Some((Later::Host, 5)),
            1 => Some((Later::Gpu, 70)),
            _ => None,
        };
        let first = LaunchCounts { host_later: 1, gpu_later: 1, queued: 70 };
        assert_eq!(rank.count(of), first);
        assert_eq!(rank.count(of), first);
        let known = |_: &TimelineEntry| Some((Later::Gpu, 1));
        assert_eq!((rank.count(known), rank.waiting.len()), (first, 0));
    }

    #[test]
    fn those_that_wait_are_few_and_spread_over_the_time() {
        let mut rank = RankLaunchCounts::default();
        (0..100_000).for_each(|order| rank.add(entry(order)));
        let orders: Vec<u32> = rank.waiting.iter().map(|it| it.entry.order).collect();
        assert!(orders.len() <= MOST && orders.len() > MOST / 3, "{}", orders.len());
        assert_eq!((orders.first(), rank.one_in), (Some(&0), 256));
        assert!(orders.windows(2).all(|pair| pair[1] - pair[0] == 256), "{orders:?}");
        rank.count(|_| None);
        rank.add(entry(7));
        assert_eq!(rank.waiting.last().map(|it| (it.entry.order, it.was_met)), Some((7, false)));
    }
}
