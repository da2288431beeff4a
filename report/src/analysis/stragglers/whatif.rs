//! The steps as they would be if somebody were like the peers.

use super::owns::Owns;
use super::peers::Division;
use super::rank::RankSteps;
use super::robust::median;
use super::scene::{Scene, unchanged};
use super::standing::StandingTogether;
use crate::answer::LateCause;

/// Distance of the re-enacted step from the measured one from which on nothing is concluded.
pub(super) const OFF: f64 = 0.03;
/// Share of the extra time from which on it is the host's; below the rest, it is the GPU's.
const MOST: f64 = 0.75;
/// Share of a rank's usual excess in a step that the usual excesses of its places have at least, where these show the reason.
const AT_PLACES: f64 = 0.5;

/// The steps with other own times.
pub(super) struct WhatIf<'a> {
    pub(super) scene: Scene<'a>,
    /// The ranks in comparison with those that do not stand out, from the step on in which they began to be slow.
    pub(super) ranks: &'a [Option<RankSteps>],
}

/// Returns whether ranks are late at another place in each step: the usual excesses of their places do not show most of
/// their usual excess in a step with pauses. Nanoseconds.
fn is_elsewhere(of_places: f64, with_pauses: f64) -> bool {
    of_places < with_pauses * AT_PLACES
}

impl WhatIf<'_> {
    /// Returns the length of a step with some groups as their peers are.
    pub(super) fn without(&self, groups: &[&StandingTogether]) -> Option<f64> {
        let mut of_gpu: Vec<Option<&StandingTogether>> = vec![None; self.ranks.len()];
        groups.iter().for_each(|group| group.gpus.iter().for_each(|&gpu| of_gpu[gpu] = Some(group)));
        let is_late_elsewhere = |rank: &RankSteps| {
            is_elsewhere(rank.by_place.iter().filter(|excess| **excess > 0.0).sum(), rank.with_pauses)
        };
        let elsewhere: Vec<bool> = self.ranks.iter().map(|rank| rank.as_ref().is_some_and(is_late_elsewhere)).collect();
        let own = |stretch: usize, call: usize| {
            let (run, owns) = (&self.scene.runs[stretch], &self.scene.owns[stretch]);
            let (timed, own) = (&run.calls[call], owns.own[call] as f64);
            let gpu = run.gpus[call] as usize;
            let (Some(group), Some(rank)) = (of_gpu[gpu], &self.ranks[gpu]) else { return own };
            let place = timed.place as usize;
            let (Some(&usual), Some(&excess)) = (rank.own_by_place.get(place), rank.by_place.get(place)) else {
                return own;
            };
            if let Some(others) = group.others {
                return own * others;
            }
            if owns.is_pause[call] {
                return own - owns.excess[call];
            }
            if group.since.is_some_and(|since| timed.step < since) {
                return own;
            }
            // a group of pauses alone is compared with nobody
            if elsewhere[gpu] && group.peers > 0 {
                return own - owns.excess_of(call);
            }
            // a slow rank is slow in all it does: its random differences shrink with its time
            if usual > 0.0 { own * (1.0 - excess / usual).max(0.0) } else { own }
        };
        self.scene.play(&own, &unchanged)
    }

    /// Returns the length of a step with the median of the peers at every place.
    pub(super) fn without_jitter(&self) -> Option<f64> {
        let own = |stretch: usize, call: usize| {
            let owns = &self.scene.owns[stretch];
            owns.own[call] as f64 - owns.excess_of(call)
        };
        self.scene.play(&own, &unchanged)
    }

    /// Returns the shares that the hosts and the GPUs are known to have of the time that ranks take longer than their peers;
    /// of ranks that are late at another place in each step, of single calls; of ranks that pause, of their pauses, and of
    /// stages, of the own time. `None` where less than half of the time is
    /// known. `out` are all ranks that stand out.
    pub(super) fn shares(&self, division: &Division, gpus: &[usize], out: &[usize], pause: bool) -> Option<[f64; 2]> {
        let mut sums = [0.0; 3];
        let mut excess = 0.0;
        for &gpu in gpus.iter().filter(|_| !pause) {
            let of_gpu = self.excess_of_host(division, gpu, out);
            sums.iter_mut().zip(of_gpu).for_each(|(sum, of_gpu)| *sum += of_gpu);
            excess += self.ranks.get(gpu).and_then(Option::as_ref).map_or(0.0, |rank| rank.with_pauses);
        }
        if is_elsewhere(sums[2], excess) {
            sums = self.time_of_host(gpus, |owns, call| owns.excess[call] > 0.0, |owns, call| owns.excess[call]);
        } else if sums[2] <= 0.0 {
            sums =
                self.time_of_host(gpus, |owns, call| owns.is_pause[call] == pause, |owns, call| owns.own[call] as f64);
        }
        let [host, known, all] = sums;
        (known > 0.0 && known >= all / 2.0).then(|| [host / all, (known - host) / all])
    }

    /// Returns whether calls of ranks come late, or their GPUs: which of both has most of the time.
    pub(super) fn why(shares: Option<[f64; 2]>) -> Option<LateCause> {
        let [host, gpu] = shares?;
        match host / (host + gpu) {
            share if share > MOST => Some(LateCause::Host),
            share if share < 1.0 - MOST => Some(LateCause::Gpu),
            _ => None,
        }
    }

    /// Returns by how much a rank's host takes longer than those of its peers, by how much the rank does at the places whose
    /// enqueues are known, and at all places, nanoseconds a step.
    fn excess_of_host(&self, division: &Division, gpu: usize, out: &[usize]) -> [f64; 3] {
        let rank_of = |gpu: usize| self.ranks.get(gpu).and_then(Option::as_ref);
        let peers = division.peers.iter().find(|peers| division.gpus(peers).any(|it| it == gpu));
        let Some((rank, peers)) = rank_of(gpu).zip(peers) else { return [0.0; 3] };
        let others: Vec<&RankSteps> = division.gpus(peers).filter(|it| !out.contains(it)).filter_map(rank_of).collect();
        let mut sums = [0.0; 3];
        for (place, &excess) in rank.by_place.iter().enumerate().filter(|(_, excess)| **excess > 0.0) {
            let mut hosts: Vec<f64> = others.iter().filter_map(|other| other.host_by_place[place]).collect();
            if let Some(host) = rank.host_by_place[place].filter(|_| !hosts.is_empty()) {
                sums[0] += (host - median(&mut hosts)).clamp(0.0, excess);
                sums[1] += excess;
            }
            sums[2] += if others.is_empty() { 0.0 } else { excess };
        }
        sums
    }

    /// Returns some time of ranks before calls that came late, before calls whose enqueue is known, and before all calls:
    /// before those that `counts` selects, so much as `time` gives, nanoseconds.
    fn time_of_host(
        &self,
        gpus: &[usize],
        counts: impl Fn(&Owns, usize) -> bool,
        time: impl Fn(&Owns, usize) -> f64,
    ) -> [f64; 3] {
        let mut sums = [0.0; 3];
        for (run, owns) in self.scene.runs.iter().zip(self.scene.owns) {
            for call in gpus.iter().flat_map(|&gpu| run.first[gpu]..run.first[gpu + 1]) {
                let (own, lead) = (owns.own[call], i64::from(run.calls[call].lead));
                if own > 0 && counts(owns, call) {
                    // enqueued in the second half of its own time: the GPU was not behind
                    let is = [lead > 0 && lead < own / 2, lead > 0, true];
                    sums.iter_mut().zip(is).for_each(|(sum, is)| *sum += if is { time(owns, call) } else { 0.0 });
                }
            }
        }
        sums
    }
}
