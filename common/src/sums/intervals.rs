//! The union of intervals: for how long at least one interval was under way.

/// A union of half-open intervals, added in about ascending order. At most `MOST` disjoint intervals are kept. Beyond
/// that, the older half is settled, and a later interval before the settled part no longer counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals<const MOST: usize> {
    /// Disjoint intervals, ascending.
    apart: Vec<(u64, u64)>,
    /// Total length, settled and not.
    length: u64,
    horizon: u64,
}

impl<const MOST: usize> Intervals<MOST> {
    /// Adds an interval. An interval that ends before it starts adds nothing.
    #[inline]
    pub fn add(&mut self, start: u64, end: u64) {
        let start = start.max(self.horizon);
        if end <= start {
            return;
        }
        match self.apart.last_mut() {
            // mostly, the new interval prolongs the last one or follows it
            Some(last) if last.0 <= start && start <= last.1 => {
                self.length += end.saturating_sub(last.1);
                last.1 = last.1.max(end);
            }
            Some(last) if start < last.0 => self.insert(start, end),
            _ => self.append(start, end),
        }
    }

    /// Adds an interval that begins after the last one has ended.
    fn append(&mut self, start: u64, end: u64) {
        self.make_room();
        self.length += end - start;
        self.apart.push((start, end));
    }

    /// Adds an interval that begins before the last one.
    #[cold]
    fn insert(&mut self, start: u64, end: u64) {
        // the intervals that touch the new one are replaced by the hull
        let first = self.apart.partition_point(|&(_, other_end)| other_end < start);
        // an operation's time is added again when nothing more comes of it
        if self.apart.get(first).is_some_and(|&(other_start, other_end)| other_start <= start && end <= other_end) {
            return;
        }
        let after = first + self.apart[first..].partition_point(|&(other_start, _)| other_start <= end);
        let hull = self.apart[first..after]
            .iter()
            .fold((start, end), |hull, other| (hull.0.min(other.0), hull.1.max(other.1)));
        let covered: u64 = self.apart[first..after].iter().map(|(start, end)| end - start).sum();
        self.length += hull.1 - hull.0 - covered;
        self.apart.splice(first..after, [hull]);
        self.make_room();
    }

    /// Settles the older half if there is no room for one more interval.
    fn make_room(&mut self) {
        if self.apart.len() >= MOST {
            self.settle(MOST / 2);
        }
    }

    /// Returns the total length.
    pub fn total(&self) -> u64 {
        self.length
    }

    /// Adds a length without knowing its intervals.
    pub fn extend(&mut self, length: u64) {
        self.length = self.length.saturating_add(length);
    }

    /// Settles all intervals: none is expected any more.
    pub fn close(&mut self) {
        self.settle(self.apart.len());
        self.apart = Vec::new();
    }

    fn settle(&mut self, count: usize) {
        if let Some((_, end)) = self.apart.drain(..count).next_back() {
            self.horizon = end;
        }
    }
}

/// Adds an interval to a list of which only the union counts. An interval that touches the last one prolongs it, so
/// that fewer intervals are to be sorted.
#[inline]
pub(crate) fn push(list: &mut Vec<(u64, u64)>, start: u64, end: u64) {
    match list.last_mut() {
        Some((first, last)) if start <= *last && *first <= end => (*first, *last) = (start.min(*first), end.max(*last)),
        _ if start < end => list.push((start, end)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(intervals: &[(u64, u64)]) -> u64 {
        let mut union = Intervals::<4096>::default();
        intervals.iter().for_each(|&(start, end)| union.add(start, end));
        union.total()
    }

    #[test]
    fn overlaps_count_once() {
        assert_eq!(total(&[]), 0);
        assert_eq!(total(&[(0, 10), (20, 30)]), 20);
        assert_eq!(total(&[(0, 10), (5, 15), (12, 20)]), 20);
        assert_eq!(total(&[(0, 100), (10, 20)]), 100);
        assert_eq!(total(&[(10, 20), (0, 100), (20, 30)]), 100);
        assert_eq!(total(&[(5, 5), (9, 3)]), 0);
    }

    #[test]
    fn a_list_has_one_of_those_that_touch_the_last() {
        let mut list = Vec::new();
        for (start, end) in [(9, 3), (5, 5), (10, 20), (20, 25), (5, 12), (7, 7), (40, 30), (30, 40), (5, 25)] {
            push(&mut list, start, end);
        }
        assert_eq!(list, [(5, 25), (30, 40), (5, 25)]);
    }

    #[test]
    fn order_does_not_matter() {
        let intervals: Vec<(u64, u64)> = (0..300).map(|i| (i * 7919 % 5003, i * 7919 % 5003 + i % 40)).collect();
        let mut covered = vec![false; 6000];
        intervals.iter().for_each(|&(start, end)| covered[start as usize..end as usize].fill(true));
        let expected = covered.iter().filter(|&&inside| inside).count() as u64;
        assert_eq!(total(&intervals), expected);
        let mut reversed = intervals.clone();
        reversed.reverse();
        assert_eq!(total(&reversed), expected);
    }

    #[test]
    fn memory_is_bounded_and_the_total_stays_right() {
        let mut union = Intervals::<4096>::default();
        (0..100_000).for_each(|i| union.add(i * 10, i * 10 + 4));
        assert_eq!(union.total(), 400_000);
        assert!(union.apart.len() <= 4096);
    }
}
