//! A table by handle, for few entries that are looked up again and again.
//!
//! The entries lie side by side in a vector. The last bits of a handle index a guess: the place of the last entry
//! inserted with these bits. One comparison checks the guess. A hash table has the places of the entries that no guess
//! leads to. It has little to do: there are two to four times as many guesses as entries, up to 16,384 entries.

use rustc_hash::FxHashMap;

/// Number of guesses of a table that is not empty, at least.
const FEWEST_GUESSES: usize = 64;
/// Largest number of guesses; they take 128 KiB. With more than half as many entries, the hash table has more to do.
const MOST_GUESSES: usize = 32_768;
/// Guesses for each entry; with fewer, their number doubles. More guesses would make fewer entries share a guess, but
/// the processor's caches would hold fewer of them.
const ROOMY: usize = 2;
/// Capacity that is kept when few entries are needed.
const FEW: usize = 64;
/// Handle of an entry that is taken out. No slot has this handle.
const GONE: u64 = u64::MAX;
/// A guess that leads to no entry.
const NOWHERE: u32 = u32::MAX;

/// A table by handle.
#[derive(Debug)]
pub(crate) struct HandleTable<T> {
    entries: Vec<(u64, T)>,
    /// Places of entries by the last bits of their handles, or [`NOWHERE`]. Their number is a power of two, or 0 until
    /// the first entry comes.
    guesses: Vec<u32>,
    /// Places of exactly the entries that their guess does not lead to, by handle.
    others: FxHashMap<u64, u32>,
    /// Largest recent number of entries: memory for as many will be needed again.
    most: usize,
}

impl<T> Default for HandleTable<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), guesses: Vec::new(), others: FxHashMap::default(), most: 0 }
    }
}

