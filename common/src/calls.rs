//! Calls of NCCL's API that no operation has followed yet, by handle.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// A call that an operation may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Place in the order of starts of its communicator.
    pub order: u64,
    /// When it was made, ticks.
    pub time: u64,
    /// Captured into a CUDA graph: it launches nothing itself.
    pub captured: bool,
}

/// Calls that are kept at hand: those of a group are followed by their operations in turn.
const FEW: usize = 8;

/// All of a communicator that wait.
#[derive(Debug, Default)]
pub struct Calls {
    /// Those that came last, which are mostly asked for next.
    latest: VecDeque<(u64, Call)>,
    others: FxHashMap<u64, Call>,
}

impl Calls {
    /// Takes a call in.
    pub fn insert(&mut self, handle: u64, call: Call) {
        if self.latest.len() == FEW
            && let Some((oldest, call)) = self.latest.pop_front()
        {
            self.others.insert(oldest, call);
        }
        self.latest.push_back((handle, call));
    }

    /// Takes the call of that handle out.
    #[inline]
    pub fn take(&mut self, handle: u64) -> Option<Call> {
        match self.latest.iter().position(|&(latest, _)| latest == handle) {
            Some(place) => self.latest.remove(place).map(|(_, call)| call),
            None if self.others.is_empty() => None,
            None => self.others.remove(&handle),
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.others.len() + self.latest.len()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Call> {
        self.others.values().chain(self.latest.iter().map(|(_, call)| call))
    }

    /// Takes those out that are `over`, and gives how many.
    pub fn take_over(&mut self, over: impl Fn(&Call) -> bool) -> u64 {
        let before = self.count();
        self.latest.retain(|(_, call)| !over(call));
        if !self.others.is_empty() {
            self.others.retain(|_, call| !over(call));
        }
        (before - self.count()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_once_whichever_came_last() {
        let mut calls = Calls::default();
        let call = |order| Call { order, time: 10 * order, captured: false };
        (0..20).for_each(|order| calls.insert(100 + order, call(order)));
        assert_eq!((calls.count(), calls.iter().count()), (20, 20));
        assert_eq!([calls.take(119), calls.take(101), calls.take(119)], [Some(call(19)), Some(call(1)), None]);
        assert_eq!((calls.take_over(|call| call.order < 15), calls.count()), (14, 4));
        calls.insert(150, call(50));
        assert_eq!((calls.take_over(|_| true), calls.count()), (5, 0));
    }
}
