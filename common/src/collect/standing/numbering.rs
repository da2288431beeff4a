//! Numbers the collectives of a communicator in the order of their starts, which threads report in another order.

use std::collections::BTreeMap;

/// Most starts that wait for starts before them. A start that is never reported must not stop the count for ever.
const MOST_AHEAD: usize = 16_384;

/// The count to which a start adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartCount {
    Collective,
    P2p,
    Nothing,
}

/// A call or operation that has started.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    /// Handle for which the number is wanted; 0 for none.
    pub of: u64,
    pub counts: StartCount,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// Order of the next start.
    next: u64,
    ahead: BTreeMap<u64, Start>,
    collectives: u64,
    p2p: u64,
}

impl Numbering {
    /// Returns the number of collectives, and of sends and receives.
    pub(super) fn counts(&self) -> [u64; 2] {
        [self.collectives, self.p2p]
    }

    /// Returns the order before which all starts are numbered.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Takes in the start at this place in the order. Calls `number` for each collective whose number is known now.
    /// Returns false if starts are missing.
    pub(super) fn start(&mut self, order: u64, start: Start, mut number: impl FnMut(u64, u64)) -> bool {
        if order != self.next {
            if order > self.next {
                self.ahead.insert(order, start);
            }
            return self.bound(number);
        }
        self.count(start, &mut number);
        self.catch_up(&mut number);
        true
    }

    fn count(&mut self, Start { of, counts }: Start, number: &mut impl FnMut(u64, u64)) {
        self.next += 1;
        match counts {
            StartCount::Collective => {
                if of != 0 {
                    number(of, self.collectives);
                }
                self.collectives += 1;
            }
            StartCount::P2p => self.p2p += 1,
            StartCount::Nothing => {}
        }
    }

    fn catch_up(&mut self, number: &mut impl FnMut(u64, u64)) {
        while let Some(start) = self.ahead.remove(&self.next) {
            self.count(start, number);
        }
    }

    /// Goes on without the missing starts if too many wait for them. Returns false then.
    fn bound(&mut self, mut number: impl FnMut(u64, u64)) -> bool {
        if self.ahead.len() <= MOST_AHEAD {
            return true;
        }
        if let Some((&first, _)) = self.ahead.first_key_value() {
            self.next = first;
            self.catch_up(&mut number);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(numbering: &mut Numbering, orders: impl IntoIterator<Item = u64>) -> (Vec<(u64, u64)>, bool) {
        let (mut numbers, mut whole) = (Vec::new(), true);
        for order in orders {
            let counts = [StartCount::Collective, StartCount::P2p, StartCount::Nothing][order as usize % 3];
            whole &= numbering.start(order, Start { of: 100 + order, counts }, |of, number| numbers.push((of, number)));
        }
        (numbers, whole)
    }

    #[test]
    fn numbers_are_the_same_in_whatever_order_starts_are_read() {
        let (mut one, mut other) = (Numbering::default(), Numbering::default());
        let in_turn = started(&mut one, 0..9);
        let mut mixed = started(&mut other, [4, 3, 0, 8, 7, 2, 1, 6, 6, 5, 0]);
        mixed.0.sort_unstable();
        assert_eq!((in_turn.clone(), mixed), ((vec![(100, 0), (103, 1), (106, 2)], true), in_turn));
        assert_eq!((one.counts(), other.counts()), ([3, 3], [3, 3]));
    }

    #[test]
    fn a_start_that_is_never_reported_does_not_stop_the_count() {
        let mut numbering = Numbering::default();
        let (numbers, whole) = started(&mut numbering, 1..=MOST_AHEAD as u64 + 1);
        assert!(!whole && numbers.len() == MOST_AHEAD / 3);
        assert!(numbering.ahead.is_empty());
    }
}
