//! What ranks cost a step: the steps played again with ranks as their peers are.
//!
//! ```text
//! calls in steps ──► kept ──► run ──► programs ──► peers ──► owns ──► rank ──► standing ──► whatif ──► Stragglers
//!                  (blocks)  (who waits (who does  (own time, beside,  (who stands    (gains)
//!                             for whom)  the same)  excess, pauses)     out)
//! ```
//! The question is a counterfactual: how much shorter would a step be if this rank were like its peers? Sums of waits
//! do not answer it: they charge whoever came last, and somebody always does. So each rank's own time before each call
//! is compared with that of the ranks that run the same program, and the steps are played again with the peers' times
//! in place of the rank's (the what-if analysis of Lin et al., Understanding Stragglers in Large Model Training Using
//! What-if Analysis, OSDI 2025, arXiv 2505.05713, on NCCL's operations alone).

mod beside;
mod kept;
mod links;
mod messages;
mod owns;
mod pauses;
mod peers;
mod programs;
mod rank;
mod robust;
mod run;
mod samples;
mod shares;
mod stages;
mod standing;
#[cfg(test)]
mod tests;
mod whatif;

use super::steps::{InStep, Plan};
use crate::answer::{ExcessMap, Group, Part, RankOwn, Straggler, Stragglers, When, Why};
use crate::job::Job;
use crate::stream::Judged;
use kept::{Calls, Kept};
use links::Repaired;
pub use links::SlowRow;
use owns::{Owns, owns};
use pauses::Pauses;
use peers::Division;
use rank::Rank;
use robust::median;
use run::Run;
use standing::{Standing, standing};
use whatif::{Scene, unchanged};

/// Distance of the re-enacted step from the measured one from which on nothing is concluded.
const OFF: f64 = 0.03;
/// Share of the operations without a begin from which on own times are not known.
const UNTIMED: f64 = 0.2;
/// Most groups that stand out, and are played again.
const MOST: usize = 16;
/// Columns and rows of the map at most.
const COLUMNS: usize = 200;
const ROWS: usize = 256;

/// What is concluded from the steps.
#[derive(Debug)]
pub struct Concluded {
    /// The part of the answer.
    pub stragglers: Part<Stragglers>,
    /// Steps in which ranks paused that do not stand out, sorted: they are in no mean.
    pub paused: Vec<u64>,
    /// Share (0 to 1) of each GPU's delay cost that began with it; `None` where it is not known.
    pub own_shares: Vec<Option<f64>>,
    /// What a step gains if each slow part of the network is like the others, microseconds.
    pub of_network: Vec<Option<f64>>,
}

/// Listens for calls in steps.
#[derive(Debug)]
pub struct Costs {
    kept: Kept,
    has_steps: bool,
    /// Node of each GPU.
    nodes: Vec<usize>,
    /// Pauses in steps that were given up.
    pauses: Pauses,
}

impl Costs {
    /// Prepares to listen to a job with these steps.
    pub fn new(job: &Job, plan: &Plan) -> Self {
        Self {
            kept: Kept::new(job.gpus.len(), plan.calls()),
            has_steps: plan.has_steps(),
            nodes: job.gpus.iter().map(|gpu| gpu.node).collect(),
            pauses: Pauses::default(),
        }
    }

    /// Takes in the next call of a GPU, with its place in a step that counts from 0 behind the warm-up.
    pub(crate) fn call(&mut self, job: &Job, judged: &Judged, at: InStep) {
        let pauses = &mut self.pauses;
        let nodes = &self.nodes;
        let mut given_up = |calls: Calls| {
            let runs = [Run::of(calls, nodes)];
            let division = Division::of(job, &runs);
            let step = step_length(&runs);
            pauses.add_all(&runs, &division, &owns(&runs, &division, step), step);
        };
        self.kept.add(judged, at, &mut given_up);
    }

