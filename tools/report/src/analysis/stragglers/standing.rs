//! Who is an outlier: a rank among its peers, all ranks of a node, a stage of a pipeline.
//!
//! A rank is an outlier if its own time a step is longer than that of its peers by more than 1 % of a step and 10 us,
//! and by more than five times the larger of two deviations: of the ranks from each other (1.4826 x MAD over all ranks
//! that have peers) and of its own median over the steps. Below five ranks, the deviation is that of the rank's peers
//! from each other, at least 1 % of the own time; of two ranks it is unknown, and 2 % of the own time stands for it.
//! Then fewer than five steps say nothing. The time by which it is an outlier says nothing yet of the gain of a step.

use super::owns::MIN_STEPS;
use super::peers::Division;
use super::rank::{ExcessStretch, RankSteps};
use super::rules::{
    MIN_DEVIATION_OF_FEW, MIN_EXCESS_SHARE, MIN_NODE_SHARE, MIN_RANKS, MIN_Z, UNKNOWN_DEVIATION, least,
};
use crate::analysis::robust::{NORMAL, median, median_of, spread};
use crate::answer::RankGroup;
use crate::job::Job;
use std::collections::BTreeMap;
use std::ops::Range;

/// Share of an excess that has come with a change, from which on it is there since the change.
const MIN_CHANGE_SHARE: f64 = 0.5;

/// Ranks that are outliers together.
#[derive(Debug, Clone)]
pub(super) struct StandingTogether {
    pub(super) group: RankGroup,
    pub(super) gpus: Vec<usize>,
    /// Mean own time and excess of its ranks, nanoseconds a step.
    pub(super) own: f64,
    pub(super) excess: f64,
    pub(super) z: f64,
    pub(super) peers: usize,
    /// Steps of the excess, where it is not always there; without an end up to the last one.
    pub(super) stretch: Option<Range<u32>>,
    /// Stages have no peers at single places: the usual own time of the others over this one's, without and with the
    /// time in which they may compute unseen.
    pub(super) others: Option<[f64; 2]>,
}

impl StandingTogether {
    /// Returns a rank that is an outlier in all steps.
    pub(super) fn rank(gpu: usize, [own, excess, z]: [f64; 3], peers: usize) -> Self {
        Self { group: RankGroup::Rank, gpus: vec![gpu], own, excess, z, peers, stretch: None, others: None }
    }

    /// Returns the same against others that compute nothing unseen.
    pub(super) fn against_seen(&self) -> Self {
        Self { others: self.others.map(|[seen, _]| [seen; 2]), ..self.clone() }
    }
}

/// What is known of a rank that may be an outlier.
#[derive(Debug)]
struct Candidate {
    gpu: usize,
    peers: usize,
    own: f64,
    excess: f64,
    error: f64,
    stretch: Option<Range<u32>>,
    steps: usize,
    /// Deviation of its peers from each other, of two or three peers: of more, that of all ranks is known.
    of_peers: Option<f64>,
    /// Whether its peers fall into a faster and a slower part.
    is_halved: bool,
}

/// Deviations of the excess, by GPU, and those that are outliers.
#[derive(Debug, Default)]
pub(super) struct Deviations {
    pub(super) standing: Vec<StandingTogether>,
    /// Robust z of each GPU with peers.
    pub(super) z: Vec<Option<f64>>,
    /// Whether each GPU was compared with others.
    pub(super) is_compared: Vec<bool>,
}

