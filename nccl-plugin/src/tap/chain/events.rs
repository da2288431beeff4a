//! The second plugin's handles, by the number that NCCL holds.
//!
//! A number belongs to a set of few places. A new event takes the place of the oldest event of its set that has ended
//! or whose communicator has. Any other event keeps its place. No access waits. A number that is stale, foreign or
//! invented is not found.

use common::mapping::{Mapping, Zeroed};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Places in a set.
const WAYS: usize = 8;
/// Binary logarithm of the number of sets. 2^17 sets have a million places, 32 MiB when all are used; tests have few.
const SET_BITS: u32 = if cfg!(test) { 9 } else { 17 };

/// Tag of a place that was never used.
const UNUSED: u64 = 0;
/// Tag of a place that is being written; no serial gives this tag.
const BUSY: u64 = 1;

/// The places of a set, one cache line for each field: a search reads the line of numbers only. All zero is unused.
#[repr(C, align(64))]
#[derive(Debug)]
struct PlaceSet {
    numbers: [AtomicU64; WAYS],
    /// Serial times two, plus one once the event has ended.
    tags: [AtomicU64; WAYS],
    theirs: [AtomicU64; WAYS],
    owners: [AtomicU64; WAYS],
}

// SAFETY: the set consists of atomic integers, which are valid as zeros and need no drop.
unsafe impl Zeroed for PlaceSet {}

/// An event that the second plugin knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownEvent {
    /// The second plugin's handle, as a number.
    pub(super) theirs: u64,
    /// Number of the event's context.
    pub(super) owner: u64,
    /// Whether NCCL has stopped the event.
    pub(super) ended: bool,
}

/// All places. Their number is fixed; memory is committed at the first use and never given back.
#[derive(Debug)]
pub(super) struct ChainEvents {
    sets: Mapping<PlaceSet>,
    /// Number of serials given out; the first serial is 1.
    given: AtomicU64,
}

/// A place claimed for a number. [`ChainEvents::find`] finds the number once the place is filled.
#[derive(Debug)]
pub(super) struct ClaimedPlace<'a> {
    set: &'a PlaceSet,
    way: usize,
    number: u64,
    serial: u64,
}

impl ChainEvents {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { sets: Mapping::new(1 << SET_BITS)?, given: AtomicU64::new(0) })
    }

    fn set(&self, number: u64) -> &PlaceSet {
        // indices of handles are consecutive; this spreads them over the sets
        &self.sets[(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - SET_BITS)) as usize]
    }

    /// Claims a place for a number: the number's own, if it has one, since NCCL starts receives again under the same
    /// handle. Returns `None` if events that have not ended, of living owners, take all places of the set.
    pub(super) fn claim(&self, number: u64, is_alive: impl Fn(u64) -> bool) -> Option<ClaimedPlace<'_>> {
        let set = self.set(number);
        // another thread may take the place first; after that happened in all eight tries, the set counts as full
        for _ in 0..WAYS {
            let (_, tag, way) = (0..WAYS).filter_map(|way| set.age(way, number, &is_alive)).min()?;
            // Acquire: the stores of the earlier event come before those of the new one
            if set.tags[way].compare_exchange(tag, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                // a reader that sees any of the stores of `fill` also sees that the tag has changed
                fence(Ordering::Release);
                let serial = self.given.fetch_add(1, Ordering::Relaxed) + 1;
                return Some(ClaimedPlace { set, way, number, serial });
            }
        }
        None
    }

    /// Returns the second plugin's handle for a number, also after the event has ended.
    pub(super) fn find(&self, number: u64) -> Option<KnownEvent> {
        Some(self.look(number)?.2)
    }

    /// Marks an event as ended. Returns it to the one caller that marked it.
    pub(super) fn end(&self, number: u64) -> Option<KnownEvent> {
        let (tag, tag_now, known) = self.look(number).filter(|(_, _, known)| !known.ended)?;
        // every event has its own serial, so an equal tag means the same event
        tag.compare_exchange(tag_now, tag_now | 1, Ordering::AcqRel, Ordering::Relaxed).ok().map(|_| known)
    }

    fn look(&self, number: u64) -> Option<(&AtomicU64, u64, KnownEvent)> {
        let set = self.set(number);
        (0..WAYS).filter(|way| set.numbers[*way].load(Ordering::Relaxed) == number).find_map(|way| {
            let tag = set.tags[way].load(Ordering::Acquire);
            let number_now = set.numbers[way].load(Ordering::Relaxed);
            let (theirs, owner) = (set.theirs[way].load(Ordering::Relaxed), set.owners[way].load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            let same = set.tags[way].load(Ordering::Relaxed) >> 1 == tag >> 1 && number_now == number;
            (tag > BUSY && same).then_some((&set.tags[way], tag, KnownEvent { theirs, owner, ended: tag & 1 == 1 }))
        })
    }
}