    /// Draws the conclusions. `slow` are the slow pairs of `parts` parts of the network.
    pub fn finish(self, job: &Job, slow: &[SlowRow], parts: usize) -> Concluded {
        let absent = |reason: &str| Concluded {
            stragglers: Part::Absent(reason.into()),
            paused: vec![],
            own_shares: vec![],
            of_network: vec![None; parts],
        };
        if self.kept.is_full {
            return absent("A step has more operations than are compared over ranks at a time.");
        }
        let stretches = self.kept.into_stretches();
        let runs: Vec<Run> = stretches.into_iter().map(|calls| Run::of(calls, &self.nodes)).collect();
        if runs.iter().all(|run| run.calls.is_empty()) {
            return absent(
                "No operation in a step behind the warm-up has a begin and an end on the GPU, so that own times of ranks \
                 are not known.",
            );
        }
        let all: usize = runs.iter().map(|run| run.calls.len()).sum();
        let untimed = runs.iter().flat_map(|run| &run.calls).filter(|call| !call.is_timed).count();
        if untimed as f64 > UNTIMED * all as f64 {
            return absent(&format!(
                "{:.0} % of the operations in steps have no begin on the GPU, so that own times of ranks are not known.",
                100.0 * untimed as f64 / all as f64
            ));
        }
        let division = Division::of(job, &runs);
        let step = step_length(&runs);
        let mut owns = owns(&runs, &division, step);
        let mut pauses = self.pauses;
        pauses.add_all(&runs, &division, &owns, step);
        let all_ranks = |owns: &[Owns]| {
            let mut ranks: Vec<Option<Rank>> = job.gpus.iter().map(|_| None).collect();
            for peers in &division.peers {
                for (&member, gpu) in peers.members.iter().zip(division.gpus(peers)) {
                    ranks[gpu] = Rank::of((&runs, &division), peers, member, owns);
                }
            }
            ranks
        };
        let ranks = all_ranks(&owns);
        let chronic = pauses.chronic(job.gpus.len());
        let left_out = pauses.steps_without(&chronic);
        let scene = Scene { runs: &runs, owns: &owns, left_out: &left_out };
        let Some(measured) = scene.measured() else {
            return absent("No step is whole, so that costs of ranks are not known.");
        };
        let mut found = standing(job, &division, &ranks, measured);
        // pauses that recur cost as a slow rank does
        let known: Vec<usize> = found.standing.iter().flat_map(|it| it.gpus.iter().copied()).collect();
        for &gpu in chronic.iter().filter(|gpu| !known.contains(gpu)) {
            let Some(rank) = &ranks[gpu] else { continue };
            found.standing.push(Standing {
                group: Group::Rank,
                gpus: vec![gpu],
                own: rank.own,
                excess: rank.excess,
                z: found.z[gpu].unwrap_or_default(),
                peers: 0,
                since: None,
                others: None,
            });
        }
        // the measure of those that stand out is the others
        let out: Vec<usize> = found.standing.iter().flat_map(|it| it.gpus.iter().copied()).collect();
        for peers in division.peers.iter().filter(|peers| division.gpus(peers).any(|gpu| out.contains(&gpu))) {
            owns::excess(&runs, &division, peers, &out, &mut owns);
        }
        let against_others = all_ranks(&owns);
        let what_if = WhatIf { scene: Scene { runs: &runs, owns: &owns, left_out: &left_out }, ranks: &against_others };
        let of_network =
            (0..parts).map(|part| what_if.with_repaired(&Repaired::of(&runs, slow, part), measured)).collect();
        let stragglers = what_if.answer(job, &division, &ranks, measured, found, &pauses, &chronic, self.has_steps);
        Concluded {
            stragglers,
            paused: left_out.iter().copied().map(u64::from).collect(),
            own_shares: shares::own_shares(&runs, &owns, job.gpus.len()),
            of_network,
        }
    }
}

/// Returns the median length of a step of all GPUs, nanoseconds.
fn step_length(runs: &[Run]) -> f64 {
    let mut lengths: Vec<f64> = vec![];
    for run in runs {
        for gpu in 0..run.first.len() - 1 {
            let calls = &run.calls[run.first[gpu]..run.first[gpu + 1]];
            let mut begins = calls.chunk_by(|one, other| one.step == other.step).filter_map(|step| step.first());
            let Some(mut last) = begins.next() else { continue };
            for next in begins {
                lengths.push((next.begin - last.begin) as f64);
                last = next;
            }
        }
    }
    if lengths.is_empty() {
        let of = |run: &Run| {
            let begin = run.calls.iter().map(|call| call.begin).min()?;
            run.calls.iter().map(|call| call.end).max().map(|end| (end - begin) as f64)
        };
        lengths.extend(runs.iter().filter_map(of));
    }
    median(&mut lengths)
}