/// Finds who is an outlier. `step` is the mean length of a step, nanoseconds; `unseen` has the time of a step in which
/// the ranks of each program may compute unseen.
pub(super) fn standing(
    job: &Job,
    division: &Division,
    ranks: &[Option<RankSteps>],
    step: f64,
    unseen: &[f64],
) -> Deviations {
    let mut candidates: Vec<Candidate> = vec![];
    for peers in division.peers.iter().filter(|peers| peers.members.len() > 1) {
        let gpus: Vec<usize> = division.gpus(peers).filter(|&gpu| ranks[gpu].is_some()).collect();
        let of = |gpu: &usize| ranks[*gpu].as_ref().map(|rank| (*gpu, rank));
        let known: Vec<&RankSteps> = gpus.iter().filter_map(of).map(|(_, rank)| rank).collect();
        let half = faster_half(&known, step);
        let middle = half.unwrap_or_else(|| median_of(known.iter().map(|rank| rank.excess)));
        let others = |gpu: usize| {
            let others = gpus.iter().filter_map(of).filter(|(other, _)| *other != gpu);
            others.map(|(_, rank)| rank.excess).collect::<Vec<f64>>()
        };
        for (gpu, rank) in gpus.iter().filter_map(of) {
            // a small change is not worth a word
            let is_slow = |it: &ExcessStretch| {
                it.inside - middle > least(step) && it.inside - it.outside > MIN_CHANGE_SHARE * (it.inside - middle)
            };
            let stretch = rank.stretch().filter(is_slow);
            candidates.push(Candidate {
                gpu,
                peers: gpus.len() - 1,
                own: stretch.map_or(rank.own, |it| it.own),
                excess: stretch.map_or(rank.excess, |it| it.inside) - middle,
                error: rank.error,
                stretch: stretch.map(|it| it.from..it.until.unwrap_or(u32::MAX)),
                steps: rank.steps.len(),
                of_peers: (3..MIN_RANKS).contains(&gpus.len()).then(|| spread(&others(gpu))[1]),
                is_halved: half.is_some(),
            });
        }
    }
    let deviation = deviation(&candidates);
    let mut found = Deviations { standing: vec![], z: vec![None; ranks.len()], is_compared: vec![false; ranks.len()] };
    for candidate in &candidates {
        let z = candidate.excess / scale(candidate, deviation);
        (found.z[candidate.gpu], found.is_compared[candidate.gpu]) = (Some(z), true);
        if z > MIN_Z
            && candidate.excess > least(step)
            && (candidates.len() >= MIN_RANKS || candidate.steps >= MIN_STEPS)
        {
            let rank = StandingTogether::rank(candidate.gpu, [candidate.own, candidate.excess, z], candidate.peers);
            found.standing.push(StandingTogether { stretch: candidate.stretch.clone(), ..rank });
        }
    }
    by_clocks(&candidates, ranks, step, &mut found.standing);
    nodes(job, &candidates, step, &mut found.standing);
    stages(division, ranks, step, unseen, &mut found);
    found
}

/// Finds ranks whose host, or whose GPU, is an outlier alone: where ranks wait for different things, another clock
/// keeps each call of theirs, and their own times say little.
fn by_clocks(candidates: &[Candidate], ranks: &[Option<RankSteps>], step: f64, standing: &mut Vec<StandingTogether>) {
    for clock in [0, 1] {
        let of_clock = |candidate: &Candidate| {
            let rank = ranks[candidate.gpu].as_ref()?;
            let sum = |of: &[[f64; 2]]| of.iter().map(|times| times[clock]).sum::<f64>();
            Some((sum(&rank.clocks_by_place), sum(&rank.excess_of_clocks)))
        };
        let mut distances: Vec<f64> = candidates.iter().filter_map(of_clock).map(|(_, excess)| excess.abs()).collect();
        if distances.len() < MIN_RANKS {
            continue;
        }
        let deviation = NORMAL * median(&mut distances);
        for candidate in candidates.iter().filter(|it| it.steps >= MIN_STEPS && !it.is_halved) {
            let Some((own, excess)) = of_clock(candidate) else { continue };
            let z = excess / deviation.max(candidate.error).max(1.0);
            let is_known = standing.iter().any(|known| known.gpus.contains(&candidate.gpu));
            if z > MIN_Z && excess > least(step) && !is_known {
                standing.push(StandingTogether::rank(candidate.gpu, [own.min(step), excess, z], candidate.peers));
            }
        }
    }
}

