//! The operations of a communicator that are under way, by handle.
//!
//! They lie side by side, since all of them are looked through again and again; beside them is a table from handles to places. Events
//! of one operation come in runs, so the place asked for last is kept in mind.

use crate::operation::Operation;
use rustc_hash::FxHashMap;

/// Places that are kept at hand when few are needed.
const FEW: usize = 64;

/// Operations under way.
#[derive(Debug, Default)]
pub struct Operations {
    entries: Vec<(u64, Operation)>,
    places: FxHashMap<u64, u32>,
    /// Where the one asked for last is, if it is still there.
    last: usize,
}

impl Operations {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// All of them, with their handles, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Operation)> {
        self.entries.iter().map(|(handle, operation)| (*handle, operation))
    }

    /// The place of that handle's, good until the next insertion or removal.
    #[inline]
    fn place(&mut self, handle: u64) -> Option<usize> {
        if self.entries.get(self.last).is_none_or(|(last, _)| *last != handle) {
            self.last = *self.places.get(&handle)? as usize;
        }
        Some(self.last)
    }

    /// Whether it is among them.
    #[inline]
    pub fn contains(&mut self, handle: u64) -> bool {
        self.place(handle).is_some()
    }

    /// The operation of that handle.
    #[inline]
    pub fn get_mut(&mut self, handle: u64) -> Option<&mut Operation> {
        let place = self.place(handle)?;
        self.entries.get_mut(place).map(|(_, operation)| operation)
    }

    /// Takes one in; one of the same handle must not be there.
    pub fn insert(&mut self, handle: u64, operation: Operation) {
        self.places.insert(handle, self.entries.len() as u32);
        self.entries.push((handle, operation));
    }

    /// Takes one out.
    pub fn remove(&mut self, handle: u64) -> Option<Operation> {
        let place = self.places.remove(&handle)? as usize;
        let (_, operation) = self.entries.swap_remove(place);
        if let Some((moved, _)) = self.entries.get(place) {
            self.places.insert(*moved, place as u32);
        }
        Some(operation)
    }

    /// Takes all out.
    pub fn take(&mut self) -> Vec<Operation> {
        let Self { entries, .. } = std::mem::take(self);
        entries.into_iter().map(|(_, operation)| operation).collect()
    }

    /// Gives back memory that many needed and few do not.
    pub fn shrink(&mut self) {
        if self.entries.capacity() > (4 * self.entries.len()).max(FEW) {
            self.entries.shrink_to(2 * self.entries.len());
            self.places.shrink_to(2 * self.entries.len());
        }
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
    fn those_left_are_found_after_others_are_gone() {
        let mut operations = Operations::default();
        (0..100).for_each(|order| operations.insert(order + 7000, operation(order)));
        assert_eq!(operations.get_mut(7003).map(|found| found.order), Some(3));
        assert_eq!(operations.remove(7003).map(|removed| removed.order), Some(3));
        assert!(operations.remove(7003).is_none() && operations.get_mut(7003).is_none());
        for order in (0..100).filter(|order| order % 3 == 0 && *order != 3) {
            assert_eq!(operations.remove(order + 7000).map(|removed| removed.order), Some(order));
        }
        operations.shrink();
        for order in 0..100 {
            assert_eq!(operations.contains(order + 7000), order % 3 != 0);
            assert_eq!(operations.get_mut(order + 7000).map(|found| found.order), (order % 3 != 0).then_some(order));
        }
        assert_eq!((operations.count(), operations.iter().count()), (66, 66));
    }

    #[test]
    fn memory_that_many_needed_is_given_back() {
        let mut operations = Operations::default();
        (0..10_000).for_each(|order| operations.insert(order, operation(order)));
        (10..10_000).for_each(|order| assert!(operations.remove(order).is_some()));
        operations.shrink();
        assert!(operations.entries.capacity() < 100 && operations.places.capacity() < 100);
        assert_eq!(operations.take().len(), 10);
        assert_eq!((operations.count(), operations.entries.capacity()), (0, 0));
    }
}
