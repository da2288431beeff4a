//! The marks of a communicator: about one a second, at numbers that other ranks' marks have, too.

use crate::status::progress::{MOST_MARKS, ProgressMark};
use std::collections::VecDeque;

/// Marks that span less than this are thinned out, nanoseconds.
const SPAN: u64 = 64_000_000_000;
/// So many of the newest strides that take half of that time are too long.
const LONG: usize = 2;

/// The end of a collective. Points compare by their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    /// End on the GPU, nanoseconds of its clock.
    pub time: u64,
    /// Index of the communicator's context.
    pub index: u32,
    /// Number of the communicator's collectives that have ended with it.
    pub number: u64,
    /// Time of its call, ticks.
    pub called: u64,
    /// Time at which the library saw the end, ticks.
    pub seen: u64,
}

/// A point with all that is known there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark {
    pub point: Point,
    pub own: u64,
    pub operations: u64,
    pub bytes: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Marks {
    stride: u64,
    all: VecDeque<Mark>,
}

impl Default for Marks {
    fn default() -> Self {
        Self { stride: 1, all: VecDeque::new() }
    }
}

impl Marks {
    /// Returns whether a mark of this number is wanted.
    pub(super) fn wants(&self, number: u64) -> bool {
        number.is_multiple_of(self.stride)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds a mark. If there is no room, and the marks lie close together, every other one goes, else the oldest. If the
    /// newest ones lie far apart, as behind a burst of collectives, the stride is halved.
    pub(super) fn add(&mut self, mark: Mark) {
        let is_next = self.all.back().is_none_or(|last| last.point.number < mark.point.number);
        if !self.wants(mark.point.number) || !is_next {
            return;
        }
        if self.all.len() >= MOST_MARKS {
            let oldest = self.all.front().map_or(0, |mark| mark.point.time);
            if mark.point.time.saturating_sub(oldest) < SPAN {
                self.stride *= 2;
                let stride = self.stride;
                self.all.retain(|mark| mark.point.number.is_multiple_of(stride));
                return self.add(mark);
            }
            self.all.pop_front();
        }
        self.all.push_back(mark);
        if self.stride > 1 && self.are_far_apart() {
            self.stride /= 2;
        }
    }

    /// Returns whether the newest marks lie at this stride and far apart.
    fn are_far_apart(&self) -> bool {
        let first = self.all.len().checked_sub(LONG + 1).and_then(|first| self.all.get(first));
        first.zip(self.all.back()).is_some_and(|(first, last)| {
            last.point.number - first.point.number == LONG as u64 * self.stride
                && last.point.time.saturating_sub(first.point.time) > SPAN / 2
        })
    }

    /// Forgets all marks. The stride stays.
    pub(super) fn clear(&mut self) {
        self.all.clear();
    }

    /// Returns the stride and the marks; (0, none) if there are none. If there are more than `most`, which is at least 1,
    /// the stride is larger, so that the marks span the same time.
    pub(super) fn thinned(&self, most: usize, wall: impl Fn(u64) -> u64) -> (u64, Vec<ProgressMark>) {
        if self.all.is_empty() {
            return (0, Vec::new());
        }
        let of = |stride: u64| self.all.iter().filter(move |mark| mark.point.number.is_multiple_of(stride));
        let mut stride = self.stride;
        while of(stride).count() > most.max(1) {
            stride *= 2;
        }
        let marks = of(stride).map(|&Mark { point, own, operations, bytes }| ProgressMark {
            number: point.number,
            time: wall(point.seen),
            own,
            operations,
            bytes,
        });
        (stride, marks.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(count: u64, apart: u64) -> (u64, Vec<u64>) {
        let mut marks = Marks::default();
        for number in 1..=count {
            let point = Point { time: 1_000_000_000 + number * apart, number, ..Point::default() };
            marks.add(Mark { point, own: 0, operations: 0, bytes: 0 });
        }
        let (stride, newest) = marks.thinned(MOST_MARKS, |ticks| ticks);
        (stride, newest.into_iter().map(|mark| mark.number).collect())
    }

    #[test]
    fn strides_double_until_marks_are_a_second_apart() {
        assert_eq!(marks(64, 1_000_000), (1, (1..=64).collect()));
        assert_eq!(marks(65, 1_000_000), (2, (1..=32).map(|number| 2 * number).collect()));
        let (stride, numbers) = marks(1_000_000, 1_000_000);
        // 1.024 s
        assert_eq!((stride, numbers.len(), numbers[63] - numbers[0]), (1024, 64, 63 * 1024));
        let (stride, numbers) = marks(1000, 2_000_000_000);
        assert_eq!((stride, numbers), (1, (937..=1000).collect()));
    }

    #[test]
    fn strides_fall_again_behind_a_burst() {
        let (mut marks, mut time) = (Marks::default(), 1_000_000_000);
        for number in 1..=12_000 {
            time += if number <= 10_000 { 100_000 } else { 1_000_000_000 };
            if marks.wants(number) {
                let point = Point { time, number, ..Point::default() };
                marks.add(Mark { point, own: 0, operations: 0, bytes: 0 });
            }
        }
        let (stride, found) = marks.thinned(MOST_MARKS, |ticks| ticks);
        assert_eq!(stride, 16);
        assert!(found.iter().all(|mark| mark.number % 16 == 0) && found.last().unwrap().number == 12_000);
        // fewer marks span the same time
        let (stride, fewer) = marks.thinned(8, |ticks| ticks);
        assert!(fewer.len() > 4 && fewer.len() <= 8 && fewer.iter().all(|mark| mark.number % stride == 0));
        assert!(fewer.last().unwrap().number - fewer[0].number > (found.last().unwrap().number - found[0].number) / 2);
    }
}
