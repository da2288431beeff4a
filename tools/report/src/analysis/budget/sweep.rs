//! The union of intervals, on the way along time.
//!
//! Intervals come by their begins. A wait begins with its interval, so all waits that cover a time not yet passed began
//! before it: the latest end of all waits so far says how far there is waiting, and likewise the latest end of all
//! intervals. No more need be kept.

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

/// A place in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sweep {
    at: i64,
    waits_until: i64,
    busy_until: i64,
    unknown_until: i64,
}

impl Default for Sweep {
    fn default() -> Self {
        Self { at: i64::MIN, waits_until: i64::MIN, busy_until: i64::MIN, unknown_until: i64::MIN }
    }
}

impl Sweep {
    /// Returns the time up to which all was passed.
    pub(super) fn at(&self) -> i64 {
        self.at
    }

    /// Goes on to a time, and passes the stretches before it to `each`.
    pub(super) fn go(&mut self, to: i64, mut each: impl FnMut(GpuStretch)) {
        // the first time of all begins the way
        let mut from = if self.at == i64::MIN { to } else { self.at };
        let ends = [(Doing::Waiting, self.waits_until), (Doing::Transferring, self.busy_until), (Doing::Nothing, to)];
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
        match waits_until {
            Some(until) => self.waits_until = self.waits_until.max(until.min(stop)),
            None => self.unknown_until = self.unknown_until.max(stop),
        }
        self.busy_until = self.busy_until.max(stop);
    }
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
