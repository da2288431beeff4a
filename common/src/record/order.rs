//! The word of a slot that says where an operation or a call stands: its place in the order of starts of its communicator, and how far behind
//! the first operation of its kernel it is.
//!
//! ```text
//! bit 63            48 47                                        0
//!     [ distance 16  ][ place in the order of starts 48          ]
//! ```

const ORDER_BITS: u32 = 48;
/// A distance that stands for itself and all above.
const FARTHEST: u64 = (1 << (64 - ORDER_BITS)) - 1;

/// Packs a place in the order of starts, and how far behind the first of its kernel it is (0: it is the first, or a kernel of its own).
#[inline(always)]
pub(crate) fn pack(order: u64, distance: u64) -> u64 {
    // nothing happens so often that it would take more bits
    distance.min(FARTHEST) << ORDER_BITS | order
}

/// The place in the order of starts, and the distance.
#[inline(always)]
pub(crate) fn unpack(word: u64) -> (u64, u16) {
    (word & ((1 << ORDER_BITS) - 1), (word >> ORDER_BITS) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_there_and_distances_have_an_end() {
        for (order, distance, farthest) in [(0, 0, 0), (7, 3, 3), ((1 << 48) - 1, 65_535, 65_535), (9, 1 << 40, 65_535)] {
            assert_eq!(unpack(pack(order, distance)), (order, farthest));
        }
    }
}
