//! Names of an archive's communicators for people.

use super::heard::{Heard, HeardOperation};
use crate::archive::{self, Sizes};
use crate::otf2::copy::AddedCommunicator;
use crate::otf2::reader::Definitions;
use present::names::{digits, own_names};
use report::analysis::communicators::members;
use report::analysis::dimension::{Dimensions, Tally};
use report::job::{Communicator, Job};
use report::table::{About, assemble};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the name of each communicator, by id: its own one; `world` for the only one of all ranks; its dimension with
/// its number in it (`TP 2 of 4`); or the first digits of its id.
pub(super) fn of(
    definitions: &Definitions,
    sizes: &Sizes,
    communicators: &[AddedCommunicator],
    heard: &Heard,
) -> BTreeMap<u64, String> {
    let about = |place| archive::about(definitions, place, "", sizes);
    let mut abouts: Vec<About> = (0..definitions.groups.len()).filter_map(about).collect();
    abouts.sort_by_key(|about| about.process.rank);
    // an archive has one clock, also if its processes are on several machines
    abouts.iter_mut().for_each(|about| about.process.boot = None);
    let (job, _) = assemble(&abouts);
    let mut by_structure = BTreeMap::new();
    // a part of a job has another structure
    if sizes.largest.is_some_and(|ranks| ranks <= job.gpus.len()) {
        let mut tallies = vec![Tally::default(); job.communicators.len()];
        // nobody knows which messages without a GPU time are one exchange
        let is_known = |it: &HeardOperation| it.is_timed || !it.is_message();
        let are_known = heard.values().flat_map(BTreeMap::values).flatten().all(is_known);
        for (&place, ranks) in heard.iter().filter(|_| are_known) {
            let place = communicators.get(place).and_then(|it| job.places.get(&it.id));
            if let Some(found) = place.and_then(|&place| tallies.get_mut(place)) {
                *found = tally(ranks);
            }
        }
        by_structure = numbered(&job, &Dimensions::find(&job, &[], &tallies));
        let mut worlds = job.communicators.iter().filter(|it| it.is_whole() && it.members.len() == job.gpus.len());
        if let (Some(world), None) = (worlds.next(), worlds.next()) {
            by_structure.insert(world.comm, "world".into());
        }
    }
    let ranks = job.ranks();
    let members: Vec<String> = job.communicators.iter().map(|it| members(it, ranks.as_deref())).collect();
    let own = own_names(job.communicators.iter().zip(&members).map(|(it, members)| (&*it.name, &**members)));
    let ids: Vec<String> = job.communicators.iter().map(|it| format!("{:016x}", it.comm)).collect();
    let digits = digits(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let text = |((made, own), id): ((&Communicator, Option<String>), &String)| {
        let name = own.or_else(|| by_structure.remove(&made.comm));
        (made.comm, name.unwrap_or_else(|| format!("NCCL {}", id.get(..digits).unwrap_or(id))))
    };
    job.communicators.iter().zip(own).zip(&ids).map(text).collect()
}

/// Returns the dimension of each communicator with a known one, with its number in the order of the ranks.
fn numbered(job: &Job, dimensions: &Dimensions) -> BTreeMap<u64, String> {
    let mut by_dimension: BTreeMap<&str, Vec<(Option<usize>, u64)>> = BTreeMap::new();
    for (place, made) in job.communicators.iter().enumerate().filter(|(place, _)| dimensions.number(*place) > 0) {
        let first = made.members.iter().map(|member| member.gpu).min();
        by_dimension.entry(dimensions.name_of(place)).or_default().push((first, made.comm));
    }
    by_dimension.values_mut().for_each(|all| all.sort_unstable());
    let text = |(name, all): (&str, Vec<(Option<usize>, u64)>)| {
        let (name, count) = (name.to_owned(), all.len());
        (1..).zip(all).map(move |(number, (_, comm)): (usize, _)| (comm, format!("{name} {number} of {count}")))
    };
    by_dimension.into_iter().flat_map(text).collect()
}

/// Returns the operations of a communicator's ranks. Sends and receives with one time share a kernel: they are one
/// exchange.
fn tally(ranks: &BTreeMap<i32, Vec<HeardOperation>>) -> Tally {
    let mut tally = Tally::default();
    for (&own, operations) in ranks {
        let (messages, collectives): (Vec<&HeardOperation>, Vec<_>) = operations.iter().partition(|it| it.is_message());
        for operation in collectives {
            let [count, bytes] = tally.collectives.entry(operation.function).or_default();
            (*count, *bytes) = (*count + 1, bytes.saturating_add(operation.bytes));
        }
        for exchange in messages.chunk_by(|one, next| (one.begin, one.end) == (next.begin, next.end)) {
            let others = |is_send| exchange.iter().filter(move |it| it.is_send() == is_send && it.other != own);
            let is_full =
                |is_send| others(is_send).map(|it| it.other).collect::<BTreeSet<_>>().len() + 1 == ranks.len();
            tally.exchanges += 1;
            tally.all_to_all += u64::from(ranks.len() > 1 && is_full(true) && is_full(false));
            tally.to_itself += u64::from(exchange.iter().any(|it| it.other == own));
        }
    }
    tally
}