/// The steps with other own times.
struct WhatIf<'a> {
    scene: Scene<'a>,
    /// The ranks in comparison with those that do not stand out.
    ranks: &'a [Option<Rank>],
}

impl WhatIf<'_> {
    /// Returns the length of a step with some groups as their peers are.
    fn without(&self, groups: &[&Standing]) -> Option<f64> {
        let mut of_gpu: Vec<Option<&Standing>> = vec![None; self.ranks.len()];
        groups.iter().for_each(|group| group.gpus.iter().for_each(|&gpu| of_gpu[gpu] = Some(group)));
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
            // a slow rank is slow in all it does: its random differences shrink with its time
            let excess = match group.since {
                Some(_) if rank.excess.abs() > 0.0 => excess * group.excess / rank.excess.max(group.excess / 4.0),
                _ => excess,
            };
            if usual > 0.0 { own * (1.0 - excess / usual).max(0.0) } else { own }
        };
        self.scene.play(&own, &unchanged)
    }

    /// Returns the length of a step with the median of the peers at every place.
    fn without_jitter(&self) -> Option<f64> {
        let own = |stretch: usize, call: usize| {
            let owns = &self.scene.owns[stretch];
            let excess = owns.excess[call];
            owns.own[call] as f64 - if excess.is_finite() { excess } else { 0.0 }
        };
        self.scene.play(&own, &unchanged)
    }

    /// Returns the length of a step with nothing changed, if it is close enough to the measured one.
    fn reenacted(&self, measured: f64) -> Option<f64> {
        let own = |stretch: usize, call: usize| self.scene.owns[stretch].own[call] as f64;
        self.scene.play(&own, &unchanged).filter(|it| (it / measured - 1.0).abs() <= OFF)
    }

    /// Returns what a step gains with a part of the network like the others, microseconds.
    fn with_repaired(&self, repaired: &Repaired, measured: f64) -> Option<f64> {
        let own = |stretch: usize, call: usize| self.scene.owns[stretch].own[call] as f64;
        let transfer = |run: &Run, call, other, time| repaired.transfer(run, call, other, time);
        Some((self.reenacted(measured)? - self.scene.play(&own, &transfer)?) / 1e3)
    }

    /// Returns whether calls of ranks come late, or their GPUs.
    fn why(&self, gpus: &[usize]) -> Option<Why> {
        let (mut host, mut all) = (0.0, 0.0);
        for (run, owns) in self.scene.runs.iter().zip(self.scene.owns) {
            for &gpu in gpus {
                for call in run.first[gpu]..run.first[gpu + 1] {
                    let own = owns.own[call];
                    if owns.excess[call].is_finite() && own > 0 {
                        all += own as f64;
                        // enqueued in the second half of its own time: the GPU was not behind
                        host += if i64::from(run.calls[call].lead) < own / 2 { own as f64 } else { 0.0 };
                    }
                }
            }
        }
        match host / all {
            share if share > 0.75 => Some(Why::Host),
            share if share < 0.25 => Some(Why::Gpu),
            _ => None,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all that was found, once")]
    fn answer(
        &self,
        job: &Job,
        division: &Division,
        ranks: &[Option<Rank>],
        measured: f64,
        mut found: standing::Found,
        pauses: &Pauses,
        chronic: &[usize],
        has_steps: bool,
    ) -> Part<Stragglers> {
        let us = |nanoseconds: f64| nanoseconds / 1e3;
        let own = |stretch: usize, call: usize| self.scene.owns[stretch].own[call] as f64;
        let reenacted = self.scene.play(&own, &unchanged);
        let is_close = reenacted.filter(|it| (it / measured - 1.0).abs() <= OFF);
        found.standing.sort_by(|one, other| other.excess.total_cmp(&one.excess));
        let gain = |groups: &[&Standing]| Some(us(is_close? - self.without(groups)?));
        let mut stragglers: Vec<Straggler> = vec![];
        for (number, group) in found.standing.iter().enumerate() {
            let gain_us = (number < MOST).then(|| gain(&[group])).flatten();
            let is_chronic = group.gpus.iter().all(|gpu| chronic.contains(gpu)) && group.peers == 0;
            let when = match group.since {
                _ if is_chronic => pauses.when(group.gpus[0]),
                Some(step) => When::Since(u64::from(step)),
                None => When::Always,
            };
            stragglers.push(Straggler {
                group: group.group,
                name: name(job, division, group),
                gpus: group.gpus.clone(),
                own_us: us(group.own),
                excess_us: us(group.excess),
                peers: group.peers as u64,
                z: group.z,
                gain_us,
                when,
                why: self.why(&group.gpus),
            });
        }
        let together_us =
            (found.standing.len() > 1).then(|| gain(&found.standing.iter().collect::<Vec<_>>())).flatten();
        let jitter_us = is_close.and_then(|step| Some(us(step - self.without_jitter()?).max(0.0)));
        stragglers.sort_by(|one, other| other.gain_us.partial_cmp(&one.gain_us).unwrap_or(std::cmp::Ordering::Equal));
        let (mut events, event_ranks) = pauses.events_without(chronic);
        let event_count = events.len() as u64;
        let all: f64 = events.iter().map(|event| event.excess_us).sum();
        events.truncate(pauses::MOST);
        let mut own_of: Vec<RankOwn> = vec![RankOwn::default(); job.gpus.len()];
        for (number, peers) in division.peers.iter().enumerate() {
            for gpu in division.gpus(peers) {
                let Some(rank) = &ranks[gpu] else { continue };
                let of_gpu = |it: &&Straggler| it.gpus == [gpu];
                own_of[gpu] = RankOwn {
                    peers: number as u64,
                    own_us: us(rank.own),
                    excess_us: (peers.members.len() > 1).then_some(us(rank.excess)),
                    z: found.z[gpu],
                    gain_us: stragglers.iter().find(of_gpu).and_then(|it| it.gain_us),
                };
            }
        }
        let steps = ranks.iter().flatten().map(|rank| rank.steps.len()).max().unwrap_or(0) as u64;
        Part::Known(Stragglers {
            steps: if has_steps { steps } else { 0 },
            step_us: us(measured),
            reenacted_us: us(reenacted.unwrap_or(0.0)),
            found: stragglers,
            together_us,
            jitter_us,
            ranks: own_of,
            events,
            event_count,
            event_ranks,
            events_us: all / steps.max(1) as f64,
            map: map(ranks),
        })
    }
}

/// Returns the name of a group for people.
fn name(job: &Job, division: &Division, group: &Standing) -> String {
    let gpu = |gpu: usize| job.gpus.get(gpu).map_or_else(|| format!("GPU {gpu}"), |gpu| gpu.name.clone());
    let first = group.gpus.first().copied().unwrap_or_default();
    match group.group {
        Group::Rank => gpu(first),
        Group::Node => job.node_names().get(first).cloned().unwrap_or_default(),
        Group::Stage => {
            let of = division.peers.iter().find(|peers| division.gpus(peers).any(|it| it == first));
            format!("stage {}", of.and_then(|peers| peers.stage).unwrap_or_default())
        }
    }
}

/// Returns the excess by GPU and step.
fn map(ranks: &[Option<Rank>]) -> ExcessMap {
    let last =
        ranks.iter().flatten().filter_map(|rank| rank.steps.last()).map(|it| it.0 as usize + 1).max().unwrap_or(0);
    let (steps_in_bin, gpus_in_row) = (last.div_ceil(COLUMNS).max(1), ranks.len().div_ceil(ROWS).max(1));
    let columns = last.div_ceil(steps_in_bin);
    let row = |ranks: &[Option<Rank>]| {
        let mut row = vec![f32::NAN; columns];
        for &(step, _, excess) in ranks.iter().flatten().flat_map(|rank| &rank.steps) {
            // NaN gives way to any number
            let bin = &mut row[step as usize / steps_in_bin];
            *bin = bin.max((excess / 1e3) as f32);
        }
        row.iter_mut().filter(|bin| bin.is_nan()).for_each(|bin| *bin = 0.0);
        row
    };
    ExcessMap {
        steps_in_bin: steps_in_bin as u64,
        gpus_in_row: gpus_in_row as u64,
        rows: ranks.chunks(gpus_in_row).map(row).collect(),
    }
}
