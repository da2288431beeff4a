//! What the common ends of operations say of two clocks.
//!
//! All ranks end an all-reduce, an all-gather or a reduce-scatter nearly at once, whoever came last. So the difference
//! of the two clocks' times of an end is that of the clocks, give or take the spread of the ends. A receive ends later
//! than its send by a part of the transfer; a message the other way has the difference with the other sign, so the
//! middle of both is that of the clocks. docs/report.md has what was measured of real operations.

use super::trend::{Trend, TrendPoint};

/// Most ends that are kept of each kind. Beyond that, every second one is left out.
const MOST: usize = 1024;

/// Error that the middle of the differences keeps however many there are, nanoseconds: by the GPUs' clocks, and because
/// one rank ends first in every operation. In recordings of real runs the estimate is off by 1 to 17 us over sockets.
const LEAST: f64 = 10e3;

/// Part of a transfer by which its ends differ: 1 to 7 % in collectives of megabytes over sockets.
const SPREAD: f64 = 0.03;

/// Part of the distance between both directions' differences by which their middle is off: 2 to 4 % where both are
/// alike.
const UNEVEN: f64 = 0.1;

/// Part of a transfer by which a receive ends later than its send where it does not wait for anything else.
const LAST_PART: f64 = 0.3;

/// Of messages, the differences that are least in a stretch of time count, as a part of all: a send may be over long
/// before its receive begins.
const CLOSEST: f64 = 0.1;

/// The kinds of ends.
#[derive(Debug, Clone, Copy)]
pub(super) enum EndKind {
    /// Of a collective.
    Together,
    /// Of a message from the first clock to the second one.
    To,
    /// Of a message from the second clock to the first one.
    From,
}

/// The ends of operations on two clocks.
#[derive(Debug, Default)]
pub(super) struct Ends([Thinned; 3]);

/// The estimate of two clocks, in ticks.
#[derive(Debug)]
pub(super) struct Apart {
    /// Times of the second clock, and how much more it showed then than the first clock.
    pub(super) moments: Vec<(u64, f64)>,
    /// Error that 19 of 20 do not exceed.
    pub(super) likely: f64,
}

impl Ends {
    /// Adds an operation that ended at these ticks of both clocks. Its shorter part lasted `length` ticks.
    pub(super) fn add(&mut self, kind: EndKind, [first, second]: [u64; 2], length: u64) {
        let apart = (i128::from(second) - i128::from(first)) as f64;
        self.0[kind as usize].add(TrendPoint { time: second, apart, length: length as f64 });
    }

    /// Estimates the clocks by the collectives or by the messages, whichever say more. `None` if there are too few.
    pub(super) fn apart(&self, nanoseconds_per_tick: f64) -> Option<Apart> {
        let least = LEAST / nanoseconds_per_tick;
        let spread = |point: &TrendPoint| least + SPREAD * point.length;
        let [together, to, from] = &self.0;
        let collectives = Trend::of(together.points.clone(), spread, 0.5)
            .map(|trend| Apart { moments: trend.moments().collect(), likely: least + trend.scatter() });
        let messages = Trend::of(to.points.clone(), spread, CLOSEST)
            .zip(Trend::of(from.points.clone(), spread, 1.0 - CLOSEST))
            .map(|(to, from)| between(&to, &from, least));
        [collectives, messages].into_iter().flatten().min_by(|one, other| one.likely.total_cmp(&other.likely))
    }
}

/// Returns the middle between the least differences of messages to and the largest ones of messages from the second
/// clock.
fn between(to: &Trend, from: &Trend, least: f64) -> Apart {
    let mut times: Vec<u64> = to.moments().chain(from.moments()).map(|(time, _)| time).collect();
    times.sort_unstable();
    times.dedup();
    let halves = times.iter().map(|&time| (to.at(time) - from.at(time)).abs() / 2.0);
    let half = halves.sum::<f64>() / times.len().max(1) as f64;
    // what is beyond the last part of the transfer may be of one direction alone
    let unexplained = (half - least - LAST_PART * to.length().min(from.length())).max(0.0);
    let scatter = to.scatter().hypot(from.scatter());
    let likely = least + scatter + UNEVEN * half + unexplained;
    Apart { moments: times.into_iter().map(|time| (time, f64::midpoint(to.at(time), from.at(time)))).collect(), likely }
}

/// A bounded number of points, evenly chosen.
#[derive(Debug, Default)]
struct Thinned {
    points: Vec<TrendPoint>,
    /// One in this many is kept, as a power of two.
    left_out: u32,
    count: u64,
}

impl Thinned {
    fn add(&mut self, point: TrendPoint) {
        let number = self.count;
        self.count += 1;
        if number.trailing_zeros() < self.left_out {
            return;
        }
        if self.points.len() == MOST {
            let mut place = 0;
            self.points.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.left_out += 1;
            if number.trailing_zeros() < self.left_out {
                return;
            }
        }
        self.points.push(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds messages each way whose ends are this far apart.
    fn messages(apart: [u64; 2], length: u64) -> Ends {
        let mut ends = Ends::default();
        for time in (1..=100).map(|at| at * 1_000_000) {
            ends.add(EndKind::To, [time, time + apart[0]], length);
            ends.add(EndKind::From, [time + apart[1], time], length);
        }
        ends
    }

    fn estimate(ends: &Ends) -> (f64, f64) {
        let Apart { moments, likely } = ends.apart(1.0).unwrap();
        let mean = moments.iter().map(|(_, apart)| apart).sum::<f64>() / moments.len() as f64;
        (mean, likely)
    }

    #[test]
    fn a_direction_that_is_over_early_is_no_estimate() {
        assert_eq!(estimate(&messages([30_000, 30_000], 200_000)), (0.0, LEAST + 3_000.0));
        // sends one way are over 2 ms before their receives end: the middle is off by 1 ms, and the error says so
        let (apart, likely) = estimate(&messages([2_000_000, 20_000], 200_000));
        assert!(apart == 990_000.0 && likely > 1_000_000.0, "{apart} {likely}");
    }

    #[test]
    fn the_kind_that_says_more_counts() {
        let mut ends = messages([2_000_000, 20_000], 200_000);
        for time in (1..=20).map(|at| at * 5_000_000) {
            ends.add(EndKind::Together, [time, time + 700], 1_000_000);
        }
        assert_eq!(estimate(&ends), (700.0, LEAST));
        assert!(Ends::default().apart(1.0).is_none());
    }

    #[test]
    fn ends_of_a_long_run_are_thinned_evenly() {
        let mut thinned = Thinned::default();
        for time in 0..10 * MOST as u64 {
            thinned.add(TrendPoint { time, apart: 0.0, length: 1.0 });
        }
        let times: Vec<u64> = thinned.points.iter().map(|point| point.time).collect();
        assert!((MOST / 2..=MOST).contains(&times.len()), "{}", times.len());
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 16) && times[0] == 0, "{times:?}");
    }
}
