//! Numbers for events without a handle of their own in the core, so that listeners can tell these events apart.
//!
//! An event with a handle of the core keeps it, so no listener can lose it. The number of any other event contains the
//! handle that the core returned: 0, or a handle that many events share.
//!
//! ```text
//! bit 63      56 55               32 31  28 27  26               3   2 0
//!     [ nonce 8 ][ serial, upper 24 ][  0  ][ 1 ][ serial, lower 24 ][ 0 for none, 1 for a group of API calls, 2 for a launch,
//!                                                                      3 for that of an outer group, 4 for its operations,
//!                                                                      5 for a look at a progress thread, 6 for an event of
//!                                                                      a network plugin ]
//! ```

use common::handle::Handle;
use common::pool::MOST_SLOTS;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bit of the index that marks such a number: the core has no slot with that index.
const OWN: u32 = MOST_SLOTS as u32;
/// Number of index bits below that bit.
const LOWER_BITS: u32 = OWN.trailing_zeros();

/// Bits that say which of the core's shared handles a number stands for.
const KIND_BITS: u32 = 3;

/// The core's handles that many events share, by the kind in the number.
fn shared() -> [u64; 7] {
    let handles = [Handle::group_api(), Handle::kernel_launch(), Handle::nested_launch(), Handle::nested_group()];
    let [group, launch, nested_launch, nested_group] = handles.map(Handle::raw);
    let [proxy_ctrl, net_plugin] = [Handle::proxy_ctrl(), Handle::net_plugin()].map(Handle::raw);
    [0, group, launch, nested_launch, nested_group, proxy_ctrl, net_plugin]
}

/// Source of the numbers; each number is given out once.
#[derive(Debug, Default)]
pub struct NumberSource {
    /// Number of serials given out; the first serial is 1.
    given: AtomicU64,
}

impl NumberSource {
    /// Returns NCCL's number for the core's handle; never 0.
    pub fn of(&self, core: u64) -> u64 {
        let Some(kind) = shared().into_iter().position(|handle| handle == core) else { return core };
        let serial = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        let packed = serial << KIND_BITS | kind as u64;
        Handle::new(OWN | packed as u32 & (OWN - 1), (packed >> LOWER_BITS) as u32).raw()
    }

    /// Returns the core's handle for a number that NCCL holds: the number itself unless it was given out here.
    pub fn core(&self, number: u64) -> u64 {
        let Some(handle) = Handle::parse(number).filter(|handle| handle.index() & OWN != 0) else { return number };
        let packed = u64::from(handle.generation()) << LOWER_BITS | u64::from(handle.index() & (OWN - 1));
        let (serial, kind) = (packed >> KIND_BITS, packed & ((1 << KIND_BITS) - 1));
        // a number that was never given out goes to the core, which reports it
        let is_given = serial != 0 && serial <= self.given.load(Ordering::Relaxed);
        shared().get(kind as usize).copied().filter(|_| is_given).unwrap_or(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nccl_holds_the_cores_handle_where_there_is_one() {
        let numbers = NumberSource::default();
        for core in [Handle::new(0, 1), Handle::new(MOST_SLOTS as u32 - 1, u32::MAX)].map(Handle::raw) {
            assert_eq!((numbers.of(core), numbers.core(core)), (core, core));
        }
    }

    #[test]
    fn other_numbers_are_given_once_and_tell_what_the_core_would_have_got() {
        let numbers = NumberSource::default();
        // around the serial at which the serial's upper part goes up
        numbers.given.store((1 << (LOWER_BITS - KIND_BITS)) - 2, Ordering::Relaxed);
        let given: Vec<(u64, u64)> = shared().iter().chain(&shared()).map(|&core| (core, numbers.of(core))).collect();
        for (place, &(core, number)) in given.iter().enumerate() {
            assert_eq!(numbers.core(number), core);
            assert!(number != 0 && given[..place].iter().all(|&(_, other)| other != number));
        }
    }

    #[test]
    fn null_foreign_and_invented_numbers_are_the_cores_to_judge() {
        let numbers = NumberSource::default();
        let number = numbers.of(0);
        let unborn = Handle::new(OWN | 2 << KIND_BITS, 0).raw();
        for odd in [0, 1, 0x1234, u64::MAX, number ^ 1 << 60, unborn, number | 1 << 40, Handle::new(OWN, 0).raw()] {
            assert_eq!(numbers.core(odd), odd, "{odd:x}");
        }
    }
}
