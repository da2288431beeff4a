//! The operations of a communicator that are under way, by handle.

use crate::operation::Operation;
use crate::table::Table;

/// Operations under way.
pub type Operations = Table<Operation>;

impl Operations {
    /// Takes those out that are `over`, and gives them to `each` before, in the order of their starts.
    pub fn take_over(&mut self, mut over: impl FnMut(&Operation) -> bool, mut each: impl FnMut(&mut Operation)) {
        let ready = self.iter().zip(0..).filter(|(operation, _)| over(operation));
        let mut ready: Vec<(u64, u32)> = ready.map(|(operation, place)| (operation.order, place)).collect();
        ready.sort_unstable();
        for &(_, place) in &ready {
            self.at(place).map(&mut each);
        }
        self.remove_at(ready.into_iter().map(|(_, place)| place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Handle;
    use crate::kind::Kind;
    use crate::mapping::Mapping;
    use crate::slot::Slot;

    fn operation(order: u64) -> Operation {
        let slot = Mapping::<Slot>::new(1).unwrap();
        slot[0].start(Handle::of_event(Kind::Coll, 0, 1), 0, 1000, [8, 0, 0, order]);
        Operation::new(&slot[0].read(1).unwrap())
    }

    #[test]
    fn those_that_are_over_are_given_in_their_order() {
        let mut operations = Operations::default();
        (0..100).for_each(|number| operations.insert(number + 7000, operation(number * 37 % 100)));
        assert_eq!(operations.get_mut(7003).map(|found| found.order), Some(11));
        let mut taken = Vec::new();
        operations.take_over(|operation| operation.order % 3 == 0, |operation| taken.push(operation.order));
        assert_eq!(taken, (0..100).step_by(3).collect::<Vec<_>>());
        for number in 0..100 {
            let order = number * 37 % 100;
            assert_eq!(operations.get_mut(number + 7000).map(|found| found.order), (order % 3 != 0).then_some(order));
        }
        assert_eq!((operations.count(), operations.iter().count()), (66, 66));
    }
}
