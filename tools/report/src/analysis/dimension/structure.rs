//! Dimensions guessed from the communicators' structure.
//!
//! Communicators of one size and one stride whose rank sets partition the job are a **family**: the groups of one
//! dimension of a grid of ranks. What its members do, and how its stride compares, tells which:
//!
//! - sends and receives: PP; to all others: EP.
//! - collectives in neighbours on one node, at least twice as many as in the other family of collectives: TP, and the
//!   other is DP. If the neighbours' reduce-scatters are as large as the others' all-reduces, both are DP (a sharded
//!   model with replicas).
//! - collectives in one family alone that is no neighbours: DP.
//! - one communicator of all ranks and no family: DP if it reduces at least 1 MiB at a time.
//!
//! Everything else is ambiguous and stays unknown.

use super::tally::Tally;
use crate::analysis::fold::Merge;
use crate::job::Job;
use std::collections::{BTreeMap, BTreeSet};

/// Least mean bytes of reductions that gradients are taken to have.
const MIN_GRADIENT_BYTES: u64 = 1 << 20;
/// How many times as many operations as DP a rank has in TP, at least.
const MIN_TP_RATIO: u64 = 2;

/// A family of collectives with less than this part of another one's bytes is for control alone.
const CONTROL_RATIO: u64 = 1000;

/// A family.
#[derive(Debug)]
struct Family {
    stride: u32,
    size: usize,
    /// Places of its communicators.
    places: Vec<usize>,
    tally: Tally,
    /// Whether all of its communicators lie within a node each.
    within_node: bool,
}

/// Place of a communicator, and its ranks.
type PlacedRanks<'a> = (usize, &'a [u32]);

/// Returns guesses by place of the communicator. `ranks` has the sorted ranks in the job of each communicator.
pub(super) fn guess(
    job: &Job,
    positions: &[u32],
    ranks: &[Vec<u32>],
    tallies: &[Tally],
) -> BTreeMap<usize, &'static str> {
    let (world, families) = families(job, positions, ranks, tallies);
    let mut guesses = BTreeMap::new();
    let mut give = |family: &Family, name| guesses.extend(family.places.iter().map(|&place| (place, name)));
    if families.is_empty() {
        if let Some(world) = world.filter(|world| sums_gradients(&world.tally)) {
            give(&world, "DP");
        }
        return guesses;
    }
    let (messages, collectives): (Vec<_>, Vec<_>) = families.into_iter().partition(exchanges_most);
    for (wanted, name) in [(true, "EP"), (false, "PP")] {
        let found: Vec<&Family> = messages.iter().filter(|family| is_all_to_all(family) == wanted).collect();
        // one of two families of a kind serves something else
        if let [family] = found[..] {
            give(family, name);
        }
    }
    // sums of losses and norms over other groups
    let size = |family: &Family| family.tally.bytes();
    let most = collectives.iter().map(size).max().unwrap_or(0);
    let collectives: Vec<Family> =
        collectives.into_iter().filter(|family| size(family) >= most / CONTROL_RATIO).collect();
    match &collectives[..] {
        [one] if one.stride > 1 => give(one, "DP"),
        [near, far] if near.stride == 1 && far.stride > 1 => {
            if is_sharded(&near.tally, &far.tally) {
                give(near, "DP");
                give(far, "DP");
            } else if near.within_node && near.tally.collectives() >= MIN_TP_RATIO * far.tally.collectives() {
                give(near, "TP");
                give(far, "DP");
            }
        }
        _ => {}
    }
    guesses
}

/// Returns the communicators of all ranks, and the families in which something was done, by stride.
fn families(job: &Job, positions: &[u32], ranks: &[Vec<u32>], tallies: &[Tally]) -> (Option<Family>, Vec<Family>) {
    let mut of_shape: BTreeMap<(u32, usize), Vec<PlacedRanks<'_>>> = BTreeMap::new();
    for (place, (communicator, ranks)) in job.communicators.iter().zip(ranks).enumerate() {
        let stride = stride(ranks);
        if let Some(stride) = stride.filter(|_| communicator.is_whole() && tallies.get(place).is_some_and(is_used)) {
            of_shape.entry((stride, ranks.len())).or_default().push((place, ranks));
        }
    }
    let mut world = None;
    let mut families = vec![];
    for ((stride, size), members) in of_shape {
        // several communicators may have the same ranks
        let sets: BTreeSet<&[u32]> = members.iter().map(|(_, ranks)| *ranks).collect();
        let covered: BTreeSet<u32> = sets.iter().flat_map(|set| set.iter().copied()).collect();
        let all: BTreeSet<u32> = positions.iter().copied().collect();
        if sets.len() * size != positions.len() || covered != all {
            continue;
        }
        let places: Vec<usize> = members.iter().map(|(place, _)| *place).collect();
        let mut tally = Tally::default();
        places.iter().filter_map(|&place| tallies.get(place)).for_each(|other| tally.merge(other.clone()));
        let within_node = places.iter().all(|&place| is_within_node(job, place));
        let family = Family { stride, size, places, tally, within_node };
        if size == positions.len() { world = Some(family) } else { families.push(family) }
    }
    (world, families)
}

/// Returns the distance between neighbouring ranks of two or more, where all are equal.
fn stride(ranks: &[u32]) -> Option<u32> {
    let [first, second, ..] = ranks else { return None };
    let stride = second.checked_sub(*first).filter(|&stride| stride > 0)?;
    ranks.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(stride)).then_some(stride)
}

fn is_used(tally: &Tally) -> bool {
    tally.exchanges > 0 || tally.collectives() > 0
}

fn is_within_node(job: &Job, place: usize) -> bool {
    let members = job.communicators.get(place).map_or(&[][..], |communicator| &communicator.members[..]);
    let nodes: BTreeSet<_> = members.iter().filter_map(|member| job.gpus.get(member.gpu)).map(|gpu| gpu.node).collect();
    nodes.len() == 1
}

fn exchanges_most(family: &Family) -> bool {
    let all_to_all = family.tally.function("AlltoAll")[0];
    family.tally.exchanges + all_to_all > family.tally.collectives() - all_to_all
}

/// Of two ranks each exchange goes to every other rank, so a message to itself must show it.
fn is_all_to_all(family: &Family) -> bool {
    let tally = &family.tally;
    let sure = if family.size == 2 { tally.to_itself } else { tally.all_to_all };
    2 * (sure + tally.function("AlltoAll")[0]) > tally.exchanges + tally.function("AlltoAll")[0]
}

fn sums_gradients(tally: &Tally) -> bool {
    let [of_all, of_parts] = ["AllReduce", "ReduceScatter"].map(|function| tally.function(function));
    let (count, bytes) = (of_all[0] + of_parts[0], of_all[1].saturating_add(of_parts[1]));
    count > 0 && bytes / count >= MIN_GRADIENT_BYTES && tally.exchanges == 0
}

/// Returns whether the parts that the neighbours reduce have the mean size of what is reduced over replicas. They need
/// not be as many: gradients may be reduced over replicas once in several times.
fn is_sharded(near: &Tally, far: &Tally) -> bool {
    let ([parts, of_parts], [replicas, of_replicas]) = (near.function("ReduceScatter"), far.function("AllReduce"));
    let [one, other] = [(of_parts, replicas), (of_replicas, parts)].map(|(sum, by)| u128::from(sum) * u128::from(by));
    parts > 0 && replicas > 0 && one == other
}