/// Returns the median excess of the faster part of some peers, where they fall into two parts: the distance between
/// both is more than 1 % of a step, and more than five times the spread within the faster part and the errors. The
/// slower part is at most half of them. Their common median would lie between both.
fn faster_half(ranks: &[&RankSteps], step: f64) -> Option<f64> {
    let mut sorted: Vec<&RankSteps> = ranks.to_vec();
    sorted.sort_unstable_by(|one, other| one.excess.total_cmp(&other.excess));
    let gap = |at: usize| sorted[at].excess - sorted[at - 1].excess;
    let at = (sorted.len().div_ceil(2)..sorted.len()).max_by(|&one, &other| gap(one).total_cmp(&gap(other)))?;
    let (fast, _) = sorted.split_at(at);
    let [middle, within] = spread(&fast.iter().map(|rank| rank.excess).collect::<Vec<f64>>());
    let error = sorted.iter().map(|rank| rank.error).fold(within, f64::max);
    let is_apart = fast.len() > 1 && gap(at) > (MIN_Z * error).max(MIN_EXCESS_SHARE * step);
    (is_apart && 2 * at == sorted.len()).then_some(middle)
}

/// Returns the ranks' deviation from each other, where it is known.
fn deviation(candidates: &[Candidate]) -> Option<f64> {
    let mut distances: Vec<f64> = candidates.iter().filter(|it| !it.is_halved).map(|it| it.excess.abs()).collect();
    (distances.len() >= MIN_RANKS).then(|| NORMAL * median(&mut distances))
}

fn scale(candidate: &Candidate, deviation: Option<f64>) -> f64 {
    let deviation = deviation.or_else(|| candidate.is_halved.then_some(0.0));
    let of_few = candidate.of_peers.map(|deviation| deviation.max(MIN_DEVIATION_OF_FEW * candidate.own));
    deviation.or(of_few).unwrap_or(UNKNOWN_DEVIATION * candidate.own).max(candidate.error).max(1.0)
}

/// Puts ranks of a node that are outliers together in one, and finds nodes all of whose ranks are later than those of
/// the other nodes: where these are half of all, no rank is an outlier among its peers.
fn nodes(job: &Job, candidates: &[Candidate], step: f64, standing: &mut Vec<StandingTogether>) {
    let mut by_node: BTreeMap<usize, Vec<&Candidate>> = BTreeMap::new();
    for candidate in candidates {
        if let Some(gpu) = job.gpus.get(candidate.gpu) {
            by_node.entry(gpu.node).or_default().push(candidate);
        }
    }
    by_node.retain(|_, of_node| of_node.len() > 1);
    if by_node.len() < 2 {
        return;
    }
    let of_node = |of: &[&Candidate]| median_of(of.iter().map(|it| it.excess));
    let medians: BTreeMap<usize, f64> = by_node.iter().map(|(&node, of)| (node, of_node(of))).collect();
    let mut sorted: Vec<f64> = medians.values().copied().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    // of two nodes, the faster one is the measure
    let usual = sorted[(sorted.len() - 1) / 2];
    let within = by_node.iter().flat_map(|(node, of)| of.iter().map(|it| (it.excess - medians[node]).abs()));
    let within = NORMAL * median_of(within);
    for (node, of) in &by_node {
        let is_out = |it: &&&Candidate| standing.iter().any(|known| known.gpus == [it.gpu]);
        let out = of.iter().filter(is_out).count() as f64;
        let excess = medians[node] - usual;
        let scale = of.iter().map(|it| it.error).fold(within, f64::max).max(1.0);
        let is_slow = out >= MIN_NODE_SHARE * of.len() as f64 && out >= 2.0;
        if !is_slow && (excess <= least(step) || excess / scale <= MIN_Z || out > 0.0) {
            continue;
        }
        let gpus: Vec<usize> = of.iter().map(|it| it.gpu).collect();
        let z = standing.iter().filter(|it| it.gpus.iter().all(|gpu| gpus.contains(gpu))).map(|it| it.z);
        let z = z.fold(excess / scale, f64::max);
        // a rank may be an outlier by one of its clocks alone
        let of_rank = |it: &&Candidate| {
            let known = standing.iter().find(|known| known.gpus == [it.gpu]);
            known.map_or([it.own, it.excess], |known| [it.own, known.excess.max(it.excess)])
        };
        let sums = of.iter().map(of_rank).fold([0.0; 2], |sums, it| [sums[0] + it[0], sums[1] + it[1]]);
        let [own, excess] = sums.map(|sum| sum / of.len() as f64);
        standing.retain(|it| !it.gpus.iter().all(|gpu| gpus.contains(gpu)));
        standing.push(StandingTogether {
            group: RankGroup::Node,
            own,
            excess: excess - usual,
            z,
            peers: candidates.len() - of.len(),
            stretch: of.iter().map(|it| it.stretch.clone()).min_by_key(|it| it.as_ref().map(|it| it.start)).flatten(),
            gpus,
            others: None,
        });
    }
}

