//! The time in which operations were on the GPU, up to any moment that is passed.

use super::marks::Point;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Clocks of a GPU: those of stamps and of CUDA events. Their epochs differ, so times of one clock alone are united.
pub(super) const CLOCKS: usize = 2;

/// Times of an operation on the GPU, by clock.
pub(super) type Spans = [Option<(u64, u64)>; CLOCKS];

/// Most operations that wait for the moment of their begin to be passed, and most points.
const MOST: usize = 65_536;
/// Place of the clock of CUDA events, which time operations of every algorithm: it goes first.
const EVENTS: usize = 1;

/// A time without a gap.
#[derive(Debug, Clone, Copy)]
struct Course {
    clock: usize,
    /// Its begin. Times are nanoseconds of the GPU's clock.
    begin: u64,
    /// The latest moment that was passed.
    passed: u64,
    /// Time with an operation under way from `begin` to `covered`.
    busy: u64,
    /// End of the operations that began before `passed`.
    covered: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct BusyTime {
    course: Option<Course>,
    /// Begin and end of the operations that begin later than was passed.
    spans: BinaryHeap<Reverse<(u64, u64)>>,
    points: BinaryHeap<Reverse<Point>>,
    /// Latest end of an operation, by clock.
    latest: [u64; CLOCKS],
}

impl BusyTime {
    /// Returns the clock in use; `None` in a gap.
    pub(super) fn clock(&self) -> Option<usize> {
        self.course.map(|course| course.clock)
    }

    /// Returns the latest end of an operation, by clock.
    pub(super) fn latest(&self) -> [u64; CLOCKS] {
        self.latest
    }

    /// Adds an operation. A time without a gap begins with the first one that `may_begin` it. Returns false at a gap.
    pub(super) fn add(&mut self, spans: Spans, may_begin: bool) -> bool {
        let before = self.latest;
        for (latest, (_, end)) in self.latest.iter_mut().zip(spans).filter_map(|(latest, span)| Some((latest, span?))) {
            *latest = (*latest).max(end);
        }
        if self.course.is_none() && may_begin {
            let clock = [EVENTS, 0].into_iter().find_map(|clock| Some((clock, spans[clock]?)));
            self.course = clock.map(|(clock, (begin, _))| {
                // what was settled before has ended then
                let begin = begin.max(before[clock]);
                Course { clock, begin, passed: begin, busy: 0, covered: begin }
            });
        }
        let Some(course) = self.course else { return !may_begin };
        let Some((begin, end)) = spans[course.clock].filter(|(begin, end)| begin <= end) else { return false };
        // of what began before, the part behind the begin counts
        let begin = begin.max(course.begin);
        if end > begin {
            self.spans.push(Reverse((begin, end)));
        }
        begin >= course.passed
    }

    /// Adds a point at which the time is wanted.
    pub(super) fn point(&mut self, point: Point) {
        if self.course.is_some_and(|course| point.time >= course.begin) {
            self.points.push(Reverse(point));
        }
    }

    /// Passes all moments up to this one: nothing more begins before it. Gives each point with the time in which no
    /// operation was on the GPU.
    pub(super) fn pass(&mut self, until: u64, mut each: impl FnMut(Point, u64)) {
        let Some(course) = &mut self.course else { return };
        while let Some(&Reverse(point)) = self.points.peek().filter(|Reverse(point)| point.time <= until) {
            self.points.pop();
            course.unite_before(point.time, &mut self.spans);
            let busy = course.busy - course.covered.saturating_sub(point.time);
            each(point, point.time.saturating_sub(course.begin).saturating_sub(busy));
        }
        course.unite_before(until, &mut self.spans);
        course.passed = course.passed.max(until);
    }

    /// Returns the earliest call of a point.
    pub(super) fn oldest_call(&self) -> Option<u64> {
        self.points.iter().map(|Reverse(point)| point.called).min()
    }

    /// Returns whether more waits than is kept.
    pub(super) fn is_full(&self) -> bool {
        self.spans.len() > MOST || self.points.len() > MOST
    }

    /// Forgets the points of a communicator.
    pub(super) fn forget(&mut self, index: u32) {
        self.points.retain(|Reverse(point)| point.index != index);
    }

    /// Begins anew behind a gap.
    pub(super) fn break_off(&mut self) {
        *self = Self { latest: self.latest, ..Self::default() };
    }
}

impl Course {
    /// Adds the operations that begin before this moment.
    fn unite_before(&mut self, until: u64, spans: &mut BinaryHeap<Reverse<(u64, u64)>>) {
        while let Some(&Reverse((begin, end))) = spans.peek().filter(|Reverse((begin, _))| *begin < until) {
            spans.pop();
            self.busy += end.saturating_sub(begin.max(self.covered));
            self.covered = self.covered.max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: u64) -> Point {
        Point { time, ..Point::default() }
    }

    /// Adds the operations, all points, and passes up to each of `until`.
    fn own(spans: &[(u64, u64)], until: &[u64]) -> Vec<(u64, u64)> {
        let (mut busy, mut owns) = (BusyTime::default(), Vec::new());
        for &span in spans {
            assert!(busy.add([Some(span), None], true));
            busy.point(point(span.1));
        }
        for &until in until {
            busy.pass(until, |point, own| owns.push((point.time, own)));
        }
        owns
    }

    #[test]
    fn overlaps_count_once_and_points_may_lie_inside_of_operations() {
        let spans = [(100, 200), (150, 160), (300, 400), (310, 500), (600, 700)];
        let wanted = [(160, 0), (200, 0), (400, 100), (500, 100), (700, 200)];
        assert_eq!(own(&spans, &[1000]), wanted);
        assert_eq!(own(&spans, &[160, 165, 300, 301, 450, 699, 700]), wanted);
    }

    #[test]
    fn own_times_are_those_of_a_plain_count() {
        for seed in 0..5 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut begins: Vec<u64> = (0..100).map(|_| random.u64(..2000)).collect();
            begins.sort_unstable();
            let spans: Vec<(u64, u64)> =
                begins.into_iter().map(|begin| (begin, begin + 1 + random.u64(..60))).collect();
            let plain = |until: u64| {
                (spans[0].0..until).filter(|at| !spans.iter().any(|span| (span.0..span.1).contains(at))).count() as u64
            };
            let owns = own(&spans, &[random.u64(..2000), 3000]);
            assert_eq!(owns.len(), 100);
            assert!(owns.iter().all(|&(time, own)| own == plain(time)));
        }
    }

    #[test]
    fn what_begins_before_a_passed_moment_or_lacks_a_time_is_a_gap() {
        let mut busy = BusyTime::default();
        assert!(busy.add([Some((100, 200)), None], true));
        busy.pass(200, |_, _| {});
        assert!(busy.add([Some((200, 300)), None], true));
        assert!(!busy.add([Some((199, 300)), None], true));
        assert!(!busy.add([None, Some((1, 2))], true));
        busy.break_off();
        // operations that were called before the gap do not begin anew
        assert!(busy.add([None, None], false) && busy.add([Some((250, 350)), None], false) && busy.clock().is_none());
        assert!(busy.add([Some((340, 400)), None], true));
        busy.point(point(349));
        busy.point(point(450));
        let mut owns = Vec::new();
        busy.pass(500, |point, own| owns.push((point.time, own)));
        assert_eq!(owns, [(450, 50)]);
    }
}
