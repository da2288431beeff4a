//! A value for each handle of a recording.

use std::collections::HashMap;

/// Largest number of handles that a next one may leave out and still lie in the list. Recorders number handles in the
/// order of starts, in which threads may overtake each other by a few.
const GAP: u64 = 8;
/// Values that memory is taken for at a time.
const CHUNK: usize = 4096;

/// Values by handle. Recorders give out 1, 2, 3 and so on, so nearly all values lie in a list, in as much memory as
/// they have bytes. A handle without a value has the default one.
#[derive(Debug, Default)]
pub struct Handles<T> {
    /// The handle of the list's first value.
    first: u64,
    /// The list.
    chunks: Vec<Vec<T>>,
    length: u64,
    others: HashMap<u64, T>,
}

impl<T: Copy + Default> Handles<T> {
    /// Returns the value of a handle.
    pub fn get(&self, h: u64) -> T {
        match self.place(h) {
            Some((chunk, place)) => self.chunks.get(chunk).and_then(|chunk| chunk.get(place)).copied(),
            None => self.others.get(&h).copied(),
        }
        .unwrap_or_default()
    }

    /// Sets the value of a handle.
    pub fn set(&mut self, h: u64, value: T) {
        if self.length == 0 {
            self.first = h;
        }
        let end = self.first.saturating_add(self.length);
        if h >= end && h - end <= GAP {
            (end..=h).for_each(|_| self.push());
        }
        let slot = self.place(h).and_then(|(chunk, place)| self.chunks.get_mut(chunk)?.get_mut(place));
        match slot {
            Some(slot) => *slot = value,
            None => {
                self.others.insert(h, value);
            }
        }
    }

    /// Returns chunk and place in it of a handle in the list.
    fn place(&self, h: u64) -> Option<(usize, usize)> {
        let place = h.checked_sub(self.first).filter(|&place| place < self.length)?;
        let place = usize::try_from(place).ok()?;
        Some((place / CHUNK, place % CHUNK))
    }

    fn push(&mut self) {
        // a handle that came too early for the list
        let early = if self.others.is_empty() { None } else { self.others.remove(&(self.first + self.length)) };
        let value = early.unwrap_or_default();
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => chunk.push(value),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(value);
                self.chunks.push(chunk);
            }
        }
        self.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_handle_has_its_value() {
        let mut handles: Handles<u32> = Handles::default();
        assert_eq!(handles.get(0), 0);
        // near ones in any order, far ones, and pointers
        let near = (1..10_000).map(|number| if number % 5 == 0 { number + 1 } else { number });
        let all: Vec<u64> = near.chain([5, 20_000, u64::MAX, 0, 0x7fff_0000_1000]).collect();
        for (&h, value) in all.iter().zip(1..) {
            handles.set(h, value);
            assert_eq!(handles.get(h), value);
        }
        assert_eq!((handles.get(1), handles.get(2), handles.get(10), handles.get(20_001)), (1, 2, 0, 0));
        assert_eq!((handles.length, handles.others.len()), (9_999, 4));
        assert_eq!([u64::MAX, 0].map(|h| handles.get(h)), [10_002, 10_003]);
    }

    #[test]
    fn the_list_grows_over_handles_that_came_early() {
        let mut handles: Handles<u32> = Handles::default();
        for (h, value) in [(1, 1), (40, 2), (2, 3)].into_iter().chain((3..60).filter(|h| *h != 40).map(|h| (h, 9))) {
            handles.set(h, value);
        }
        assert_eq!(([1, 2, 3, 40, 41].map(|h| handles.get(h)), handles.others.len()), ([1, 3, 9, 2, 9], 0));
    }
}
