//! The contexts that NCCL holds: the core's context of a communicator, with the second plugin's context beside it.
//!
//! The core has a fixed number of contexts and reuses the context of a communicator that has ended. Each of the core's
//! contexts has the place of its index here. A communicator for which the core has no room gets a place and a number of
//! its own, so that listeners can tell such communicators apart. Callbacks of events read without waiting; creating and
//! ending a communicator takes a lock, as in the core.

use common::callbacks::NO_CONTEXT;
use common::context::MOST as CORE;
use common::handle::{GENERATION_BITS, Handle};
use common::mapping::{Mapping, Zeroed};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// Communicators that can be alive at a time and have numbers of their own.
const MOST: usize = 1 << 16;

/// The place of one communicator; all zero for a place that was never used.
#[derive(Debug)]
struct ContextEntry {
    /// The number that NCCL holds; it stays when the communicator ends.
    number: AtomicU64,
    /// The second plugin's context; 0 if it has none, and once the communicator has ended.
    theirs: AtomicU64,
    is_alive: AtomicBool,
}

// SAFETY: the entry consists of atomics, which are valid as zeros and need no drop.
unsafe impl Zeroed for ContextEntry {}

/// Places beyond the core's contexts.
#[derive(Debug, Default)]
struct Spare {
    /// Places whose communicator has ended, in the order of the ends.
    ended: VecDeque<usize>,
    /// Number of places ever used.
    used: usize,
}

/// All contexts of the process.
#[derive(Debug)]
pub struct Contexts {
    entries: Mapping<ContextEntry>,
    /// Held while a communicator is created or ended.
    spare: Mutex<Spare>,
}

impl Contexts {
    /// Creates an empty set of contexts.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self { entries: Mapping::new(MOST)?, spare: Mutex::default() })
    }

    /// Adds a communicator with the core's context and the second plugin's (0 for none). Returns the number for NCCL,
    /// or `None` if too many communicators are alive.
    pub fn open(&self, core: u64, theirs: u64) -> Option<u64> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let number = if core == NO_CONTEXT { self.spare(&mut spare)? } else { core };
        let entry = self.entries.get(Handle::parse_context(number)?.index() as usize)?;
        // a thread that still holds the place's earlier number, whose communicator has ended, reads 0 or another number
        entry.number.store(number, Ordering::Release);
        entry.theirs.store(theirs, Ordering::Release);
        entry.is_alive.store(true, Ordering::Relaxed);
        Some(number)
    }

    /// Takes a place beyond the core's contexts and returns a number for it.
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

    /// Ends a communicator. Returns the second plugin's context to the first caller; 0 if there is none, and to later
    /// callers.
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

    /// Returns the core's context for a number that NCCL holds: the number itself, or [`NO_CONTEXT`] if the core had no
    /// room for the communicator.
    pub fn core(&self, number: u64) -> u64 {
        let given = |context: &Handle| {
            let (index, generation) = (context.index() as usize, context.generation());
            (CORE..MOST).contains(&index) && generation > 0 && generation <= self.generation(index)
        };
        if Handle::parse_context(number).as_ref().is_some_and(given) { NO_CONTEXT } else { number }
    }

    /// Returns the second plugin's context of a living communicator; 0 for none.
    pub fn theirs(&self, number: u64) -> u64 {
        let Some(entry) = Handle::parse_context(number).and_then(|context| self.entries.get(context.index() as usize))
        else {
            return 0;
        };
        if entry.number.load(Ordering::Acquire) != number {
            return 0;
        }
        let theirs = entry.theirs.load(Ordering::Relaxed);
        // a thread that reads the context of a later communicator also reads the later number below
        fence(Ordering::Acquire);
        if entry.number.load(Ordering::Relaxed) == number { theirs } else { 0 }
    }

    /// Returns the place's last generation; 0 if it was never used.
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
        // the core reuses its context
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
        // the place that was freed first is reused first, under another number
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
