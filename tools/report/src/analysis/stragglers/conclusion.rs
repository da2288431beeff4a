//! What the report says of the ranks' costs.

use super::pauses::{self, Pauses};
use super::peers::Division;
use super::rank::RankSteps;
use super::rules::{self, least, least_gain};
use super::standing::{Deviations, StandingTogether};
use super::whatif::{MAX_MODEL_ERROR, WhatIf};
use crate::answer::{CostsWhen, ExcessMap, Part, RankGroup, RankOwn, Straggler, Stragglers};
use crate::job::Job;

/// How many times the least own time is gained at least where layers are divided anew, and the same where a stage has
/// so much more work than the others that it is no matter of hidden computations.
const STAGE_GAIN_FACTOR: f64 = 3.0;
const LONG_STAGE_LIMITS: (f64, f64) = (1.0, 0.25);
/// Columns and rows of the map at most.
const MAX_COLUMNS: usize = 200;
const MAX_ROWS: usize = 256;

impl WhatIf<'_> {
    #[expect(clippy::too_many_arguments, reason = "all that was found, once")]
    pub(super) fn answer(
        &self,
        job: &Job,
        division: &Division,
        ranks: &[Option<RankSteps>],
        measured: f64,
        mut found: Deviations,
        pauses: &Pauses,
        chronic: &[usize],
        (has_steps, all_steps): (bool, u64),
    ) -> Part<Stragglers> {
        let us = |nanoseconds: f64| nanoseconds / 1e3;
        let reenacted = self.scene.reenacted();
        let is_close = reenacted.filter(|it| (it / measured - 1.0).abs() <= MAX_MODEL_ERROR);
        found.standing.sort_by(|one, other| other.excess.total_cmp(&one.excess));
        let gain = |groups: &[&StandingTogether]| Some(us(is_close? - self.without(groups, 1.0)?));
        let pauses_alone =
            |group: &StandingTogether| group.peers == 0 && group.gpus.iter().all(|gpu| chronic.contains(gpu));
        // what no rank waits for makes no rank slow, unless a slower one hides it
        let all: Vec<StandingTogether> = found.standing.iter().take(rules::MAX_GROUPS).cloned().collect();
        let mut without_each: Vec<Option<f64>> = vec![];
        found.standing.retain(|it| {
            let is_hidden =
                || is_close.is_some() && self.hidden(&all, &it.gpus).is_some_and(|hidden| hidden >= least(measured));
            let (of_long, longer) = LONG_STAGE_LIMITS;
            let needs = match it.group {
                RankGroup::Stage if it.excess > longer * (it.own - it.excess) => of_long * least(measured),
                RankGroup::Stage => STAGE_GAIN_FACTOR * least(measured),
                _ => least_gain(measured),
            };
            // the re-enacted step may be shorter than the measured one
            let gains = |without: f64| reenacted.unwrap_or(measured).max(measured) - without >= needs;
            let without = is_close.and_then(|_| self.without(&[it], 1.0));
            let stays = without.is_none_or(gains) || !pauses_alone(it) && it.group != RankGroup::Stage && is_hidden();
            without_each.extend(stays.then_some(without));
            stays
        });
        let is_named = |gpu: &usize| found.standing.iter().any(|group| group.gpus.contains(gpu));
        let named: Vec<usize> = chronic.iter().copied().filter(is_named).collect();
        let slowness = |gpu: usize| match found.standing.iter().find(|group| group.gpus.contains(&gpu)) {
            Some(group) if pauses_alone(group) => f64::INFINITY,
            Some(group) => (group.excess / (group.own - group.excess).max(1.0)).max(0.0),
            None => 0.0,
        };
        let mut stragglers: Vec<Straggler> = vec![];
        for (number, (group, without)) in found.standing.iter().zip(without_each).enumerate() {
            let gain_us =
                is_close.zip(without).filter(|_| number < rules::MAX_GROUPS).map(|(all, without)| us(all - without));
            let pauses_alone = pauses_alone(group);
            let when = match &group.stretch {
                _ if pauses_alone => pauses.when(group.gpus[0]),
                Some(stretch) if stretch.end == u32::MAX => CostsWhen::Since(u64::from(stretch.start)),
                Some(stretch) => CostsWhen::Steps { from: stretch.start.into(), to: u64::from(stretch.end) - 1 },
                None => CostsWhen::Always,
            };
            let shares = self.shares(&group.gpus, pauses_alone);
            stragglers.push(Straggler {
                group: group.group,
                name: name(job, division, group),
                gpus: group.gpus.clone(),
                own_us: us(group.own),
                excess_us: us(group.excess),
                peers: group.peers as u64,
                z: group.z,
                gain_us,
                gain_least_us: gain_us,
                gain_most_us: gain_us,
                when,
                why: Self::why(shares),
                gpu_share: shares.map(|[_, gpu]| gpu),
                causes: None,
            });
        }
        // stages that have more work are another matter than ranks that are slow
        let ranks_alone = |it: &&StandingTogether| it.group != RankGroup::Stage;
        let mut together: Vec<&StandingTogether> = found.standing.iter().filter(ranks_alone).collect();
        if together.is_empty() {
            together = found.standing.iter().collect();
        }
        let together_us = (together.len() > 1).then(|| gain(&together)).flatten();
        let jitter_us = is_close.and_then(|step| Some(us(step - self.without_jitter()?).max(0.0)));
        let measured_times = |stretch: usize, call: usize| self.scene.owns[stretch].clocks(call);
        let without_transfers = || self.scene.play(&measured_times, &|_, _, _, _| 0);
        let unlimited_us = is_close.and_then(|_| without_transfers()).map(us);
        stragglers.sort_by(|one, other| other.gain_us.partial_cmp(&one.gain_us).unwrap_or(std::cmp::Ordering::Equal));
        let (mut events, event_ranks) = pauses.events_without(&named, &slowness);
        let event_count = events.len() as u64;
        let all: f64 = events.iter().map(|event| event.excess_us).sum();
        events.truncate(pauses::MAX_PAUSES_LISTED);
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
            unlimited_us,
            compared: found.is_compared.iter().filter(|is| **is).count() as u64,
            ranks: own_of,
            events,
            event_count,
            event_ranks,
            events_us: all / steps.max(1) as f64,
            stalls: pauses.stalls(all_steps),
            map: map(ranks),
        })
    }
}

/// Returns the name of a group for people.
fn name(job: &Job, division: &Division, group: &StandingTogether) -> String {
    let gpu = |gpu: usize| job.gpus.get(gpu).map_or_else(|| format!("GPU {gpu}"), |gpu| gpu.name.clone());
    let first = group.gpus.first().copied().unwrap_or_default();
    match group.group {
        RankGroup::Rank => gpu(first),
        RankGroup::Node => job.node_names().get(first).cloned().unwrap_or_default(),
        RankGroup::Stage => {
            let of = division.peers.iter().find(|peers| division.gpus(peers).any(|it| it == first));
            format!("stage {}", of.and_then(|peers| peers.stage).unwrap_or_default())
        }
    }
}

/// Returns the excess by GPU and step.
fn map(ranks: &[Option<RankSteps>]) -> ExcessMap {
    let last =
        ranks.iter().flatten().filter_map(|rank| rank.steps.last()).map(|it| it.0 as usize + 1).max().unwrap_or(0);
    let (steps_in_bin, gpus_in_row) = (last.div_ceil(MAX_COLUMNS).max(1), ranks.len().div_ceil(MAX_ROWS).max(1));
    let columns = last.div_ceil(steps_in_bin);
    let row = |ranks: &[Option<RankSteps>]| {
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
