//! Numbers of operations among the collectives of a communicator: those of their calls.

use crate::figures::progress::BegunOperation;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Most numbers that are kept for operations to come. Some calls have no operation: those without elements, and those
/// that are captured.
const MOST: usize = 65_536;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct OperationNumbers {
    /// Numbers of calls, or of operations without calls, by handle.
    known: FxHashMap<u64, u64>,
    /// Operations with the handle of their number, behind starts that have not been read, by order.
    waiting: BTreeMap<u64, (u64, BegunOperation)>,
    begun: Vec<BegunOperation>,
}

impl OperationNumbers {
    /// Sets the number of the call, or operation, of this handle.
    pub(super) fn number(&mut self, of: u64, number: u64) {
        if self.known.len() >= MOST {
            let newest = number.saturating_sub(MOST as u64 / 2);
            self.known.retain(|_, number| *number >= newest);
        }
        self.known.insert(of, number);
    }

    /// Adds an operation whose number is that of `key`. All starts before the order `next` are numbered.
    pub(super) fn begun(&mut self, key: u64, operation: BegunOperation, next: u64) {
        if operation.order < next && self.waiting.is_empty() {
            self.pass_on(key, operation);
        } else {
            self.waiting.insert(operation.order, (key, operation));
            self.settle(next);
        }
    }

    /// Passes on the operations before this order: all starts before it are numbered.
    pub(super) fn settle(&mut self, next: u64) {
        while let Some(first) = self.waiting.first_entry().filter(|first| *first.key() < next) {
            let (key, operation) = first.remove();
            self.pass_on(key, operation);
        }
    }

    fn pass_on(&mut self, key: u64, operation: BegunOperation) {
        self.begun.push(BegunOperation { number: self.known.remove(&key), ..operation });
    }

    /// Takes the operations since the last call.
    pub(super) fn take(&mut self) -> Vec<BegunOperation> {
        std::mem::take(&mut self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(order: u64) -> BegunOperation {
        BegunOperation { order, called: order, number: None, bytes: 8 }
    }

    #[test]
    fn operations_have_the_numbers_of_their_calls_in_whatever_order_starts_are_read() {
        let mut numbers = OperationNumbers::default();
        // a call, its operation, a replay's operation, and an operation behind a start that was not read
        numbers.number(70, 0);
        numbers.begun(70, begun(1), 2);
        numbers.begun(70, begun(2), 3);
        numbers.begun(71, begun(5), 3);
        assert_eq!(
            numbers.take().iter().map(|one| (one.order, one.number)).collect::<Vec<_>>(),
            [(1, Some(0)), (2, None)]
        );
        numbers.number(71, 1);
        numbers.settle(5);
        assert!(numbers.take().is_empty());
        numbers.settle(6);
        assert_eq!(numbers.take(), [BegunOperation { number: Some(1), ..begun(5) }]);
        assert!(numbers.known.is_empty() && numbers.waiting.is_empty());
    }

    #[test]
    fn numbers_of_calls_without_operations_do_not_pile_up() {
        let mut numbers = OperationNumbers::default();
        (0..3 * MOST as u64).for_each(|call| numbers.number(call, call));
        assert!(numbers.known.len() <= MOST);
        numbers.begun(3 * MOST as u64 - 1, begun(1), 2);
        assert_eq!(numbers.take()[0].number, Some(3 * MOST as u64 - 1));
    }
}
