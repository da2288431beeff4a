//! The GPUs of a process, and the courses of their clocks.

use super::RankLine;
use crate::clock::gpu_clocks::GpuClocks;
use crate::clock::gpu_track::GpuMapping;
use std::collections::BTreeSet;

/// Returns the mappings of each rank's GPU: of its stamps, and of its CUDA events. Communicators that use one GPU share
/// its mappings.
///
/// NCCL does not tell a plugin which GPU a rank has, but no communicator has two ranks on one GPU. So a process is
/// taken to use one GPU if none of its communicators has two ranks here, unless the communicators' observations
/// contradict each other as those of one clock.
pub(super) fn mappings(ranks: &[RankLine], nanoseconds_per_tick: f64) -> Vec<[Option<GpuMapping>; 2]> {
    let comms: BTreeSet<u64> = ranks.iter().map(|line| line.rank.comm).collect();
    let alone = || ranks.iter().map(|line| line.clocks.mappings(nanoseconds_per_tick)).collect();
    if ranks.len() < 2 || comms.len() < ranks.len() {
        return alone();
    }
    let joint = GpuClocks::of_all(ranks.iter().map(|line| &line.clocks)).mappings(nanoseconds_per_tick);
    if joint.iter().flatten().any(GpuMapping::is_contradictory) {
        return alone();
    }
    vec![joint; ranks.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::run_sums::CommunicatorRank;

    /// Returns a rank whose GPU's clock is ahead by `ahead`, with callbacks `late` after the stamps.
    fn line(comm: u64, rank: i32, ahead: u64, late: u64) -> RankLine {
        let mut clocks = GpuClocks::default();
        for time in (1..100).map(|number| number * 1_000_000) {
            clocks.stamps.told(time + late, time + ahead);
            clocks.stamps.enqueued(time - 20_000, time + ahead);
        }
        RankLine { rank: CommunicatorRank { comm, rank }, nranks: 2, clocks }
    }

    /// Returns the uncertainties of stamps in the middle, microseconds.
    fn errors(lines: &[RankLine], ahead: [u64; 2]) -> [u64; 2] {
        let mappings = mappings(lines, 1.0);
        [0, 1].map(|place| {
            let stamps = mappings[place][0].as_ref().unwrap();
            stamps.error(50_000_000 + ahead[place]).unwrap() as u64 / 1000
        })
    }

    #[test]
    fn communicators_on_one_gpu_tell_of_one_clock() {
        // the first communicator's callbacks come late, so the second one's callbacks place its operations, too
        assert_eq!(errors(&[line(1, 0, 7_000_000, 300_000), line(2, 0, 7_000_000, 1_000)], [7_000_000; 2]), [21, 21]);
        // another GPU has another clock, and so has another rank of the same communicator
        assert_eq!(
            errors(&[line(1, 0, 7_000_000, 300_000), line(2, 0, 2_000_000, 1_000)], [7_000_000, 2_000_000]),
            [320, 21]
        );
        assert_eq!(errors(&[line(1, 0, 7_000_000, 300_000), line(1, 1, 7_000_000, 1_000)], [7_000_000; 2]), [320, 21]);
    }
}
