//! Which of a rank's collectives are left where there is no room for all. Every process leaves out the same ones without
//! asking the others.

use crate::event::name::NcclName;
use crate::sums::run_sums::CommunicatorRank;

/// The collectives that are left: one sequence number in `numbers`, and of the operations with such a number one in
/// `operations`. Both are powers of two.
///
/// Operations with one number are replays of a CUDA graph. Whoever leaves a number out need not count its replays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalShare {
    /// One sequence number in this many is left.
    pub numbers: u32,
    /// One operation in this many of those with a number that is left.
    pub operations: u32,
}

/// Largest power of two in a share.
const MOST_LEFT_OUT: u32 = 1 << 31;

impl Default for ArrivalShare {
    fn default() -> Self {
        Self::ALL
    }
}

impl ArrivalShare {
    /// Nothing is left out.
    pub const ALL: Self = Self { numbers: 1, operations: 1 };

    /// One operation in `one_in`, rounded up to a power of two, whatever its number.
    pub fn of_operations(one_in: u32) -> Self {
        Self { operations: one_in.checked_next_power_of_two().unwrap_or(MOST_LEFT_OUT), ..Self::ALL }
    }

    /// One operation in so many is left.
    pub fn one_in(self) -> u32 {
        self.numbers.saturating_mul(self.operations).max(1)
    }

    /// Returns the share of what both leave.
    pub fn and(self, other: Self) -> Self {
        Self { numbers: self.numbers.max(other.numbers), operations: self.operations.max(other.operations) }
    }

    /// Returns the share with half of the sequence numbers; `None` if it has the fewest.
    pub(crate) fn of_half_the_numbers(self) -> Option<Self> {
        Some(Self { numbers: self.numbers.checked_mul(2)?, ..self })
    }

    /// Returns the share with half of the operations; `None` if it has the fewest.
    pub(crate) fn of_half_the_operations(self) -> Option<Self> {
        Some(Self { operations: self.operations.checked_mul(2)?, ..self })
    }

    /// Returns whether operations with a sequence number are left. `seed` is that of the rank's function.
    pub(crate) fn has_number(self, seed: u64, sequence: u64) -> bool {
        // no occurrence is that large: the number is chosen apart from its operations
        is_one_in(mixed(mixed(seed ^ sequence) ^ u64::MAX), self.numbers)
    }

    /// Returns whether an operation whose number is left is left itself.
    pub(crate) fn has_operation(self, seed: u64, sequence: u64, occurrence: u32) -> bool {
        is_kept(seed, sequence, occurrence, self.operations)
    }
}

/// Returns whether an operation is one of those that stay when one in `one_in`, a power of two, does. `seed` is the same
/// for all operations of a communicator and function.
pub fn is_kept(seed: u64, sequence: u64, occurrence: u32, one_in: u32) -> bool {
    is_one_in(mixed(mixed(seed ^ sequence) ^ u64::from(occurrence)), one_in)
}

fn is_one_in(number: u64, one_in: u32) -> bool {
    number & u64::from(one_in.saturating_sub(1)) == 0
}

/// Returns a number for a communicator's function that is the same in every process. The number of a [`NcclName`]
/// may differ between processes.
pub(crate) fn seed(CommunicatorRank { comm, .. }: CommunicatorRank, function: NcclName) -> u64 {
    function.text().bytes().fold(comm, |sum, byte| mixed(sum ^ u64::from(byte)))
}

/// Mixes a number, so that each bit of the result depends on all its bits (the finalizer of MurmurHash3, after an odd
/// step away from 0).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ (number >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ (number >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_operations_are_chosen_apart() {
        let share = ArrivalShare { numbers: 16, operations: 4 };
        let numbers = (0..40_000).filter(|&number| share.has_number(7, number));
        let numbers: Vec<u64> = numbers.collect();
        assert!((2_200..2_800).contains(&numbers.len()), "{}", numbers.len());
        let operations = numbers.iter().filter(|&&number| share.has_operation(7, number, 0)).count();
        assert!((500..750).contains(&operations), "{operations}");
        assert_eq!((share.one_in(), ArrivalShare::ALL.one_in(), ArrivalShare::of_operations(3).one_in()), (64, 1, 4));
        assert_eq!(share.and(ArrivalShare { numbers: 2, operations: 8 }), ArrivalShare { numbers: 16, operations: 8 });
    }

    #[test]
    fn there_is_a_fewest() {
        let fewest = ArrivalShare { numbers: MOST_LEFT_OUT, operations: MOST_LEFT_OUT };
        assert_eq!((fewest.of_half_the_numbers(), fewest.of_half_the_operations()), (None, None));
        assert_eq!((fewest.one_in(), ArrivalShare::of_operations(u32::MAX).operations), (u32::MAX, MOST_LEFT_OUT));
    }
}
