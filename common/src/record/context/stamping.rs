//! How a communicator's operations are timed: what its NCCL is asked for, and whose stamps are trusted.

use super::Context;
use crate::base::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::event::name::Name;
use crate::event::{Mask, Timed};
use std::sync::OnceLock;

/// State of the stamps of a communicator's kernels.
#[derive(Debug)]
#[cfg_attr(loom, derive(Default))]
pub(super) struct Stamping {
    /// For each function, a bit for each size class: whether stamps time such kernels.
    believed: [AtomicU64; STAMPED_FUNCTIONS],
    /// Set when stamps may belong to other operations.
    doubt: AtomicBool,
    counts_self: AtomicBool,
    silent_broadcasts: AtomicBool,
    /// Whether NCCL was asked for kernel events when the communicator was made.
    kernel_events: AtomicBool,
    /// Place in [`MASKS`] plus one, 0 for none.
    mask: AtomicU32,
    /// Number of the pool of its launches plus one; 0 for none.
    pool: AtomicU32,
}

/// Number of functions that are told apart. All further functions share the last place.
const STAMPED_FUNCTIONS: usize = 8;

/// The mask of each NCCL in the process. There may be two, PyTorch's and the system's.
static MASKS: [OnceLock<Mask>; 8] = [const { OnceLock::new() }; 8];

fn place_of(mask: Mask) -> u32 {
    // the place was free and holds this mask now, or it held the same mask already
    let place = MASKS.iter().position(|place| *place.get_or_init(|| mask) == mask);
    place.map_or(0, |place| place as u32 + 1)
}

impl Context {
    /// Sets how the communicator's operations are timed, and whether NCCL was asked for kernel events.
    pub fn time_by(&self, timed: &Timed, kernel_events: bool) {
        let Stamping { believed, doubt, counts_self, silent_broadcasts, kernel_events: asked, mask, pool } =
            &self.stamping;
        pool.store(0, Ordering::Relaxed);
        believed.iter().for_each(|classes| classes.store(0, Ordering::Relaxed));
        doubt.store(false, Ordering::Relaxed);
        counts_self.store(timed.counts_self, Ordering::Relaxed);
        silent_broadcasts.store(timed.silent_broadcasts, Ordering::Relaxed);
        asked.store(kernel_events, Ordering::Relaxed);
        mask.store(timed.mask.map_or(0, place_of), Ordering::Relaxed);
    }

    fn mask(&self) -> Option<&'static Mask> {
        let place = self.stamping.mask.load(Ordering::Relaxed).checked_sub(1)?;
        MASKS.get(place as usize)?.get()
    }

    /// Returns whether NCCL is asked for kernel channels just now.
    pub fn has_stamps(&self) -> bool {
        let asked = |mask: &Mask| mask.word.load(Ordering::Relaxed) & mask.with & !mask.without != 0;
        self.stamping.kernel_events.load(Ordering::Relaxed) && self.mask().is_none_or(asked)
    }

    /// Asks NCCL for kernel channels, or stops asking, from its next group of calls on. Must be called from a callback
    /// of this NCCL.
    pub fn ask_for_stamps(&self, wanted: bool) {
        if !self.stamping.kernel_events.load(Ordering::Relaxed) {
            return;
        }
        let Some(mask) = self.mask() else { return };
        let word = if wanted { mask.with } else { mask.without };
        // a mask that NCCL itself or another plugin has changed meanwhile stays as it is
        let current = mask.word.load(Ordering::Relaxed);
        if current != word && [mask.with, mask.without].contains(&current) {
            let _ = mask.word.compare_exchange(current, word, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Sets the pool of the communicator's launches.
    pub fn launch_from(&self, pool: u32) {
        self.stamping.pool.store(pool + 1, Ordering::Relaxed);
    }

    /// Returns the pool of the communicator's launches.
    pub fn pool(&self) -> Option<u32> {
        self.stamping.pool.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Returns whether NCCL counts sends and receives to self.
    pub fn counts_self(&self) -> bool {
        self.stamping.counts_self.load(Ordering::Relaxed)
    }

    /// Returns whether NCCL launches broadcasts without reporting an operation.
    pub fn has_silent_broadcasts(&self) -> bool {
        self.stamping.silent_broadcasts.load(Ordering::Relaxed)
    }

    /// Notes that stamps may belong to other operations from now on.
    pub fn doubt(&self) {
        self.stamping.doubt.store(true, Ordering::Relaxed);
    }

    /// Returns whether stamps may belong to other operations.
    pub fn is_in_doubt(&self) -> bool {
        self.stamping.doubt.load(Ordering::Relaxed)
    }

    fn believed(&self, function: Name) -> &AtomicU64 {
        let index = function.function().unwrap_or(STAMPED_FUNCTIONS).min(STAMPED_FUNCTIONS - 1);
        &self.stamping.believed[index]
    }

    /// Returns whether stamps have timed the last kernel that ran only this function, on data of this size class (0 to
    /// 64).
    pub fn believes(&self, function: Name, class: u8) -> bool {
        self.believed(function).load(Ordering::Relaxed) >> class.min(63) & 1 == 1
    }

    /// Notes whether stamps time a kernel that ran only this function, on data of this size class.
    pub fn learn(&self, function: Name, class: u8, believed: bool) {
        let classes = self.believed(function);
        let (bit, known) = (1 << class.min(63), classes.load(Ordering::Relaxed));
        // two threads that learn at once may forget one class, which costs an event
        classes.store(if believed { known | bit } else { known & !bit }, Ordering::Relaxed);
    }
}
