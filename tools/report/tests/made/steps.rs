//! Jobs of steps, and of none.

use super::{MS, MadeJob, Maker, Start, US};
use fastrand::Rng;

/// What is particular about a job of steps. Steps count from 0, those of the warm-up included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// Number of steps at the begin that take three times as long.
    pub(crate) warm_up: u64,
    /// A step that takes 5 ms more.
    pub(crate) outlier: Option<u64>,
    /// First step of those that take a quarter more.
    pub(crate) shift: Option<u64>,
}

/// Makes `count` steps of 4 ranks: an all-gather, a reduce-scatter and two all-reduces of different sizes, which begin
/// 0, 1, 2 and 3 ms after the step's begin and take 100 us each. A step takes 5 ms.
pub(crate) fn steps(count: u64, changes: Changes) -> MadeJob {
    let mut maker = Maker::new(4, 4);
    let world = maker.communicator("world", &[0, 1, 2, 3]);
    let mut begin = MS;
    for step in 0..count {
        maker.step(begin);
        let calls = [("AllGather", 1 << 20), ("ReduceScatter", 1 << 19), ("AllReduce", 256), ("AllReduce", 512)];
        for ((function, elements), place) in calls.into_iter().zip(0..) {
            maker.collective(world, function, elements, Start::Together(begin + place * MS), 100 * US);
        }
        let mut length = 5 * MS;
        if changes.shift.is_some_and(|shift| step >= shift) {
            length += length / 4;
        }
        if changes.outlier == Some(step) {
            length += 5 * MS;
        }
        if step < changes.warm_up {
            length *= 3;
        }
        begin += length;
    }
    maker.step(begin);
    maker.finish()
}

/// Makes `count` collectives of 4 ranks, 1 ms apart, of functions and sizes by chance: no sequence of them repeats.
pub(crate) fn random(count: u64, seed: u64) -> MadeJob {
    let mut random = Rng::with_seed(seed);
    let mut maker = Maker::new(4, 4);
    let world = maker.communicator("world", &[0, 1, 2, 3]);
    for number in 0..count {
        let function = ["AllReduce", "AllGather", "ReduceScatter", "Broadcast"][random.usize(..4)];
        maker.collective(world, function, random.u64(1..1 << 30), Start::Together((number + 1) * MS), 100 * US);
    }
    maker.finish()
}
