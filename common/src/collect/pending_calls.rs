//! Calls of NCCL's API that no operation has followed yet, by handle.

use crate::collect::table::HandleTable;

/// A call that an operation may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PendingCall {
    /// Place in the communicator's order of starts.
    pub order: u64,
    /// Time of the call, ticks.
    pub time: u64,
    /// Whether it was captured into a CUDA graph: the capture launches nothing.
    pub captured: bool,
}

/// Calls that wait for their operation, by handle.
pub(crate) type PendingCalls = HandleTable<PendingCall>;

impl PendingCalls {
    /// Removes the calls that are `over`, and returns their number.
    pub(crate) fn drop_over(&mut self, over: impl Fn(&PendingCall) -> bool) -> u64 {
        let places: Vec<u32> = self.places(over).map(|(place, _)| place).collect();
        self.remove_at(&places);
        self.shrink();
        places.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_over_are_counted_and_gone() {
        let mut calls = PendingCalls::default();
        let call = |order| PendingCall { order, time: 10 * order, captured: false };
        (0..20).for_each(|order| calls.insert(100 + order, call(order)));
        assert_eq!([calls.remove(119), calls.remove(101), calls.remove(119)], [Some(call(19)), Some(call(1)), None]);
        assert_eq!((calls.drop_over(|call| call.order < 15), calls.count()), (14, 4));
        calls.insert(150, call(50));
        assert_eq!((calls.drop_over(|_| true), calls.count()), (5, 0));
    }
}
