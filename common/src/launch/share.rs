//! Which launches are timed by events where not all can be: an event costs the GPU two to five microseconds, whatever
//! the kernel.
//!
//! The collector looks once a second at how many launches wanted events, and from then on one in so many gets them that
//! the job loses little: chosen by a hash of their number, so that no part of a repeated step is left out for good.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Launches a second that may be timed: two events each then take the GPU some 5 % of its time at the most, mostly far
/// less.
const MOST: u64 = 10_000;
/// The same where all streams share one queue (`CUDA_DEVICE_MAX_CONNECTIONS=1`), in which an event holds up what other
/// streams have behind it.
const MOST_IN_ONE_QUEUE: u64 = 1_500;
/// Between two looks.
const SECOND: f64 = 1e9;

/// How many launches are timed by events.
#[derive(Debug)]
pub struct Share {
    /// Launches that wanted events.
    wanted: AtomicU64,
    /// One in so many gets them.
    one_in: AtomicU32,
}

impl Default for Share {
    fn default() -> Self {
        Self { wanted: AtomicU64::new(0), one_in: AtomicU32::new(1) }
    }
}

/// A number's bits, spread (the finalizer of MurmurHash3, by Austin Appleby, public domain).
fn spread(number: u64) -> u64 {
    let mut bits = number;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        bits = (bits ^ bits >> 33).wrapping_mul(factor);
    }
    bits ^ bits >> 33
}

impl Share {
    /// Whether the next launch that wants events gets them.
    pub fn is_next_chosen(&self) -> bool {
        let number = self.wanted.fetch_add(1, Ordering::Relaxed);
        let one_in = u64::from(self.one_in.load(Ordering::Relaxed));
        one_in <= 1 || spread(number).is_multiple_of(one_in)
    }
}

/// The collector's look at it.
#[derive(Debug, Default)]
pub struct Watch {
    since: u64,
    wanted: u64,
}

impl Watch {
    /// Sets how many launches are timed, once a second; `nanoseconds` is the time now.
    pub fn look(&mut self, share: &Share, nanoseconds: u64, in_one_queue: bool) {
        let passed = nanoseconds.saturating_sub(self.since);
        if (passed as f64) < SECOND {
            return;
        }
        let wanted = share.wanted.load(Ordering::Relaxed);
        let a_second = (wanted.wrapping_sub(self.wanted) as f64 / passed as f64 * SECOND) as u64;
        // nobody looked before the first time
        let first = self.since == 0;
        (self.since, self.wanted) = (nanoseconds, wanted);
        if !first {
            let most = if in_one_queue { MOST_IN_ONE_QUEUE } else { MOST };
            let one_in = a_second.div_ceil(most).clamp(1, u64::from(u32::MAX));
            share.one_in.store(u32::try_from(one_in).unwrap_or(u32::MAX), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many launches a second are timed in the second second.
    fn timed(launches: u64, in_one_queue: bool) -> u64 {
        let (share, mut watch) = (Share::default(), Watch::default());
        watch.look(&share, 1_000_000_000, in_one_queue);
        assert_eq!(
            (0..launches).filter(|_| share.is_next_chosen()).count() as u64,
            launches,
            "none is left out before it is known"
        );
        watch.look(&share, 2_000_000_000, in_one_queue);
        (0..launches).filter(|_| share.is_next_chosen()).count() as u64
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
    fn no_place_in_a_repeated_step_is_left_out_for_good() {
        let (share, mut watch) = (Share::default(), Watch::default());
        watch.look(&share, 1_000_000_000, false);
        (0..40_000).for_each(|_| _ = share.is_next_chosen());
        watch.look(&share, 2_000_000_000, false);
        for step in [2_usize, 4, 24] {
            let mut timed = vec![0; step];
            (0..4_000 * step).for_each(|launch| timed[launch % step] += usize::from(share.is_next_chosen()));
            assert!(timed.iter().all(|timed| (800..1_200).contains(timed)), "{timed:?}");
        }
    }
}
