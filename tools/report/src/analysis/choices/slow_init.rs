//! Ranks whose init takes much longer than the others', in a phase in which a rank waits for no other one.

use super::scene::Scene;
use crate::answer::NcclFinding;
use crate::nccl_log::LoggedRank;

/// A phase is long if it takes this much longer than the median, seconds, and
const MIN_SECONDS: f64 = 2.0;
/// this many times the median.
const MIN_RATIO: f64 = 3.0;

/// Returns the findings: at most one for each communicator, of its slowest rank and phase.
pub(super) fn findings(scene: &Scene<'_>) -> Vec<NcclFinding> {
    let of = |place: usize| {
        let ranks: Vec<&LoggedRank> = scene.ranks(scene.log.communicators.get(place)?).collect();
        let timed: Vec<_> = ranks.iter().filter_map(|rank| Some((*rank, rank.init?.own()))).collect();
        let median = |phase: usize| {
            let mut all: Vec<f64> = timed.iter().filter_map(|(_, phases)| Some(phases.get(phase)?.1)).collect();
            all.sort_by(f64::total_cmp);
            // of two ranks, the faster one
            all.get(all.len().saturating_sub(1) / 2).copied()
        };
        let medians: Vec<f64> = (0..5).map_while(median).collect();
        let long = |(rank, phases): &(&'_ LoggedRank, [(&'static str, f64); 5])| {
            let over = |((name, seconds), median): (&(&'static str, f64), &f64)| {
                let is_long = seconds - median >= MIN_SECONDS && *seconds >= MIN_RATIO * median;
                is_long.then_some((*name, *seconds, *median))
            };
            let longest =
                phases.iter().zip(&medians).filter_map(over).max_by(|a, b| (a.1 - a.2).total_cmp(&(b.1 - b.2)))?;
            Some((rank.rank, rank.process, longest))
        };
        let slow: Vec<_> = timed.iter().filter_map(long).collect();
        let (rank, process, (phase, seconds, median_s)) =
            slow.iter().copied().max_by(|a, b| (a.2.1 - a.2.2).total_cmp(&(b.2.1 - b.2.2)))?;
        Some(NcclFinding::SlowInit {
            name: scene.name(place),
            rank,
            host: scene.log.processes.get(process)?.host.to_string(),
            phase: phase.to_owned(),
            seconds,
            median_s,
            ranks: slow.len() as u64,
        })
    };
    (0..scene.log.communicators.len()).filter_map(of).collect()
}