/// Finds stages of a pipeline whose own times are longer than those of the other stages, in whole, whatever these
/// compute unseen. A stage that runs the same program does that in the same places, as this one does.
fn stages(division: &Division, ranks: &[Option<RankSteps>], step: f64, unseen: &[f64], found: &mut Deviations) {
    let mut unseen_of: BTreeMap<i32, BTreeMap<usize, f64>> = BTreeMap::new();
    let mut by_stage: BTreeMap<i32, Vec<(usize, &RankSteps)>> = BTreeMap::new();
    for peers in &division.peers {
        let Some(stage) = peers.stage else { continue };
        unseen_of.entry(stage).or_default().insert(peers.program, unseen[peers.program]);
        // a rank that is an outlier among its peers is later than its stage
        let is_alone = |gpu: &usize| !found.standing.iter().any(|known| known.gpus.contains(gpu));
        let known = division.gpus(peers).filter(is_alone).filter_map(|gpu| Some((gpu, ranks[gpu].as_ref()?)));
        by_stage.entry(stage).or_default().extend(known);
    }
    by_stage.retain(|_, of| !of.is_empty());
    if by_stage.len() < 2 {
        return;
    }
    let own = |of: &[(usize, &RankSteps)]| median_of(of.iter().map(|(_, rank)| rank.own));
    let owns: BTreeMap<i32, f64> = by_stage.iter().map(|(&stage, of)| (stage, own(of))).collect();
    for (stage, of) in &by_stage {
        let others = owns.iter().filter(|(other, _)| *other != stage);
        let own_programs = &unseen_of[stage];
        let unseen = |other: &i32| {
            let elsewhere = unseen_of[other].iter().filter(|(program, _)| !own_programs.contains_key(*program));
            elsewhere.map(|(_, unseen)| *unseen).fold(0.0, f64::max)
        };
        let (others, most): (Vec<f64>, Vec<f64>) = others.map(|(other, own)| (*own, own + unseen(other))).unzip();
        let [seen, apart] = spread(&others);
        let usual = median(&mut most.clone());
        let excess = owns[stage] - usual;
        let error = median_of(of.iter().map(|(_, rank)| rank.error));
        let scale = if others.len() > 1 { apart.max(MIN_DEVIATION_OF_FEW * usual) } else { UNKNOWN_DEVIATION * usual };
        let z = excess / scale.max(error).max(1.0);
        let steps = of.iter().map(|(_, rank)| rank.steps.len()).min().unwrap_or(0);
        of.iter().for_each(|(gpu, _)| found.is_compared[*gpu] = true);
        if z <= MIN_Z || excess <= least(step) || steps < MIN_STEPS {
            continue;
        }
        // where most ranks of a stage are slow, the others are as those of the other stages
        let slow: Vec<&(usize, &RankSteps)> = of.iter().filter(|(_, rank)| rank.own - usual > excess / 2.0).collect();
        let standing = |group: RankGroup, gpus: Vec<usize>, own: f64, peers: usize| StandingTogether {
            group,
            own,
            excess: own - usual,
            z,
            peers,
            stretch: None,
            others: Some([seen / own, usual / own]),
            gpus,
        };
        if slow.len() == of.len() {
            let gpus = of.iter().map(|(gpu, _)| *gpu).collect();
            found.standing.push(standing(RankGroup::Stage, gpus, owns[stage], owns.len() - 1));
        } else {
            let peers = of.len() - slow.len();
            found
                .standing
                .extend(slow.iter().map(|(gpu, rank)| standing(RankGroup::Rank, vec![*gpu], rank.own, peers)));
        }
    }
}