impl<T> HandleTable<T> {
    /// Returns the number of entries.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// Iterates over all entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    /// Iterates over the wanted entries with their places, which are valid until the next insertion or removal.
    pub(crate) fn places(&self, wanted: impl Fn(&T) -> bool) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.iter()).filter(move |(_, entry)| wanted(entry))
    }

    /// Iterates over the handles of the wanted entries.
    pub(crate) fn handles(&self, wanted: impl Fn(&T) -> bool) -> impl Iterator<Item = u64> {
        self.entries.iter().filter(move |(_, entry)| wanted(entry)).map(|(handle, _)| *handle)
    }

    /// Returns the entry at this place.
    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> Option<&mut T> {
        self.entries.get_mut(place as usize).map(|(_, entry)| entry)
    }

    /// Returns the index of a handle's guess; past the end where there are no guesses.
    #[inline]
    fn bits(&self, handle: u64) -> usize {
        handle as usize & self.guesses.len().wrapping_sub(1)
    }

    /// Returns the place of the handle's entry.
    #[inline]
    pub(crate) fn place(&self, handle: u64) -> Option<u32> {
        let guess = *self.guesses.get(self.bits(handle))?;
        let is_there = self.entries.get(guess as usize).is_some_and(|(found, _)| *found == handle);
        if is_there { Some(guess) } else { self.look_up(handle) }
    }

    #[inline(never)]
    fn look_up(&self, handle: u64) -> Option<u32> {
        self.others.get(&handle).copied()
    }

    /// Returns whether there is an entry of this handle.
    #[inline]
    pub(crate) fn contains(&self, handle: u64) -> bool {
        self.place(handle).is_some()
    }

    /// Returns the entry of this handle.
    #[inline]
    pub(crate) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let place = self.place(handle)?;
        self.at(place)
    }

    /// Inserts an entry. The table must not have an entry of the same handle.
    #[inline]
    pub(crate) fn insert(&mut self, handle: u64, entry: T) {
        if self.entries.len() * ROOMY >= self.guesses.len() && self.guesses.len() < MOST_GUESSES {
            self.guess_anew(2 * self.guesses.len());
        }
        let place = self.entries.len() as u32;
        self.entries.push((handle, entry));
        self.lead_to(place, handle);
        self.most = self.most.max(self.entries.len());
    }

    /// Makes the handle's guess lead to this place. The entry it led to before goes to the hash table.
    #[inline]
    fn lead_to(&mut self, place: u32, handle: u64) {
        let bits = self.bits(handle);
        let before = std::mem::replace(&mut self.guesses[bits], place);
        if let Some(&(other, _)) = self.entries.get(before as usize) {
            self.others.insert(other, before);
        }
    }

    /// Rebuilds the guesses, about this many.
    #[cold]
    fn guess_anew(&mut self, wanted: usize) {
        let count = wanted.next_power_of_two().clamp(FEWEST_GUESSES, MOST_GUESSES);
        self.others.clear();
        self.guesses = vec![NOWHERE; count];
        for place in 0..self.entries.len() {
            self.lead_to(place as u32, self.entries[place].0);
        }
    }

    /// Removes and returns the entry of this handle.
    pub(crate) fn remove(&mut self, handle: u64) -> Option<T> {
        let place = self.place(handle)?;
        self.forget(handle, place);
        let (_, entry) = self.entries.swap_remove(place as usize);
        if let Some(&(moved, _)) = self.entries.get(place as usize) {
            self.moved(moved, self.entries.len() as u32, place);
        }
        Some(entry)
    }

    /// Removes the way to an entry that is taken out.
    fn forget(&mut self, handle: u64, place: u32) {
        let bits = self.bits(handle);
        if self.guesses[bits] == place {
            self.guesses[bits] = NOWHERE;
        } else {
            self.others.remove(&handle);
        }
    }

    /// Notes that an entry has moved.
    fn moved(&mut self, handle: u64, from: u32, to: u32) {
        let bits = self.bits(handle);
        if self.guesses[bits] == from {
            self.guesses[bits] = to;
        } else {
            self.others.insert(handle, to);
        }
    }

    /// Removes the entries at these places, each named once.
    pub(crate) fn remove_at(&mut self, places: &[u32]) {
        debug_assert!(places.iter().collect::<std::collections::HashSet<_>>().len() == places.len());
        let left = self.entries.len().saturating_sub(places.len());
        for &place in places {
            if let Some((handle, _)) = self.entries.get_mut(place as usize) {
                let handle = std::mem::replace(handle, GONE);
                self.forget(handle, place);
            }
        }
        // entries from behind fill the gaps in front: entries are large, and no more of them are moved than there are
        // gaps or entries behind
        let mut gaps = places.iter().filter(|&&place| (place as usize) < left);
        for from in left..self.entries.len() {
            let handle = self.entries[from].0;
            if handle != GONE
                && let Some(&gap) = gaps.next()
            {
                self.entries.swap(gap as usize, from);
                self.moved(handle, from as u32, gap);
            }
        }
        self.entries.truncate(left);
    }

    /// Removes and returns all entries.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(self).entries.into_iter().map(|(_, entry)| entry)
    }

    /// Gives back memory that a peak has left over, once some calls have found it unused.
    pub(crate) fn shrink(&mut self) {
        if self.entries.capacity() > (4 * self.most).max(FEW) {
            self.entries.shrink_to(2 * self.most);
        }
        if self.guesses.len() > (8 * ROOMY * self.most).max(FEWEST_GUESSES) {
            self.guess_anew(2 * ROOMY * self.most);
        }
        if self.others.capacity() > (8 * self.others.len()).max(FEW) {
            self.others.shrink_to(2 * self.others.len());
        }
        self.most = self.entries.len().max(self.most / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_left_are_found_after_others_are_gone() {
        let mut table = HandleTable::default();
        (0..1000).for_each(|number| table.insert(number + 7000, number));
        table.remove_at(&(0..1000).step_by(3).collect::<Vec<_>>());
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
    fn each_is_found_by_its_guess_or_else_by_its_hash_and_never_by_both() {
        let mut table = HandleTable::default();
        let mut known = std::collections::BTreeMap::new();
        let mut random = fastrand::Rng::with_seed(7);
        let (mut most_others, mut counts) = (0, std::collections::BTreeSet::new());
        for number in 0..20_000_u64 {
            // few bits, so that many handles share them; at times more entries than guesses
            let handle = number << 32 | random.u64(..40) << random.u32(..10);
            match random.u32(..1000) {
                0..500 => {
                    table.insert(handle, number);
                    known.insert(handle, number);
                }
                500..998 => {
                    let one = known.keys().nth(random.usize(..known.len().max(1))).copied().unwrap_or(handle);
                    assert_eq!(table.remove(one), known.remove(&one));
                }
                _ => {
                    let over = |number: u64| number.is_multiple_of(3);
                    let places: Vec<u32> = table.places(|&number| over(number)).map(|(place, _)| place).collect();
                    table.remove_at(&places);
                    known.retain(|_, number| !over(*number));
                    table.shrink();
                }
            }
            let guessed = |handle: u64| *table.guesses.get(table.bits(handle)).unwrap_or(&NOWHERE) as usize;
            let by_guess = |handle: u64| table.entries.get(guessed(handle)).is_some_and(|(found, _)| *found == handle);
            counts.insert(table.guesses.len());
            assert_eq!(table.others.len(), known.keys().filter(|&&handle| !by_guess(handle)).count());
            most_others = most_others.max(table.others.len());
            if number % 100 == 0 {
                for (&handle, number) in &known {
                    assert_eq!(table.get_mut(handle), Some(&mut number.clone()));
                }
            }
        }
        assert!(most_others > 20 && counts.len() > 2, "{most_others} {counts:?}");
    }

    #[test]
    fn more_than_there_are_guesses_for_are_found() {
        let mut table = HandleTable::default();
        let handle = |number: u64| (1 << 40) + 3 * number;
        (0..100_000).for_each(|number| table.insert(handle(number), number));
        assert_eq!(table.guesses.len(), MOST_GUESSES);
        table.remove_at(&(0..100_000).filter(|place| place % 5 > 0).collect::<Vec<_>>());
        for number in 0..100_000 {
            assert_eq!(table.get_mut(handle(number)).copied(), number.is_multiple_of(5).then_some(number));
        }
        let bits_of = |place: u32| table.bits(table.entries[place as usize].0);
        assert!((0..).zip(&table.guesses).all(|(bits, &place)| place == NOWHERE || bits_of(place) == bits));
    }

    #[test]
    fn memory_that_many_needed_is_given_back() {
        let mut table = HandleTable::default();
        // all handles share a few last bits
        let handle = |number: u64| (number << 20) + number % 7;
        (0..10_000).for_each(|number| table.insert(handle(number), [number; 20]));
        table.remove_at(&(10..10_000).collect::<Vec<_>>());
        table.shrink();
        assert!(table.entries.capacity() >= 10_000, "as many may come again");
        assert!((0..10).all(|number| table.contains(handle(number))));
        (0..14).for_each(|_| table.shrink());
        assert!(table.entries.capacity() < 100 && table.others.capacity() < 100 && table.guesses.len() < 1000);
        assert_eq!((table.take().count(), table.count(), table.entries.capacity()), (10, 0, 0));
    }
}
