//! Numbers that stand for several at once: what NCCL holds, when the core is not the only one that gives a handle or a context.
//!
//! A number is a serial, packed as the core packs its handles. Entries are reused first in, first out, whether or not their event
//! has ended: an entry is as good as new after as many more events as the slab has entries. Nobody waits for anybody; what is stale,
//! foreign or invented is not found.

use common::handle::Handle;
use common::mapping::{Mapping, Zeroed};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Tag of an entry that is being written: no serial has it.
const BUSY: u64 = 1;

/// What a number stands for. All zero is unused.
#[derive(Debug)]
struct Entry {
    /// Serial times two, plus one when ended.
    tag: AtomicU64,
    core: AtomicU64,
    theirs: AtomicU64,
    owner: AtomicU64,
}

// SAFETY: atomic integers, valid as zeros, without drop.
unsafe impl Zeroed for Entry {}

/// What a number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Meaning {
    /// The core's handle or context; 0 when the core records nothing for it.
    pub core: u64,
    /// The second plugin's, as a number; 0 for none.
    pub theirs: u64,
    /// Of an event: the number of its communicator's context.
    pub owner: u64,
}

/// A fixed number of entries; memory is committed as it is used, and never given back.
#[derive(Debug)]
pub struct Slab {
    entries: Mapping<Entry>,
    /// Binary logarithm of the number of entries.
    bits: u32,
    /// Serials given out; the first is 1.
    given: AtomicU64,
}

impl Slab {
    /// Room for two to the power of `bits`.
    ///
    /// # Errors
    /// When the system has no room.
    pub fn new(bits: u32) -> io::Result<Self> {
        Ok(Self { entries: Mapping::new(1 << bits)?, bits, given: AtomicU64::new(0) })
    }

    /// A serial of its own. What it stands for is told with [`Slab::fill`].
    pub fn reserve(&self) -> u64 {
        self.given.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number that NCCL gets for a serial.
    pub fn number(&self, serial: u64) -> u64 {
        Handle::new(self.index(serial) as u32, (serial >> self.bits) as u32).raw()
    }

    /// The serial of a number that was given out here, however long ago.
    pub fn serial(&self, number: u64) -> Option<u64> {
        let handle = Handle::parse(number)?;
        let serial = u64::from(handle.generation()) << self.bits | u64::from(handle.index());
        let known = handle.index() >> self.bits == 0 && serial > 0 && serial <= self.given.load(Ordering::Relaxed);
        known.then_some(serial)
    }

    /// Says what a serial stands for. A thread that comes a whole round late finds its entry taken; then its number is stale.
    pub fn fill(&self, serial: u64, meaning: Meaning) {
        let entry = &self.entries[self.index(serial)];
        let old = entry.tag.load(Ordering::Relaxed);
        if old >> 1 >= serial || old == BUSY {
            return;
        }
        if entry.tag.compare_exchange(old, BUSY, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        // a reader that sees any of what follows sees the tag gone, too
        fence(Ordering::Release);
        entry.core.store(meaning.core, Ordering::Relaxed);
        entry.theirs.store(meaning.theirs, Ordering::Relaxed);
        entry.owner.store(meaning.owner, Ordering::Relaxed);
        entry.tag.store(serial << 1, Ordering::Release);
    }

    /// What a number stands for, also after its end, and whether it has ended.
    pub fn find(&self, number: u64) -> Option<(Meaning, bool)> {
        let serial = self.serial(number)?;
        let entry = &self.entries[self.index(serial)];
        let tag = entry.tag.load(Ordering::Acquire);
        let meaning = Meaning {
            core: entry.core.load(Ordering::Relaxed),
            theirs: entry.theirs.load(Ordering::Relaxed),
            owner: entry.owner.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        let again = entry.tag.load(Ordering::Relaxed);
        (tag >> 1 == serial && again >> 1 == serial).then_some((meaning, tag & 1 == 1))
    }

    /// Marks a number as ended; true for the one caller that did it.
    pub fn end(&self, number: u64) -> bool {
        let Some(serial) = self.serial(number) else { return false };
        let tag = &self.entries[self.index(serial)].tag;
        tag.compare_exchange(serial << 1, serial << 1 | 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn index(&self, serial: u64) -> usize {
        (serial & ((1 << self.bits) - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(core: u64) -> Meaning {
        Meaning { core, theirs: core + 1, owner: core + 2 }
    }

    #[test]
    fn a_number_stands_for_what_it_was_told_and_ends_once() {
        let slab = Slab::new(4).unwrap();
        let serial = slab.reserve();
        let number = slab.number(serial);
        assert_eq!((slab.serial(number), slab.find(number)), (Some(1), None));
        slab.fill(serial, meaning(7));
        assert_eq!(slab.find(number), Some((meaning(7), false)));
        assert!(slab.end(number) && !slab.end(number));
        assert_eq!(slab.find(number), Some((meaning(7), true)));
    }

    #[test]
    fn entries_are_reused_in_turn_and_old_numbers_are_stale() {
        let slab = Slab::new(4).unwrap();
        let numbers: Vec<u64> = (0..40)
            .map(|core| {
                let serial = slab.reserve();
                slab.fill(serial, meaning(core));
                slab.number(serial)
            })
            .collect();
        for (core, &number) in numbers.iter().enumerate() {
            assert_eq!(slab.serial(number), Some(core as u64 + 1));
            assert_eq!(slab.find(number).is_some(), core >= 24, "{core}");
            assert_eq!(slab.end(number), core >= 24);
        }
    }

    #[test]
    fn null_foreign_and_invented_numbers_are_not_found() {
        let slab = Slab::new(4).unwrap();
        let serial = slab.reserve();
        slab.fill(serial, meaning(1));
        let number = slab.number(serial);
        for odd in [0, 1, u64::MAX, number ^ 1 << 60, number + 1, number + 16, number | 1 << 40, Handle::new(0, 0).raw()] {
            assert_eq!((slab.serial(odd), slab.find(odd), slab.end(odd)), (None, None, false), "{odd:x}");
        }
    }

    #[test]
    fn who_comes_a_round_late_changes_nothing() {
        let slab = Slab::new(1).unwrap();
        let [late, _, early] = [(); 3].map(|()| slab.reserve());
        slab.fill(early, meaning(3));
        slab.fill(late, meaning(1));
        assert_eq!(slab.find(slab.number(early)), Some((meaning(3), false)));
        assert_eq!(slab.find(slab.number(late)), None);
    }

    #[test]
    fn readers_never_see_a_mixture() {
        let slab = Slab::new(2).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let serial = slab.reserve();
                        slab.fill(serial, meaning(serial));
                        let back = serial.saturating_sub(3).max(1);
                        if let Some((found, _)) = slab.find(slab.number(back)) {
                            assert_eq!(found, meaning(back));
                        }
                    }
                });
            }
        });
    }
}
