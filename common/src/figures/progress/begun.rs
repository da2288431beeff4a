//! Operations that a communicator has begun, in the order of their calls, until all that were called before them have
//! had their time on the GPU.

use std::collections::VecDeque;

/// Most operations that are kept. Marks that would need older ones are not made.
const MOST: usize = 65_536;

/// An operation that was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BegunOperation {
    /// Place in the communicator's order of starts.
    pub order: u64,
    /// Time of its call, ticks.
    pub called: u64,
    /// Number among the communicator's collectives, from 0; `None` for sends, receives, and replays of CUDA graphs.
    pub number: Option<u64>,
    /// Bytes.
    pub bytes: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct BegunOperations {
    /// By order. Calls do not fall, and neither do the operations and bytes up to each, itself included.
    all: VecDeque<(BegunOperation, [u64; 2])>,
    /// Operations and bytes that were forgotten.
    before: [u64; 2],
    /// Call of the last one that was forgotten.
    forgotten: Option<u64>,
}

impl BegunOperations {
    pub(super) fn extend(&mut self, begun: Vec<BegunOperation>) {
        begun.into_iter().for_each(|one| self.add(one));
        while self.all.len() > MOST {
            self.forget_first();
        }
    }

    fn add(&mut self, mut one: BegunOperation) {
        // mostly the last place
        let place = self.all.iter().rposition(|(other, _)| other.order < one.order).map_or(0, |place| place + 1);
        let [mut sum, mut called] = [self.before, [self.forgotten.unwrap_or(0); 2]];
        if let Some((before, upto)) = place.checked_sub(1).and_then(|before| self.all.get(before)) {
            (sum, called) = (*upto, [before.called; 2]);
        }
        one.called = one.called.max(called[0]);
        let add = |sum: [u64; 2]| [sum[0] + 1, sum[1].saturating_add(one.bytes)];
        self.all.range_mut(place..).for_each(|(behind, sum)| {
            behind.called = behind.called.max(one.called);
            *sum = add(*sum);
        });
        self.all.insert(place, (one, add(sum)));
    }

    /// Returns the operation of this order.
    pub(super) fn get(&self, order: u64) -> Option<BegunOperation> {
        let place = self.all.binary_search_by_key(&order, |(one, _)| one.order).ok()?;
        self.all.get(place).map(|(one, _)| *one)
    }

    /// Returns the operations, and their bytes, that were called up to this time; `None` if that was forgotten.
    pub(super) fn before(&self, called: u64) -> Option<[u64; 2]> {
        match self.all.partition_point(|(one, _)| one.called <= called).checked_sub(1) {
            Some(last) => self.all.get(last).map(|(_, sum)| *sum),
            None => self.forgotten.is_none_or(|forgotten| forgotten <= called).then_some(self.before),
        }
    }

    /// Returns all operations and their bytes.
    pub(super) fn all(&self) -> [u64; 2] {
        self.all.back().map_or(self.before, |(_, sum)| *sum)
    }

    /// Returns the call of the last operation that is kept.
    pub(super) fn last_call(&self) -> Option<u64> {
        self.all.back().map(|(one, _)| one.called)
    }

    /// Forgets the operations that were called before this time.
    pub(super) fn forget_before(&mut self, called: u64) {
        while self.all.front().is_some_and(|(one, _)| one.called < called) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((one, sum)) = self.all.pop_front() {
            (self.before, self.forgotten) = (sum, Some(one.called));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(order: u64, called: u64) -> BegunOperation {
        BegunOperation { order, called, number: Some(order), bytes: 10 }
    }

    #[test]
    fn sums_are_those_of_the_order_of_calls_whatever_is_read_first() {
        let (mut one, mut other) = (BegunOperations::default(), BegunOperations::default());
        one.extend(vec![begun(0, 5), begun(1, 7), begun(2, 9)]);
        other.extend(vec![begun(2, 9), begun(0, 5), begun(1, 7)]);
        for all in [&one, &other] {
            let sums = [4, 5, 8, 9, 100].map(|called| all.before(called).unwrap()[0]);
            assert_eq!((sums, all.all()), ([0, 1, 2, 3, 3], [3, 30]));
            assert_eq!(all.get(1), Some(begun(1, 7)));
        }
    }

    #[test]
    fn what_is_forgotten_still_counts() {
        let mut all = BegunOperations::default();
        all.extend((0..10).map(|order| begun(order, 10 * order)).collect());
        all.forget_before(50);
        assert_eq!([50, 40].map(|called| all.before(called)), [Some([6, 60]), Some([5, 50])]);
        assert_eq!((all.before(39), all.get(4), all.all()), (None, None, [10, 100]));
        all.extend((10..10 + MOST as u64).map(|order| begun(order, 10 * order)).collect());
        assert_eq!(all.all.len(), MOST);
    }
}
