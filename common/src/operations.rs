//! The operations of a communicator that are under way, by handle.
//!
//! They lie side by side, since all of them are looked through again and again; beside them is a table from handles to places, by rows of
//! handles: a thread's operations are recorded slot after slot, so few rows are looked up for many operations. Events
//! of one operation come in runs, and operations one after the other, so the place asked for last is kept in mind.

use crate::operation::Operation;
use rustc_hash::FxHashMap;

/// Places that are kept at hand when few are needed.
const FEW: usize = 64;
/// In the place of one that is taken out. No slot has that handle.
const GONE: u64 = u64::MAX;

/// Handles of a row: as many as slots of a block.
const ROW: usize = 64;
/// The place of none.
const NOWHERE: u32 = u32::MAX;

/// Places of handles that follow one another.
#[derive(Debug)]
struct Row {
    /// The first of the handles; [`GONE`], which is no row's first, while the row is free.
    first: u64,
    /// How many of them have a place.
    count: u32,
    places: [u32; ROW],
}

/// Where the operation of a handle lies.
#[derive(Debug, Default)]
struct Places {
    rows: Vec<Row>,
    /// By their first handle.
    numbers: FxHashMap<u64, usize>,
    free: Vec<usize>,
    /// The row asked for last.
    last: usize,
}

impl Places {
    #[inline]
    fn row(&mut self, handle: u64) -> Option<&mut Row> {
        let first = handle - handle % ROW as u64;
        if self.rows.get(self.last).is_none_or(|row| row.first != first) {
            self.last = *self.numbers.get(&first)?;
        }
        self.rows.get_mut(self.last)
    }

    #[inline]
    fn get(&mut self, handle: u64) -> Option<u32> {
        let place = self.row(handle)?.places[handle as usize % ROW];
        (place != NOWHERE).then_some(place)
    }

    #[inline]
    fn set(&mut self, handle: u64, place: u32) {
        if self.row(handle).is_none() {
            self.add_row(handle - handle % ROW as u64);
        }
        if let Some(row) = self.row(handle) {
            let before = std::mem::replace(&mut row.places[handle as usize % ROW], place);
            row.count += u32::from(before == NOWHERE);
        }
    }

    fn add_row(&mut self, first: u64) {
        let row = Row { first, count: 0, places: [NOWHERE; ROW] };
        self.last = self.free.pop().unwrap_or(self.rows.len());
        match self.rows.get_mut(self.last) {
            Some(free) => *free = row,
            None => self.rows.push(row),
        }
        self.numbers.insert(first, self.last);
    }

    #[inline]
    fn remove(&mut self, handle: u64) {
        let Some(row) = self.row(handle) else { return };
        if std::mem::replace(&mut row.places[handle as usize % ROW], NOWHERE) == NOWHERE {
            return;
        }
        row.count -= 1;
        if row.count == 0 {
            let first = std::mem::replace(&mut row.first, GONE);
            self.numbers.remove(&first);
            self.free.push(self.last);
        }
    }
}

/// Operations under way.
#[derive(Debug, Default)]
pub struct Operations {
    entries: Vec<(u64, Operation)>,
    places: Places,
    /// Where the one asked for last is, if it is still there.
    last: usize,
    /// How many there were of late: memory for so many will be needed again.
    most: usize,
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
        let is_at = |place: usize| self.entries.get(place).is_some_and(|(found, _)| *found == handle);
        if !is_at(self.last) {
            self.last = if is_at(self.last + 1) { self.last + 1 } else { self.places.get(handle)? as usize };
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
        self.last = self.entries.len();
        self.places.set(handle, self.last as u32);
        self.entries.push((handle, operation));
    }

    /// Takes those out that are `over`, and gives them to `each` before, in the order of their starts.
    pub fn take_over(&mut self, mut over: impl FnMut(&Operation) -> bool, mut each: impl FnMut(&mut Operation)) {
        self.most = self.entries.len().max(self.most / 2);
        let ready = self.entries.iter().zip(0..).filter(|((_, operation), _)| over(operation));
        let mut ready: Vec<(u64, u32)> = ready.map(|((_, operation), place)| (operation.order, place)).collect();
        ready.sort_unstable();
        for &(_, place) in &ready {
            if let Some((handle, operation)) = self.entries.get_mut(place as usize) {
                each(operation);
                self.places.remove(*handle);
                *handle = GONE;
            }
        }
        // those left behind fill the gaps in front: they are large, and no more of them are moved than there are of either
        let left = self.entries.len() - ready.len();
        let (front, behind) = self.entries.split_at_mut(left);
        let gaps = front.iter_mut().zip(0..).filter(|((handle, _), _)| *handle == GONE);
        let moving = behind.iter_mut().filter(|(handle, _)| *handle != GONE);
        for (moved, (gap, place)) in moving.zip(gaps) {
            self.places.set(moved.0, place);
            std::mem::swap(gap, moved);
        }
        self.entries.truncate(left);
    }

    /// Takes all out.
    pub fn take(&mut self) -> Vec<Operation> {
        let Self { entries, .. } = std::mem::take(self);
        entries.into_iter().map(|(_, operation)| operation).collect()
    }

    /// Gives back memory that many needed and few do not.
    pub fn shrink(&mut self) {
        if self.entries.capacity() > (4 * self.most).max(FEW) {
            self.entries.shrink_to(2 * self.most);
            self.places = Places::default();
            self.entries.iter().zip(0..).for_each(|((handle, _), place)| self.places.set(*handle, place));
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
        let mut taken = Vec::new();
        operations.take_over(|operation| operation.order % 3 == 0, |operation| taken.push(operation.order));
        assert_eq!(taken, (0..100).step_by(3).collect::<Vec<_>>());
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
        operations.take_over(|operation| operation.order >= 10, |_| {});
        operations.shrink();
        assert!(operations.entries.capacity() >= 10_000, "as many may come again");
        for _ in 0..12 {
            operations.take_over(|_| false, |_| {});
            operations.shrink();
        }
        assert!(operations.entries.capacity() < 100 && operations.places.rows.len() < 100);
        assert_eq!(operations.take().len(), 10);
        assert_eq!((operations.count(), operations.entries.capacity()), (0, 0));
    }
}
