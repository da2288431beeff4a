//! Things by handle, of which the same few are asked for again and again.
//!
//! They lie side by side, beside a table from handles to places. Events of few operations come in turn, so the places asked for last are
//! kept in mind, by the last bits of their handles: a guess that one comparison proves.

use rustc_hash::FxHashMap;

/// Places that are kept in mind.
const GUESSES: usize = 256;
/// Entries that memory is kept for when few are needed.
const FEW: usize = 64;
/// In the place of one that is taken out. No slot has that handle.
const GONE: u64 = u64::MAX;

/// A table by handle.
#[derive(Debug)]
pub struct Table<T> {
    entries: Vec<(u64, T)>,
    places: FxHashMap<u64, u32>,
    /// None until the first entry comes.
    guesses: Vec<u32>,
    /// How many entries there were of late: memory for so many will be needed again.
    most: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), places: FxHashMap::default(), guesses: Vec::new(), most: 0 }
    }
}

impl<T> Table<T> {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// All of them, by their places, which are good until the next insertion or removal.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// The entry at that place.
    #[inline]
    pub fn at(&mut self, place: u32) -> Option<&mut T> {
        self.entries.get_mut(place as usize).map(|(_, entry)| entry)
    }

    /// The place of that handle's entry.
    #[inline]
    pub fn place(&mut self, handle: u64) -> Option<u32> {
        let guess = *self.guesses.get(handle as usize % GUESSES)?;
        let is_there = self.entries.get(guess as usize).is_some_and(|(found, _)| *found == handle);
        if is_there { Some(guess) } else { self.look_up(handle) }
    }

    #[inline(never)]
    fn look_up(&mut self, handle: u64) -> Option<u32> {
        let place = *self.places.get(&handle)?;
        self.guesses[handle as usize % GUESSES] = place;
        Some(place)
    }

    /// Whether it is among them.
    #[inline]
    pub fn contains(&mut self, handle: u64) -> bool {
        self.place(handle).is_some()
    }

    /// The entry of that handle.
    #[inline]
    pub fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let place = self.place(handle)?;
        self.at(place)
    }

    /// Takes one in; one of the same handle must not be there.
    pub fn insert(&mut self, handle: u64, entry: T) {
        let place = self.entries.len() as u32;
        self.places.insert(handle, place);
        self.guesses.resize(GUESSES, place);
        self.guesses[handle as usize % GUESSES] = place;
        self.entries.push((handle, entry));
        self.most = self.most.max(self.entries.len());
    }

    /// Takes one out.
    pub fn remove(&mut self, handle: u64) -> Option<T> {
        let place = self.places.remove(&handle)?;
        let (_, entry) = self.entries.swap_remove(place as usize);
        if let Some((moved, _)) = self.entries.get(place as usize) {
            self.places.insert(*moved, place);
        }
        Some(entry)
    }

    /// Takes those out that lie at these places, each named once.
    pub fn remove_at(&mut self, places: impl ExactSizeIterator<Item = u32>) {
        let left = self.entries.len().saturating_sub(places.len());
        for place in places {
            if let Some((handle, _)) = self.entries.get_mut(place as usize) {
                self.places.remove(handle);
                *handle = GONE;
            }
        }
        // those left behind fill the gaps in front: they are large, and no more of them are moved than there are of either
        let (front, behind) = self.entries.split_at_mut(left);
        let gaps = front.iter_mut().zip(0..).filter(|((handle, _), _)| *handle == GONE);
        let moving = behind.iter_mut().filter(|(handle, _)| *handle != GONE);
        for (moved, (gap, place)) in moving.zip(gaps) {
            self.places.insert(moved.0, place);
            std::mem::swap(gap, moved);
        }
        self.entries.truncate(left);
    }

    /// Takes all out.
    pub fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(self).entries.into_iter().map(|(_, entry)| entry)
    }

    /// Gives back memory that many needed and few do not, when that has been so for some calls.
    pub fn shrink(&mut self) {
        if self.entries.capacity() > (4 * self.most).max(FEW) {
            self.entries.shrink_to(2 * self.most);
            self.places.shrink_to(2 * self.most);
        }
        self.most = self.entries.len().max(self.most / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_left_are_found_after_others_are_gone() {
        let mut table = Table::default();
        (0..1000).for_each(|number| table.insert(number + 7000, number));
        table.remove_at((0..1000).step_by(3).collect::<Vec<_>>().into_iter());
        assert_eq!([table.remove(7001), table.remove(7001), table.remove(7000)], [Some(1), None, None]);
        table.shrink();
        let is_left = |number: u64| !number.is_multiple_of(3) && number != 1;
        for number in 0..1000 {
            assert_eq!(table.contains(number + 7000), is_left(number));
            assert_eq!(table.get_mut(number + 7000).copied(), is_left(number).then_some(number));
        }
        let mut left: Vec<u64> = table.iter().copied().collect();
        left.sort_unstable();
        assert_eq!(left, (0..1000).filter(|&number| is_left(number)).collect::<Vec<_>>());
    }

    #[test]
    fn memory_that_many_needed_is_given_back() {
        let mut table = Table::default();
        (0..10_000).for_each(|number| table.insert(number, [number; 20]));
        table.remove_at(10..10_000);
        table.shrink();
        assert!(table.entries.capacity() >= 10_000, "as many may come again");
        (0..14).for_each(|_| table.shrink());
        assert!(table.entries.capacity() < 100 && table.places.capacity() < 100);
        assert_eq!((table.take().count(), table.count(), table.entries.capacity()), (10, 0, 0));
    }
}