impl PlaceSet {
    /// Returns the sort key of a place, the least of which is taken first; `None` if the place must not be taken.
    fn age(&self, way: usize, number: u64, is_alive: impl Fn(u64) -> bool) -> Option<(u64, u64, usize)> {
        let age = match self.tags[way].load(Ordering::Relaxed) {
            BUSY => return None,
            tag if tag != UNUSED && self.numbers[way].load(Ordering::Relaxed) == number => (0, tag),
            UNUSED => (1, UNUSED),
            tag if tag & 1 == 1 || !is_alive(self.owners[way].load(Ordering::Relaxed)) => (tag, tag),
            _ => return None,
        };
        Some((age.0, age.1, way))
    }
}

impl ClaimedPlace<'_> {
    /// Stores the second plugin's handle. With 0 for no handle, the place is free again.
    pub(super) fn fill(self, theirs: u64, owner: u64) {
        let Self { set, way, number, serial } = self;
        set.numbers[way].store(number, Ordering::Relaxed);
        set.theirs[way].store(theirs, Ordering::Relaxed);
        set.owners[way].store(owner, Ordering::Relaxed);
        set.tags[way].store(if theirs == 0 { UNUSED } else { serial << 1 }, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACES: u64 = (WAYS as u64) << SET_BITS;

    fn known(theirs: u64, ended: bool) -> Option<KnownEvent> {
        Some(KnownEvent { theirs, owner: 3, ended })
    }

    fn add(events: &ChainEvents, number: u64, theirs: u64) -> bool {
        events.claim(number, |_| true).map(|place| place.fill(theirs, 3)).is_some()
    }

    #[test]
    fn a_number_is_found_until_and_after_its_end_and_ends_once() {
        let events = ChainEvents::new().unwrap();
        let place = events.claim(7, |_| true).unwrap();
        assert_eq!((events.find(7), events.end(7)), (None, None));
        place.fill(70, 3);
        assert_eq!((events.find(7), events.find(8)), (known(70, false), None));
        assert_eq!((events.end(7), events.end(7)), (known(70, false), None));
        assert_eq!(events.find(7), known(70, true));
        assert_eq!((events.find(0), events.end(0)), (None, None));
    }

    #[test]
    fn one_that_starts_again_keeps_its_place() {
        let events = ChainEvents::new().unwrap();
        for theirs in 1..=PLACES * 2 {
            assert!(add(&events, 7, theirs));
        }
        assert_eq!(events.find(7), known(PLACES * 2, false));
        assert!(add(&events, 7, 0));
        assert_eq!(events.find(7), None);
    }

    #[test]
    fn those_that_go_on_keep_their_places_and_of_the_others_the_oldest_makes_room() {
        let events = ChainEvents::new().unwrap();
        assert!(add(&events, 1, 10));
        for number in 2..PLACES * 3 {
            assert!(add(&events, number, 1) && events.end(number).is_some());
        }
        assert_eq!(events.find(1), known(10, false));
        let found = |number| events.find(number).is_some();
        assert!((PLACES * 3 - PLACES / 16..PLACES * 3).all(found), "the latest are there");
        assert!(!(2..PLACES / 2).any(found), "the oldest are not");
    }

    #[test]
    fn when_all_go_on_there_is_no_room_until_one_or_its_owner_ends() {
        let events = ChainEvents::new().unwrap();
        let kept: Vec<u64> = (1..PLACES * 4).filter(|number| add(&events, *number, *number)).collect();
        assert_eq!(kept.len() as u64, PLACES);
        assert!(kept.iter().all(|number| events.find(*number) == known(*number, false)));
        let refused = (1..PLACES * 4).find(|number| events.find(*number).is_none()).unwrap();
        assert!(events.claim(refused, |_| true).is_none());
        assert!(events.claim(refused, |owner| owner != 3).is_some());
    }

    #[test]
    fn readers_never_see_a_mixture() {
        let events = ChainEvents::new().unwrap();
        // numbers that share a set
        let same: Vec<u64> =
            (1..).filter(|number| std::ptr::eq(events.set(*number), events.set(1))).take(WAYS * 3).collect();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (events, same) = (&events, &same);
                scope.spawn(move || {
                    for round in 0..20_000 {
                        let number = same[(round * 3 + thread) % same.len()];
                        if let Some(place) = events.claim(number, |_| true) {
                            place.fill(number * 5, number * 7);
                        }
                        for other in same {
                            let found = events.find(*other);
                            assert!(found.is_none_or(|found| (found.theirs, found.owner) == (other * 5, other * 7)));
                        }
                        events.end(number);
                    }
                });
            }
        });
    }
}
