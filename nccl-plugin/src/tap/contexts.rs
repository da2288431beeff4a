//! Contexts as NCCL holds them: the core's own where there is one, with what the second plugin gave for the same
//! communicator.
//!
//! The core has a number of contexts and uses one again when its communicator has ended, so each of these has the place
//! of its index here. Communicators that the core has no room for get places and numbers of their own, so that
//! listeners can tell them apart. Callbacks of events look without waiting; making and ending a communicator locks, as
//! it does in the core.

use common::callbacks::NO_CONTEXT;
use common::context::MOST as CORE;
use common::handle::{GENERATION_BITS, Handle};
use common::mapping::{Mapping, Zeroed};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Communicators that can be alive at a time and be told apart.
const MOST: usize = 1 << 16;

/// All zero was never used.
#[derive(Debug)]
struct Entry {
    /// What NCCL holds, also after the communicator's end.
    number: AtomicU64,
    /// The second plugin's context; 0 for none, and from the communicator's end on.
    theirs: AtomicU64,
    is_alive: AtomicBool,
}

// SAFETY: atomic integers and a flag, valid as zeros, without drop.
unsafe impl Zeroed for Entry {}

/// Places that the core has no index for.
#[derive(Debug, Default)]
struct Spare {
    /// Those whose communicator has ended, the one that ended first in front.
    ended: VecDeque<usize>,
    /// How many were ever used.
    used: usize,
}

/// All contexts of the process.
#[derive(Debug)]
pub struct Contexts {
    entries: Mapping<Entry>,
    /// Held while a communicator is made or ended.
    spare: Mutex<Spare>,
}

impl Contexts {
    /// None yet.
    ///
    /// # Errors
    /// When the system has no room.
    pub fn new() -> io::Result<Self> {
        Ok(Self { entries: Mapping::new(MOST)?, spare: Mutex::default() })
    }

    /// NCCL made a communicator, of which the core gave one context and the second plugin the other, 0 for none. Gives
    /// what NCCL gets; `None` when there are too many.
    pub fn open(&self, core: u64, theirs: u64) -> Option<u64> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let number = if core == NO_CONTEXT { self.spare(&mut spare)? } else { core };
        let entry = self.entries.get(Handle::parse_context(number)?.index() as usize)?;
        // who still holds the number before, whose communicator has ended, finds 0 or another number
        entry.number.store(number, Ordering::Release);
        entry.theirs.store(theirs, Ordering::Release);
        entry.is_alive.store(true, Ordering::Relaxed);
        Some(number)
    }

    /// The number of a place that the core has no index for.
    fn spare(&self, spare: &mut Spare) -> Option<u64> {
        let index = match spare.ended.pop_front() {
            Some(index) => index,
            None if CORE + spare.used < MOST => {
                spare.used += 1;
                CORE + spare.used - 1
            }
            None => return None,
        };
        let last = self.generation(index);
        Some(Handle::new(index as u32, ((last + 1) & ((1 << GENERATION_BITS) - 1)).max(1)).raw())
    }

    /// The communicator ends. Gives the second plugin's context, once; 0 for none.
    pub fn end(&self, number: u64) -> u64 {
        let Some(index) = Handle::parse_context(number).map(|context| context.index() as usize) else { return 0 };
        let Some(entry) = self.entries.get(index) else { return 0 };
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if entry.number.load(Ordering::Relaxed) != number || !entry.is_alive.swap(false, Ordering::Relaxed) {
            return 0;
        }
        if index >= CORE {
            spare.ended.push_back(index);
        }
        entry.theirs.swap(0, Ordering::Relaxed)
    }

    /// What the core gets for a number that NCCL holds: the number itself, unless the core had no room for that
    /// communicator.
    pub fn core(&self, number: u64) -> u64 {
        let given = |context: &Handle| {
            let (index, generation) = (context.index() as usize, context.generation());
            (CORE..MOST).contains(&index) && generation > 0 && generation <= self.generation(index)
        };
        if Handle::parse_context(number).as_ref().is_some_and(given) { NO_CONTEXT } else { number }
    }

    /// The second plugin's context of a communicator that is alive; 0 for none.
    pub fn theirs(&self, number: u64) -> u64 {
        let Some(entry) = Handle::parse_context(number).and_then(|context| self.entries.get(context.index() as usize))
        else {
            return 0;
        };
        if entry.number.load(Ordering::Acquire) != number {
            return 0;
        }
        let theirs = entry.theirs.load(Ordering::Relaxed);
        // who sees a later communicator's context sees its number, too
        fence(Ordering::Acquire);
        if entry.number.load(Ordering::Relaxed) == number { theirs } else { 0 }
    }

    /// The generation that a place had last; 0 for none.
    fn generation(&self, index: usize) -> u32 {
        let number = self.entries.get(index).map_or(0, |entry| entry.number.load(Ordering::Relaxed));
        Handle::parse_context(number).map_or(0, Handle::generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_context_is_what_nccl_gets() {
        let contexts = Contexts::new().unwrap();
        let number = Handle::new(7, 3).raw();
        assert_eq!(contexts.open(number, 0xabc), Some(number));
        assert_eq!((contexts.core(number), contexts.theirs(number)), (number, 0xabc));
        assert_eq!((contexts.end(number), contexts.end(number)), (0xabc, 0));
        assert_eq!((contexts.core(number), contexts.theirs(number)), (number, 0));
        // the core uses it again
        let next = Handle::new(7, 4).raw();
        contexts.open(next, 0xdef);
        assert_eq!((contexts.end(number), contexts.theirs(number), contexts.theirs(next)), (0, 0, 0xdef));
    }

    #[test]
    fn those_that_the_core_has_no_room_for_are_told_apart_and_never_evicted() {
        let contexts = Contexts::new().unwrap();
        let open = |theirs| contexts.open(NO_CONTEXT, theirs);
        let all: Vec<u64> = (1..).map_while(open).collect();
        assert_eq!(all.len(), MOST - CORE);
        for (number, theirs) in all.iter().zip(1..) {
            assert_eq!((contexts.core(*number), contexts.theirs(*number)), (NO_CONTEXT, theirs));
        }
        // what ended first is used again first, under another number
        assert_eq!((contexts.end(all[9]), contexts.end(all[3]), contexts.end(all[9])), (10, 4, 0));
        let again = open(77).unwrap();
        assert_eq!(Handle::parse_context(again).map(Handle::index), Handle::parse_context(all[9]).map(Handle::index));
        assert_eq!((contexts.theirs(all[9]), contexts.core(all[9]), contexts.theirs(again)), (0, NO_CONTEXT, 77));
        assert!(open(1).is_some() && open(1).is_none());
    }

    #[test]
    fn null_foreign_and_invented_numbers_are_the_cores_to_judge() {
        let contexts = Contexts::new().unwrap();
        let number = contexts.open(NO_CONTEXT, 5).unwrap();
        for odd in [0, 2, u64::MAX, number ^ 1 << 60, number + 1, number + (1 << 28), Handle::new(u32::MAX, 1).raw()] {
            assert_eq!((contexts.core(odd), contexts.theirs(odd), contexts.end(odd)), (odd, 0, 0), "{odd:x}");
        }
    }
}
