//! Proxy steps that NCCL starts again.
//!
//! If a receive cannot be posted, NCCL starts its step again on the same thread, up to millions of times a second, and
//! forgets the earlier handle. The core then returns the same handle, provided that it records the step and still
//! remembers it; otherwise the number changes.

use std::cell::Cell;

/// Places in a thread's table of last steps. Each holds the last step of one proxy operation.
const STEPS: usize = 64;

/// A step, by its proxy operation and step number, and the number that NCCL holds for it.
#[derive(Clone, Copy)]
struct ChainStep {
    parent: u64,
    step: i32,
    number: u64,
}

thread_local! {
    // without drop, so that it stays usable until the thread has ended
    static NOTED: [Cell<ChainStep>; STEPS] = const { [const { Cell::new(ChainStep { parent: 0, step: 0, number: 0 }) }; STEPS] };
}

/// Notes that the calling thread starts a step. Returns the number that NCCL held when the thread last started the same
/// step, if it is known and differs.
pub(super) fn forgotten(parent: u64, step: i32, number: u64) -> Option<u64> {
    if parent == 0 {
        return None;
    }
    NOTED.with(|noted| {
        let place = (parent.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - STEPS.ilog2())) as usize;
        let before = noted[place].replace(ChainStep { parent, step, number });
        (before.parent == parent && before.step == step && before.number != number).then_some(before.number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_starts_again_under_another_number_had_one_before() {
        assert_eq!(forgotten(5, 1, 100), None);
        assert_eq!(forgotten(5, 1, 101), Some(100));
        assert_eq!(forgotten(5, 1, 101), None);
        assert_eq!(forgotten(5, 2, 102), None);
        assert_eq!((forgotten(0, 1, 103), forgotten(0, 1, 104)), (None, None));
    }
}
