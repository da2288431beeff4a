//! The steps as they would be if some ranks were like their peers.

use super::rank::RankSteps;
use super::rules;
use super::run::NONE;
use super::scene::{Scene, unchanged};
use super::standing::StandingTogether;
use crate::answer::LateCause;

/// Distance of the re-enacted step from the measured one from which on nothing is concluded.
pub(super) const MAX_MODEL_ERROR: f64 = 0.03;
/// Share of a gain by which a re-enactment is off.
pub(super) const GAIN_ERROR: f64 = 0.05;
/// Share of the extra time from which on it is the host's; below the rest, it is the GPU's.
const MIN_HOST_SHARE: f64 = 0.75;
/// Share of a rank's usual excess in a step that the usual excesses of its places have at least, where these show the
/// reason.
const MIN_PLACES_SHARE: f64 = 0.5;

/// How many times longer a host takes that launches for a waiting GPU than one that runs ahead, at most: 3.2 ms and 2.3
/// ms between the same calls of one rank, PyTorch 2.11 on H200.
pub(super) const WAITED_HOST_FACTOR: f64 = 1.4;

/// The steps with other own times.
pub(super) struct WhatIf<'a> {
    pub(super) scene: Scene<'a>,
    /// The ranks in comparison with those that are not outliers, from the step on in which they began to be slow.
    pub(super) ranks: &'a [Option<RankSteps>],
}

/// Returns whether ranks are late at another place in each step: the usual excesses of their places do not show most of
/// their usual excess in a step with pauses. Nanoseconds.
fn is_elsewhere(of_places: f64, with_pauses: f64) -> bool {
    of_places < with_pauses * MIN_PLACES_SHARE
}

