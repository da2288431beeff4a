//! The communicators of an archive: their ranks, and the locations of those.

use super::speaker::SpokenMoment;
use crate::archive::{Sizes, lane};
use crate::otf2::copy::{AddedCommunicator, Message};
use crate::otf2::reader::{ArchiveLocation, Definitions};
use common::operation::moved;
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Debug)]
pub(super) struct Communicators {
    all: Vec<AddedCommunicator>,
    /// Number of ranks of each, and their places in its list of locations.
    ranks: Vec<(i32, BTreeMap<i32, u32>)>,
    /// Communicator and rank of each lane.
    lanes: BTreeMap<u64, (usize, i32)>,
    /// The first lane of their rank, for further lanes in a process that has several ranks of the communicator: such a
    /// lane's process does not say whose it is.
    homes: BTreeMap<u64, u64>,
    /// Communicators whose number of ranks no summary says.
    without_size: usize,
    /// Events of communicators that two processes have the same rank of, by three: operations.
    ambiguous: u64,
}

impl Communicators {
    /// Finds them by the names of the lanes. A rank's location is its first lane.
    pub(super) fn of(definitions: &Definitions, sizes: &Sizes) -> Self {
        let mut found: BTreeMap<u64, BTreeMap<i32, Vec<&ArchiveLocation>>> = BTreeMap::new();
        let with_events = definitions.locations.iter().filter(|location| location.is_stream && location.events > 0);
        for location in with_events {
            if let Some((comm, rank)) = lane::of_name(&location.name) {
                found.entry(comm).or_default().entry(rank).or_default().push(location);
            }
        }
        let mut communicators = Self {
            all: Vec::new(),
            ranks: Vec::new(),
            lanes: BTreeMap::new(),
            homes: BTreeMap::new(),
            without_size: 0,
            ambiguous: 0,
        };
        for (comm, ranks) in found {
            let groups =
                |lanes: &Vec<&ArchiveLocation>| lanes.iter().map(|lane| lane.group).collect::<BTreeSet<_>>().len();
            if ranks.values().any(|lanes| groups(lanes) > 1) {
                // two jobs in one archive: nobody knows which rank a message of either goes to
                let events: u64 = ranks.values().flatten().map(|lane| lane.events).sum();
                communicators.ambiguous += events / 3;
                continue;
            }
            let place = communicators.all.len();
            let (size, _, name) = sizes.get(&comm).cloned().unwrap_or_default();
            communicators.without_size += usize::from(size <= 0);
            let name = [format!("NCCL {comm:016x}"), name].join(" ").trim_end().to_owned();
            let first = |lanes: &Vec<&ArchiveLocation>| {
                lanes.iter().min_by_key(|lane| lane.name.len()).map_or(0, |lane| lane.number)
            };
            communicators.all.push(AddedCommunicator { name, locations: ranks.values().map(first).collect() });
            communicators.ranks.push((
                size.max(i32::try_from(ranks.len()).unwrap_or(i32::MAX)),
                ranks.keys().copied().zip(0..).collect(),
            ));
            let mut in_process: BTreeMap<u32, usize> = BTreeMap::new();
            // all lanes of a rank are in one process
            let process = |lanes: &Vec<&ArchiveLocation>| lanes.first().map(|lane| lane.group).unwrap_or_default();
            ranks.values().for_each(|lanes| *in_process.entry(process(lanes)).or_default() += 1);
            for (rank, lanes) in ranks {
                if in_process.get(&process(&lanes)).is_some_and(|ranks| *ranks > 1) {
                    let home = first(&lanes);
                    let others = lanes.iter().map(|lane| lane.number).filter(|lane| *lane != home);
                    communicators.homes.extend(others.map(|lane| (lane, home)));
                }
                communicators.lanes.extend(lanes.iter().map(|lane| (lane.number, (place, rank))));
            }
        }
        communicators
    }

    /// Returns them as the archive shall have them.
    pub(super) fn all(&self) -> &[AddedCommunicator] {
        &self.all
    }

    /// Returns the numbers of their lanes.
    pub(super) fn lanes(&self) -> impl Iterator<Item = u64> {
        self.lanes.keys().copied()
    }

    /// Returns the operations of communicators that are left out.
    pub(super) fn ambiguous(&self) -> u64 {
        self.ambiguous
    }

    /// Returns the place of a lane's communicator, and its rank.
    pub(super) fn rank_of(&self, lane: u64) -> Option<(usize, i32)> {
        self.lanes.get(&lane).copied()
    }

    /// Returns the lane that gets the records of a lane, if it is another one.
    pub(super) fn home_of(&self, lane: u64) -> Option<u64> {
        self.homes.get(&lane).copied()
    }

    /// Returns the number of communicators whose number of ranks no summary says.
    pub(super) fn without_size(&self) -> usize {
        self.without_size
    }

    /// Returns the number of communicators with ranks that have no lane.
    pub(super) fn with_missing_ranks(&self) -> usize {
        self.ranks.iter().filter(|(size, ranks)| usize::try_from(*size).is_ok_and(|size| size > ranks.len())).count()
    }

    /// Returns the record of a moment of a rank of the communicator at `place`. `None` if it names a rank without a
    /// location, or if the root of a collective is not known.
    pub(super) fn message(&self, place: usize, rank: i32, said: &SpokenMoment) -> Option<Message> {
        let communicator = place;
        let (size, ranks) = self.ranks.get(place)?;
        let of = |rank: i32| ranks.get(&rank).copied();
        Some(match *said {
            SpokenMoment::Send { to, bytes } => Message::Send { communicator, to: of(to)?, bytes },
            SpokenMoment::Receive { from, bytes } => Message::Receive { communicator, from: of(from)?, bytes },
            SpokenMoment::Begin { collective, root } => {
                root.and_then(of).or((!collective.function.has_root()).then_some(0))?;
                Message::Begin
            }
            SpokenMoment::End { collective, root, bytes } => {
                let place = root.and_then(of);
                place.or((!collective.function.has_root()).then_some(0))?;
                let (sent, received) = moved(collective.function, bytes, *size, root == Some(rank))?;
                Message::End { communicator, operation: collective.number, root: place, sent, received }
            }
        })
    }
}
