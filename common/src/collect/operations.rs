//! The operations of a communicator that are under way, by handle.

use crate::collect::table::HandleTable;
use crate::operation::Operation;
use crate::operation::kernels::CommunicatorKernels;

/// Operations under way, by handle.
pub(crate) type OperationsUnderWay = HandleTable<Operation>;

/// Operations to be taken out: their places, each with the operation's order.
pub(crate) type Chosen = Vec<(u64, u32)>;

impl OperationsUnderWay {
    /// Chooses the operations that are `over`.
    pub(crate) fn over(&self, over: impl Fn(&Operation) -> bool) -> Chosen {
        self.places(over).map(|(place, operation)| (operation.order, place)).collect()
    }

    /// Chooses, among these handles, the complete operations that are `over`. Keeps the handles of complete operations
    /// that are not over, and removes all other handles.
    pub(crate) fn complete_among(
        &mut self,
        handles: &mut Vec<u64>,
        kernels: &CommunicatorKernels,
        over: impl Fn(&Operation) -> bool,
    ) -> Chosen {
        let mut chosen = Vec::with_capacity(handles.len());
        handles.retain(|&handle| {
            let Some(place) = self.place(handle) else { return false };
            let is_complete = |operation: &&mut Operation| operation.is_complete(operation.kernel(kernels));
            let Some(operation) = self.at(place).filter(is_complete) else { return false };
            let over = over(operation);
            if over {
                chosen.push((operation.order, place));
            }
            !over
        });
        chosen
    }

    /// Takes the chosen operations out and passes each to `each`, in the order of their starts.
    pub(crate) fn take_out(&mut self, mut chosen: Chosen, mut each: impl FnMut(&mut Operation)) {
        // mostly sorted already, which this sort makes use of
        chosen.sort();
        chosen.dedup();
        let places: Vec<u32> = chosen.into_iter().map(|(_, place)| place).collect();
        for &place in &places {
            self.at(place).map(&mut each);
        }
        self.remove_at(&places);
        self.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::kind::EventKind;
    use crate::operation::moment;
    use crate::operation::tests::recorded;
    use crate::record::payload::{OfOperation, StartOrder};

    fn operation(order: u64) -> Operation {
        recorded(
            EventKind::Coll,
            1000,
            OfOperation { bytes: 8, place: StartOrder::new(order, 0), ..OfOperation::default() },
        )
    }

    #[test]
    fn those_that_are_over_are_given_in_their_order() {
        let mut operations = OperationsUnderWay::default();
        (0..100).for_each(|number| operations.insert(number + 7000, operation(number * 37 % 100)));
        assert_eq!(operations.get_mut(7003).map(|found| found.order), Some(11));
        let mut taken = Vec::new();
        let over = operations.over(|operation| operation.order % 3 == 0);
        operations.take_out(over, |operation| taken.push(operation.order));
        assert_eq!(taken, (0..100).step_by(3).collect::<Vec<_>>());
        for number in 0..100 {
            let order = number * 37 % 100;
            assert_eq!(operations.get_mut(number + 7000).map(|found| found.order), (order % 3 != 0).then_some(order));
        }
        assert_eq!((operations.count(), operations.iter().count()), (66, 66));
    }

    #[test]
    fn of_those_named_the_ones_that_are_over_are_taken_once() {
        let mut operations = OperationsUnderWay::default();
        for order in 0..10 {
            let mut complete = operation(order);
            (complete.stop, complete.kernels) = (moment(1010), 1);
            operations.insert(order + 7000, complete);
        }
        operations.insert(7011, operation(11));
        let mut named = vec![7008, 7003, 7001, 9999, 7003, 7011, 7002];
        let over = operations.complete_among(&mut named, &CommunicatorKernels::default(), |operation| {
            operation.order % 2 == 1 || operation.order == 8
        });
        let mut taken = Vec::new();
        operations.take_out(over, |operation| taken.push(operation.order));
        assert_eq!((taken, named, operations.count()), (vec![1, 3, 8], vec![7002], 8));
    }
}
