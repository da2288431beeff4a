//! The contexts of a tuner that NCCL holds: numbers of places, each with the communicator and the user's own context.
//!
//! NCCL's threads read a place without waiting. A number of an ended communicator is not found.

use super::user::UserTuner;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Communicators that can be alive at a time.
const MOST: usize = 1 << PLACE_BITS;
/// Bits of a number for the place.
const PLACE_BITS: u32 = 14;

/// A place. Its life is odd while a communicator has it, and grows with each change.
#[derive(Debug)]
struct Place {
    life: AtomicU32,
    user: AtomicPtr<UserTuner>,
    theirs: AtomicPtr<c_void>,
    comm: AtomicU64,
    /// Bits of `comm` are those of an id.
    has_comm: AtomicU32,
    ranks: AtomicI32,
    nodes: AtomicI32,
}

// not touched before the first communicator, so without memory until then
static PLACES: [Place; MOST] = [const {
    Place {
        life: AtomicU32::new(0),
        user: AtomicPtr::new(ptr::null_mut()),
        theirs: AtomicPtr::new(ptr::null_mut()),
        comm: AtomicU64::new(0),
        has_comm: AtomicU32::new(0),
        ranks: AtomicI32::new(0),
        nodes: AtomicI32::new(0),
    }
}; MOST];

/// A communicator as NCCL introduces it to a tuner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Communicator {
    /// Id, since v5.
    pub(super) comm: Option<u64>,
    pub(super) ranks: i32,
    pub(super) nodes: i32,
}

/// A living communicator, with the user's tuner and its context.
#[derive(Debug, Clone, Copy)]
pub(super) struct TunerContext {
    pub(super) communicator: Communicator,
    pub(super) user: Option<&'static UserTuner>,
    pub(super) theirs: *mut c_void,
}

/// Adds a communicator. Returns its number for NCCL, which is not 0; `None` if too many are alive.
pub(super) fn open(of: &TunerContext) -> Option<usize> {
    PLACES.iter().enumerate().find_map(|(index, place)| {
        let life = place.life.load(Ordering::Relaxed);
        // Acquire: after the last reads of the communicator that had the place
        let is_free =
            life & 1 == 0 && place.life.compare_exchange(life, life | 1, Ordering::Acquire, Ordering::Relaxed).is_ok();
        is_free.then(|| {
            let Communicator { comm, ranks, nodes } = of.communicator;
            place.user.store(of.user.map_or(ptr::null_mut(), |user| ptr::from_ref(user).cast_mut()), Ordering::Relaxed);
            place.theirs.store(of.theirs, Ordering::Relaxed);
            place.comm.store(comm.unwrap_or(0), Ordering::Relaxed);
            place.has_comm.store(comm.is_some().into(), Ordering::Relaxed);
            place.ranks.store(ranks, Ordering::Relaxed);
            place.nodes.store(nodes, Ordering::Relaxed);
            // NCCL passes the number on to its threads, and with it all that was stored
            (life | 1) as usize * MOST + index
        })
    })
}

/// Returns the communicator of a number; `None` if it has ended, or the number is none.
pub(super) fn find(number: usize) -> Option<TunerContext> {
    let place = living(number)?;
    let user = place.user.load(Ordering::Relaxed);
    // SAFETY: `open` stores NULL or a tuner that lives as long as the process.
    let user = unsafe { user.as_ref() };
    let comm = place.comm.load(Ordering::Relaxed);
    Some(TunerContext {
        communicator: Communicator {
            comm: (place.has_comm.load(Ordering::Relaxed) != 0).then_some(comm),
            ranks: place.ranks.load(Ordering::Relaxed),
            nodes: place.nodes.load(Ordering::Relaxed),
        },
        user,
        theirs: place.theirs.load(Ordering::Relaxed),
    })
}

/// Sets the user's context of a communicator, before NCCL has its number.
pub(super) fn set_theirs(number: usize, theirs: *mut c_void) {
    if let Some(place) = living(number) {
        place.theirs.store(theirs, Ordering::Relaxed);
    }
}

/// Ends a communicator. Returns it to the one caller that ended it.
pub(super) fn end(number: usize) -> Option<TunerContext> {
    let context = find(number)?;
    let (place, life) = (living(number)?, life(number));
    place.life.compare_exchange(life, life.wrapping_add(1), Ordering::Release, Ordering::Relaxed).ok()?;
    Some(context)
}

fn living(number: usize) -> Option<&'static Place> {
    let place = PLACES.get(number % MOST)?;
    (life(number) & 1 == 1 && place.life.load(Ordering::Acquire) == life(number)).then_some(place)
}

fn life(number: usize) -> u32 {
    (number / MOST) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(comm: u64) -> TunerContext {
        let communicator = Communicator { comm: Some(comm), ranks: 4, nodes: 2 };
        TunerContext { communicator, user: None, theirs: ptr::without_provenance_mut(comm as usize) }
    }

    #[test]
    fn a_number_is_its_communicators_until_the_end_which_is_once() {
        assert!(
            [0, 1, MOST, usize::MAX].into_iter().all(|invented| find(invented).is_none() && end(invented).is_none())
        );
        let numbers: Vec<usize> = (0..100).map(|comm| open(&context(comm)).unwrap()).collect();
        for (&number, comm) in numbers.iter().zip(0..) {
            let found = find(number).unwrap();
            assert_eq!((found.communicator, found.theirs.addr()), (context(comm).communicator, comm as usize));
        }
        set_theirs(numbers[7], ptr::without_provenance_mut(70));
        assert_eq!(end(numbers[7]).map(|of| of.theirs.addr()), Some(70));
        assert!(find(numbers[7]).is_none() && end(numbers[7]).is_none());
        let next = open(&context(500)).unwrap();
        assert!(next % MOST == numbers[7] % MOST && next != numbers[7], "the place has another number");
        assert!(find(numbers[7]).is_none() && find(next).is_some());
        numbers.into_iter().chain([next]).for_each(|number| _ = end(number));
    }
}