impl WhatIf<'_> {
    /// Returns the length of a step with some groups as their peers are. Hosts that ran ahead of their GPUs take so
    /// many times as long: without the groups they may do so no more.
    pub(super) fn without(&self, groups: &[&StandingTogether], host: f64) -> Option<f64> {
        let mut of_gpu: Vec<Option<&StandingTogether>> = vec![None; self.ranks.len()];
        groups.iter().for_each(|group| group.gpus.iter().for_each(|&gpu| of_gpu[gpu] = Some(group)));
        let is_late_elsewhere = |rank: &RankSteps| {
            is_elsewhere(rank.by_place.iter().filter(|excess| **excess > 0.0).sum(), rank.with_pauses)
        };
        let elsewhere: Vec<bool> = self.ranks.iter().map(|rank| rank.as_ref().is_some_and(is_late_elsewhere)).collect();
        let own = |stretch: usize, call: usize| {
            let (run, owns) = (&self.scene.runs[stretch], &self.scene.owns[stretch]);
            let (timed, own) = (&run.calls[call], owns.clocks(call));
            let gpu = run.gpus[call] as usize;
            let (Some(group), Some(rank)) = (of_gpu[gpu], &self.ranks[gpu]) else { return own };
            let place = timed.place as usize;
            let (Some(usual), Some(excess)) = (rank.clocks_by_place.get(place), rank.excess_of_clocks.get(place))
            else {
                return own;
            };
            if let Some([_, others]) = group.others {
                return own.map(|own| (own as f64 * others) as i64);
            }
            let without = |excess: [f64; 2]| [0, 1].map(|clock| own[clock] - excess[clock] as i64);
            if owns.is_pause[call] {
                return without(owns.excess_of_clocks(call));
            }
            if group.stretch.as_ref().is_some_and(|stretch| !stretch.contains(&timed.step)) {
                return own;
            }
            // a group of pauses alone is compared with no rank
            if elsewhere[gpu] && group.peers > 0 {
                return without(owns.excess_of_clocks(call));
            }
            // a slow rank is slow in all it does: its random differences shrink with its time
            [0, 1].map(|clock| {
                let (usual, excess, own) = (usual[clock], excess[clock], own[clock]);
                if usual > 0.0 { (own as f64 * (1.0 - excess / usual).max(0.0)) as i64 } else { own - excess as i64 }
            })
        };
        let slowed = |stretch: usize, call: usize| {
            let [of_host, gpu] = own(stretch, call);
            let is_ahead = self.scene.owns[stretch].paths[call].is_ahead;
            [if is_ahead { (of_host as f64 * host) as i64 } else { of_host }, gpu]
        };
        self.scene.play(&slowed, &unchanged)
    }

    /// Returns how much longer a step is with some ranks as they are, where all others that are outliers are as their
    /// peers; `None` where no other rank is an outlier.
    pub(super) fn hidden(&self, standing: &[StandingTogether], gpus: &[usize]) -> Option<f64> {
        let all: Vec<&StandingTogether> = standing.iter().take(rules::MAX_GROUPS).collect();
        let rest: Vec<&StandingTogether> = all.iter().copied().filter(|group| group.gpus != gpus).collect();
        let is_among = !rest.is_empty() && rest.len() < all.len();
        is_among.then(|| Some(self.without(&rest, 1.0)? - self.without(&all, 1.0)?)).flatten()
    }

    /// Returns the length of a step in which every rank takes its usual time, as far from its peers as it usually is.
    pub(super) fn without_jitter(&self) -> Option<f64> {
        let own = |stretch: usize, call: usize| {
            let owns = &self.scene.owns[stretch];
            let (own, excess) = (owns.clocks(call), owns.excess_of_clocks(call));
            let run = &self.scene.runs[stretch];
            let rank = self.ranks[run.gpus[call] as usize].as_ref();
            let usual = rank.and_then(|rank| rank.excess_of_clocks.get(run.calls[call].place as usize));
            [0, 1].map(|clock| own[clock] - (excess[clock] - usual.map_or(0.0, |usual| usual[clock])) as i64)
        };
        self.scene.play(&own, &unchanged)
    }

    /// Returns the shares that the hosts and the GPUs are known to have of the time that ranks take longer than their
    /// peers; of ranks that pause, of their pauses. A late enqueue behind a wait of the host says nothing of the host:
    /// its GPU may have computed. `None` where less than half of the time is known.
    pub(super) fn shares(&self, gpus: &[usize], pause: bool) -> Option<[f64; 2]> {
        let mut sums = [0.0; 3];
        for (run, owns) in self.scene.runs.iter().zip(self.scene.owns) {
            for call in gpus.iter().flat_map(|&gpu| run.first[gpu]..run.first[gpu + 1]) {
                let excess = owns.excess_of(call);
                if owns.is_pause[call] != pause || excess == 0.0 {
                    continue;
                }
                let path = &owns.paths[call];
                let [host, gpu] = owns.excess_of_clocks(call);
                // after a wait of the host, what comes late on both clocks may be of either
                let both = if path.released == NONE { 0.0 } else { host.min(gpu).max(0.0) };
                let [host, gpu] = [host - both, gpu - both];
                let is_hosts = path.has_host && (path.from_host || path.is_hidden);
                sums[2] += excess;
                sums[0] += if is_hosts {
                    if excess > 0.0 { host.clamp(0.0, excess) } else { host.clamp(excess, 0.0) }
                } else {
                    0.0
                };
                sums[1] += if !path.is_hidden && path.has_host {
                    if excess > 0.0 { gpu.clamp(0.0, excess) } else { gpu.clamp(excess, 0.0) }
                } else {
                    0.0
                };
            }
        }
        let [host, of_gpu, all] = sums;
        (all > 0.0 && host + of_gpu >= all / 2.0).then(|| [host.max(0.0) / all, of_gpu.max(0.0) / all])
    }

    /// Returns whether calls of ranks come late, or their GPUs: which of both has most of the time.
    pub(super) fn why(shares: Option<[f64; 2]>) -> Option<LateCause> {
        let [host, gpu] = shares?;
        match host / (host + gpu) {
            share if share > MIN_HOST_SHARE => Some(LateCause::Host),
            share if share < 1.0 - MIN_HOST_SHARE => Some(LateCause::Gpu),
            _ => None,
        }
    }
}
