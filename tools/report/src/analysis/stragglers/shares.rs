//! Which part of a rank's delay costs began with it.
//!
//! A rank that comes last was released later than the others, or took longer on its own. Of its lateness, what its
//! release came later than that of the next-latest rank is passed on, at most as long as the rank itself had waited for
//! others in its call before; the rest is its own. Behind an all-reduce all ranks are released together, and nothing is
//! passed on; a rank that waited for nobody was released late by its own doing.

use super::owns::Owns;
use super::run::CallRun;
use super::timed::Joins;

/// Returns the share (0 to 1) of each GPU's delay costs that began with it; `None` of one that was never last.
pub(super) fn own_shares(runs: &[CallRun], owns: &[Owns], gpus: usize) -> Vec<Option<f64>> {
    let (mut cost, mut own) = (vec![0.0; gpus], vec![0.0; gpus]);
    for (run, owns) in runs.iter().zip(owns) {
        let begin = |call: u32| run.calls[call as usize].common()[0];
        for party in run.parties.iter().filter(|party| party.len() > 1) {
            // a message's party is there once for each side
            let is_pairs = run.calls[party[0] as usize].joins == Joins::Pairs;
            let Some(&last) = party.iter().max_by_key(|&&call| begin(call)) else { continue };
            if is_pairs && party[0] != last {
                continue;
            }
            let Some(next) = party.iter().copied().filter(|&it| it != last).max_by_key(|&it| begin(it)) else {
                continue;
            };
            let released = |call: u32| begin(call) - owns.own[call as usize];
            let margin = begin(last) - begin(next);
            let waits: i64 = party.iter().map(|&call| begin(last) - begin(call)).sum();
            let is_known = party.iter().all(|&call| run.before(call as usize).is_some());
            if margin <= 0 || !is_known {
                continue;
            }
            let waited = run.before(last as usize).map_or(0, |before| run.wait(before));
            let passed_on = (released(last) - released(next)).clamp(0, margin).min(waited);
            let gpu = run.gpus[last as usize] as usize;
            cost[gpu] += waits as f64;
            own[gpu] += waits as f64 * (1.0 - passed_on as f64 / margin as f64);
        }
    }
    cost.iter().zip(own).map(|(&cost, own)| (cost > 0.0).then(|| own / cost)).collect()
}
