//! How a communicator's operations are timed: what its NCCL is asked for, and whose stamps are trusted.

use super::Context;
use super::stamps::{STAMPED_FUNCTIONS, Stamping};
use super::switching::Switched;
use crate::base::sync::{AtomicU64, Ordering};
use crate::event::name::NcclName;
use crate::event::{Mask, TimingOptions};

impl Context {
    /// Sets how the communicator's operations are timed, and whether NCCL was asked for kernel events.
    pub fn time_by(&self, timed: &TimingOptions, kernel_events: bool) {
        let Stamping { believed, doubt, counts_self, silent_broadcasts, kernel_events: asked, mask, pool } =
            &self.stamping;
        pool.store(0, Ordering::Relaxed);
        believed.iter().for_each(|classes| classes.store(0, Ordering::Relaxed));
        doubt.store(false, Ordering::Relaxed);
        counts_self.store(timed.counts_self, Ordering::Relaxed);
        silent_broadcasts.store(timed.silent_broadcasts, Ordering::Relaxed);
        asked.store(kernel_events, Ordering::Relaxed);
        mask.store(Switched::of(timed.mask).bits(), Ordering::Relaxed);
    }

    /// Returns the mask of the communicator's NCCL.
    pub fn switched(&self) -> Switched {
        Switched::from_bits(self.stamping.mask.load(Ordering::Relaxed))
    }

    /// Sets the wanted event types in force. Called from a callback of the communicator's NCCL, at `now` in ticks.
    #[cold]
    pub fn switch(&self, now: u64, stamps: bool) {
        self.switched().apply(now, stamps);
    }

    /// Returns whether NCCL is asked for kernel channels just now.
    pub fn has_stamps(&self) -> bool {
        let switched = self.switched();
        let asked = |mask: &Mask| mask.word.load(Ordering::Relaxed) & mask.kernels != 0;
        let has_asked = self.stamping.kernel_events.load(Ordering::Relaxed) || switched.has_switched();
        has_asked && switched.mask().is_none_or(asked)
    }

    /// Asks NCCL for kernel channels, or stops asking, from its next group of calls on. Must be called from a callback
    /// of this NCCL.
    pub fn ask_for_stamps(&self, wanted: bool) {
        let switched = self.switched();
        if self.stamping.kernel_events.load(Ordering::Relaxed) || switched.has_switched() {
            switched.ask(wanted);
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

    fn believed(&self, function: NcclName) -> &AtomicU64 {
        let index = function.function().unwrap_or(STAMPED_FUNCTIONS).min(STAMPED_FUNCTIONS - 1);
        &self.stamping.believed[index]
    }

    /// Returns whether stamps have timed the last kernel that ran only this function, on data of this size class (0 to
    /// 64).
    pub fn believes(&self, function: NcclName, class: u8) -> bool {
        self.believed(function).load(Ordering::Relaxed) >> class.min(63) & 1 == 1
    }

    /// Notes whether stamps time a kernel that ran only this function, on data of this size class.
    pub fn learn(&self, function: NcclName, class: u8, believed: bool) {
        let classes = self.believed(function);
        let (bit, known) = (1 << class.min(63), classes.load(Ordering::Relaxed));
        // two threads that learn at once may forget one class, which costs an event
        classes.store(if believed { known | bit } else { known & !bit }, Ordering::Relaxed);
    }
}
