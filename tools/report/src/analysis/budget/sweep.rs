//! The union of intervals, on the way along time, and the dimensions of parallelism within a stretch of it.
//!
//! Intervals come by their begins. A wait begins with its interval, so all waits that cover a time not yet passed began
//! before it: the latest end of all waits so far says how far there is waiting, and likewise the latest end of all
//! intervals. No more need be kept.
//!
//! While a GPU goes along a stretch, no operation begins: the operations under way end one after the other. Between two
//! such ends the same dimensions have operations under way.

use super::computation::Computation;

/// What a GPU does in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Waits in an operation for other ranks.
    Waiting,
    /// Has operations under way that do not wait.
    Transferring,
    /// Has no operation under way.
    Nothing,
}

/// A stretch of time in which a GPU does one thing. Times are nanoseconds of the common clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GpuStretch {
    pub(super) doing: Doing,
    pub(super) from: i64,
    pub(super) to: i64,
    /// Part of it with an operation under way whose wait is unknown, nanoseconds.
    pub(super) not_compared: i64,
}

/// How far the operations reach that have begun, and their waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    waits_until: i64,
    busy_until: i64,
}

impl Default for Reach {
    fn default() -> Self {
        Self { waits_until: i64::MIN, busy_until: i64::MIN }
    }
}

impl Reach {
    /// Adds an operation. Its wait ends at `waits_until`, if that is known.
    pub(super) fn add(&mut self, waits_until: Option<i64>, stop: i64) {
        self.waits_until = self.waits_until.max(waits_until.map_or(i64::MIN, |until| until.min(stop)));
        self.busy_until = self.busy_until.max(stop);
    }
}

/// A place in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    /// The time up to which all was passed.
    pub(super) at: i64,
    reach: Reach,
    /// The latest end of the operations whose waits are unknown.
    unknown_until: i64,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { at: i64::MIN, reach: Reach::default(), unknown_until: i64::MIN }
    }
}

impl Sweep {
    /// Goes on to a time, and passes the stretches before it to `each`.
    pub(super) fn go(&mut self, to: i64, mut each: impl FnMut(GpuStretch)) {
        // the first time of all begins the way
        let mut from = if self.at == i64::MIN { to } else { self.at };
        let ends = [
            (Doing::Waiting, self.reach.waits_until),
            (Doing::Transferring, self.reach.busy_until),
            (Doing::Nothing, to),
        ];
        for (doing, until) in ends {
            let until = until.min(to);
            if until > from {
                let unknown =
                    if doing == Doing::Transferring { until.min(self.unknown_until).saturating_sub(from) } else { 0 };
                each(GpuStretch { doing, from, to: until, not_compared: unknown.max(0) });
                from = until;
            }
        }
        self.at = self.at.max(to);
    }

    /// Adds an interval that begins at the present place or before. Its wait ends at `waits_until`, if that is known.
    pub(super) fn add(&mut self, waits_until: Option<i64>, stop: i64) {
        self.reach.add(waits_until, stop);
        if waits_until.is_none() {
            self.unknown_until = self.unknown_until.max(stop);
        }
    }
}

/// Times of a dimension in a step, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// With an operation under way.
    pub(crate) time: i64,
    /// Of `time`, waiting.
    pub(crate) wait: i64,
    /// Of `time`, beside a computation.
    pub(crate) beside: i64,
    /// Its part of the time with communication and no computation under way.
    pub(crate) exposed: i64,
}

/// Adds a stretch to the times of the dimensions that have operations under way in it. Returns how long there was a
/// kernel of the computation.
pub(super) fn divide(
    reaches: &[Reach],
    stretch: GpuStretch,
    computation: &mut Computation,
    dimensions: &mut [Spent],
) -> i64 {
    let mut all_computed = 0;
    let mut from = stretch.from;
    while from < stretch.to {
        let ends = reaches.iter().flat_map(|reach| [reach.waits_until, reach.busy_until]);
        let to = ends.filter(|&end| end > from).fold(stretch.to, i64::min);
        let computed = computation.between(from, to);
        let (length, alone) = (to - from, to - from - computed);
        let active = reaches.iter().filter(|reach| reach.busy_until > from).count().max(1) as i64;
        let (each, mut left) = (alone / active, alone % active);
        for (reach, spent) in reaches.iter().zip(&mut *dimensions).filter(|(reach, _)| reach.busy_until > from) {
            spent.time += length;
            spent.wait += if reach.waits_until > from { length } else { 0 };
            spent.beside += computed;
            spent.exposed += each + i64::from(left > 0);
            left -= 1;
        }
        all_computed += computed;
        from = to;
    }
    all_computed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Intervals: begin, end of the wait, end. Compared with a count of every nanosecond.
    #[test]
    fn a_union_is_that_of_every_nanosecond() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..300 {
            let interval = |random: &mut fastrand::Rng| {
                let start = random.i64(0..100);
                let stop = start + random.i64(0..30);
                (start, random.bool().then(|| random.i64(start..=stop)), stop)
            };
            let mut intervals: Vec<_> = (0..random.usize(0..9)).map(|_| interval(&mut random)).collect();
            intervals.sort_unstable();
            let mut found = [0i64; 4];
            let mut sweep = Sweep::default();
            let mut each = |stretch: GpuStretch| {
                found[stretch.doing as usize] += stretch.to - stretch.from;
                found[3] += stretch.not_compared;
            };
            sweep.go(0, &mut each);
            for &(start, waits_until, stop) in &intervals {
                sweep.go(start, &mut each);
                sweep.add(waits_until, stop);
            }
            sweep.go(150, &mut each);
            let mut expected = [0i64; 4];
            for at in 0..150 {
                let here = || intervals.iter().filter(|(start, _, stop)| (*start..*stop).contains(&at));
                let waits = here().any(|(_, until, _)| until.is_some_and(|until| at < until));
                let doing = if waits {
                    0
                } else if here().count() > 0 {
                    1
                } else {
                    2
                };
                expected[doing] += 1;
                expected[3] += i64::from(doing == 1 && here().any(|(_, until, _)| until.is_none()));
            }
            assert_eq!(found, expected, "{intervals:?}");
        }
    }
}
