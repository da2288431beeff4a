//! Steps that NCCL starts again.
//!
//! It starts a receive anew each time that it could not be posted, on the same thread, millions of times a second, and
//! forgets the handle it had. The core gives it the same handle then, if it records the step at all and still has it in
//! mind.

use std::cell::Cell;

/// Proxy operations whose last step a thread keeps in mind.
const STEPS: usize = 64;

/// A step by its operation and number, and the number that NCCL holds of it.
#[derive(Clone, Copy)]
struct Noted {
    parent: u64,
    step: i32,
    number: u64,
}

thread_local! {
    // without drop, so that it is there as long as the thread is
    static NOTED: [Cell<Noted>; STEPS] = const { [const { Cell::new(Noted { parent: 0, step: 0, number: 0 }) }; STEPS] };
}

/// The calling thread starts a step. Gives the number that NCCL had for it when the thread started the same step last,
/// if it is known and another one.
pub(super) fn forgotten(parent: u64, step: i32, number: u64) -> Option<u64> {
    if parent == 0 {
        return None;
    }
    NOTED.with(|noted| {
        let place = (parent.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - STEPS.ilog2())) as usize;
        let before = noted[place].replace(Noted { parent, step, number });
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
