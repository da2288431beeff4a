//! How many collectives waited for their launch or for their GPU since the process began, for exporters.
//!
//! The GPUs' clocks show when a kernel began only some time behind it, and more exactly with time. So collectives wait
//! here for the next export, and a count never changes afterwards: receivers take a sum that falls for a restart.

use super::entry::TimelineEntry;
use crate::operation::Later;

/// Most collectives of a rank that wait for an export. Of more, they are spread evenly over the time since the last one, and
/// each stands for the same number.
const MOST: usize = 512;
/// A collective whose begin is not known although one that ended so much later waits has none, nanoseconds.
const GIVEN_UP: u64 = 5_000_000_000;

/// Collectives of a rank with a kernel of its own and a known begin. Numbers are estimates where not all were looked at.
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
    /// How many collectives it stands for.
    weight: u64,
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
                self.waiting.retain_mut(|it| {
                    it.weight = it.weight.saturating_mul(2);
                    place += 1;
                    place % 2 == 1
                });
                self.one_in = self.one_in.saturating_mul(2);
            }
            self.waiting.push(WaitingCollective { entry, weight: self.one_in });
        }
        self.since = self.since.saturating_add(1);
    }

    /// Returns whether a collective waits for an export.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Counts the collectives whose begin is known by now: `begun` returns the later one of launch and GPU, and the
    /// nanoseconds from the launch to the begin. The others wait on, however often an export asks.
    pub(super) fn count(&mut self, begun: impl Fn(&TimelineEntry) -> Option<(Later, u64)>) -> LaunchCounts {
        let Self { counts, waiting, one_in, since } = self;
        (*one_in, *since) = (1, 0);
        let newest = waiting.iter().map(|it| it.entry.stop).max().unwrap_or(0);
        waiting.retain(|&WaitingCollective { ref entry, weight }| {
            match begun(entry) {
                Some((Later::Host, _)) => counts.host_later = counts.host_later.saturating_add(weight),
                Some((Later::Gpu, queued)) => {
                    counts.gpu_later = counts.gpu_later.saturating_add(weight);
                    counts.queued = counts.queued.saturating_add(queued.saturating_mul(weight));
                }
                None => return newest.saturating_sub(entry.stop) < GIVEN_UP,
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
    fn a_collective_is_counted_once_and_given_up_when_its_begin_stays_unknown() {
        let mut rank = RankLaunchCounts::default();
        (0..3).for_each(|order| rank.add(entry(order)));
        let of = |entry: &TimelineEntry| match entry.order {
            0 => Some((Later::Host, 5)),
            1 => Some((Later::Gpu, 70)),
            _ => None,
        };
        let first = LaunchCounts { host_later: 1, gpu_later: 1, queued: 70 };
        // however often it is asked for
        for _ in 0..5 {
            assert_eq!((rank.count(of), rank.waiting.len()), (first, 1));
        }
        rank.add(TimelineEntry { stop: GIVEN_UP + 3, ..entry(3) });
        assert_eq!((rank.count(of), rank.waiting.len()), (first, 1));
        let known = |_: &TimelineEntry| Some((Later::Gpu, 1));
        assert_eq!(rank.count(known), LaunchCounts { gpu_later: 2, queued: 71, ..first });
        assert!(!rank.is_waiting());
    }

    #[test]
    fn those_that_wait_are_few_spread_over_the_time_and_stand_for_all() {
        let mut rank = RankLaunchCounts::default();
        (0..100_000).for_each(|order| rank.add(entry(order)));
        let orders: Vec<u32> = rank.waiting.iter().map(|it| it.entry.order).collect();
        assert!(orders.len() <= MOST && orders.len() > MOST / 3, "{}", orders.len());
        assert_eq!((orders.first(), rank.one_in), (Some(&0), 256));
        assert!(orders.windows(2).all(|pair| pair[1] - pair[0] == 256), "{orders:?}");
        let all = rank.count(|_| Some((Later::Host, 0))).host_later;
        assert!(all.abs_diff(100_000) < 256, "{all}");
        rank.add(entry(7));
        assert_eq!(rank.waiting.last().map(|it| (it.entry.order, it.weight)), Some((7, 1)));
    }
}
