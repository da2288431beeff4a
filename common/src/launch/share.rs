//! The share of launches that events time, where not all can be timed: an event costs the GPU two to five microseconds,
//! whatever the kernel.
//!
//! Once a second the collector counts the launches that wanted events. It then sets the share that gets them, so that
//! the job loses little. A hash of a launch's number chooses it, so that no part of a repeated step is left out for
//! good. Where launches come faster than in the second before, no more get events than a bound, until the next look.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Most launches a second that are timed. With two events each, they take the GPU some 5 % of its time at the most,
/// usually far less.
const MOST: u64 = 10_000;
/// Like `MOST`, where all streams share one queue (`CUDA_DEVICE_MAX_CONNECTIONS=1`). There an event delays work of
/// other streams behind it.
const MOST_IN_ONE_QUEUE: u64 = 1_500;
/// Nanoseconds between two looks.
const SECOND: f64 = 1e9;

/// The share of launches that events time.
#[derive(Debug)]
pub struct Share {
    /// Launches that wanted events so far.
    wanted: AtomicU64,
    /// One launch in this many gets events.
    one_in: AtomicU32,
    /// Launches that may still get events before the next look.
    left: AtomicI64,
}

impl Default for Share {
    fn default() -> Self {
        Self { wanted: AtomicU64::new(0), one_in: AtomicU32::new(1), left: AtomicI64::new(i64::MAX) }
    }
}

/// Mixes a number's bits (the finalizer of MurmurHash3, by Austin Appleby, public domain).
fn spread(number: u64) -> u64 {
    let mut bits = number;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        bits = (bits ^ bits >> 33).wrapping_mul(factor);
    }
    bits ^ bits >> 33
}

impl Share {
    /// Returns whether the next launch that wants events gets them, and counts it.
    pub fn is_next_chosen(&self) -> bool {
        let number = self.wanted.fetch_add(1, Ordering::Relaxed);
        let one_in = u64::from(self.one_in.load(Ordering::Relaxed));
        (one_in <= 1 || spread(number).is_multiple_of(one_in)) && self.left.fetch_sub(1, Ordering::Relaxed) > 0
    }
}

/// The collector's state of its looks.
#[derive(Debug, Default)]
pub struct Watch {
    since: u64,
    wanted: u64,
}

impl Watch {
    /// Sets the share, once a second. `nanoseconds` is the current time.
    pub fn look(&mut self, share: &Share, nanoseconds: u64, in_one_queue: bool) {
        let passed = nanoseconds.saturating_sub(self.since);
        if (passed as f64) < SECOND {
            return;
        }
        let wanted = share.wanted.load(Ordering::Relaxed);
        let a_second = (wanted.wrapping_sub(self.wanted) as f64 / passed as f64 * SECOND) as u64;
        // the first look has no earlier count
        let first = self.since == 0;
        (self.since, self.wanted) = (nanoseconds, wanted);
        if !first {
            let most = if in_one_queue { MOST_IN_ONE_QUEUE } else { MOST };
            let one_in = a_second.div_ceil(most).clamp(1, u64::from(u32::MAX));
            share.one_in.store(u32::try_from(one_in).unwrap_or(u32::MAX), Ordering::Relaxed);
            // some more than chance takes, so that all of a second may be chosen
            share.left.store((most + most / 4).cast_signed(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the share after a second with so many launches.
    fn after(launches: u64, in_one_queue: bool) -> Share {
        let (share, mut watch) = (Share::default(), Watch::default());
        watch.look(&share, 1_000_000_000, in_one_queue);
        assert_eq!(chosen(&share, launches), launches, "none is left out before it is known");
        watch.look(&share, 2_000_000_000, in_one_queue);
        share
    }

    /// Returns how many of the next launches get events.
    fn chosen(share: &Share, launches: u64) -> u64 {
        (0..launches).filter(|_| share.is_next_chosen()).count() as u64
    }

    /// Returns how many of `launches` launches a second are timed in the second second.
    fn timed(launches: u64, in_one_queue: bool) -> u64 {
        chosen(&after(launches, in_one_queue), launches)
    }

    #[test]
    fn so_many_are_timed_that_the_job_loses_little() {
        assert_eq!([timed(9_000, false), timed(10_000, false), timed(1_500, true)], [9_000, 10_000, 1_500]);
        for (launches, in_one_queue, most) in
            [(100_000, false, MOST), (27_000, false, MOST), (7_000, true, MOST_IN_ONE_QUEUE)]
        {
            let timed = timed(launches, in_one_queue);
            assert!((most * 8 / 10..most * 11 / 10).contains(&timed), "{timed} of {launches}");
        }
    }

    #[test]
    fn no_more_are_timed_where_launches_come_faster_than_before() {
        assert_eq!(chosen(&after(1_000, true), 100_000), MOST_IN_ONE_QUEUE * 5 / 4);
    }

    #[test]
    fn no_place_in_a_repeated_step_is_left_out_for_good() {
        let share = after(40_000, false);
        // of many seconds
        share.left.store(i64::MAX, Ordering::Relaxed);
        for step in [2_usize, 4, 24] {
            let mut timed = vec![0; step];
            (0..4_000 * step).for_each(|launch| timed[launch % step] += usize::from(share.is_next_chosen()));
            assert!(timed.iter().all(|timed| (800..1_200).contains(timed)), "{timed:?}");
        }
    }
}
