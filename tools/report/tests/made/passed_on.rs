//! A delay that one rank passes on to another.

use super::{MS, MadeJob, Maker, Start, US};

/// Makes 20 rounds, 2 ms apart, of an all-reduce of ranks 0 and 1 and one of ranks 1 and 2, of 30 us each. Rank 0
/// begins `by` nanoseconds after rank 1, which waits for it, and therefore begins its next all-reduce `by` nanoseconds after
/// rank 2. `by` must be less than 1 ms.
pub(crate) fn passed_on(by: u64) -> MadeJob {
    let mut maker = Maker::new(3, 4);
    let [first, second] = [maker.communicator("first", &[0, 1]), maker.communicator("second", &[1, 2])];
    for round in 0..20 {
        let time = MS + round * 2 * MS;
        maker.collective(first, "AllReduce", 1024, Start::Each(&[time + by, time]), 30 * US);
        // 20 us behind the end of the first one
        let next = time + 50 * US;
        maker.collective(second, "AllReduce", 1024, Start::Each(&[next + by, next]), 30 * US);
    }
    maker.finish()
}
