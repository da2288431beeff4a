//! The communicators of an archive: their ranks, and the locations of those.

use super::records::{RankRecord, RecordKind};
use crate::archive::{Sizes, lane};
use crate::otf2::copy::{AddedCommunicator, Message};
use crate::otf2::reader::{ArchiveLocation, Definitions};
use common::name::{FUNCTIONS, NcclName};
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
        let mut communicators =
            Self { all: Vec::new(), ranks: Vec::new(), lanes: BTreeMap::new(), without_size: 0, ambiguous: 0 };
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
            let size = sizes.by_id.get(&comm).map_or(0, |(size, ..)| *size);
            communicators.without_size += usize::from(size <= 0);
            let first = |lanes: &Vec<&ArchiveLocation>| {
                lanes.iter().min_by_key(|lane| lane.name.len()).map_or(0, |lane| lane.number)
            };
            communicators.all.push(AddedCommunicator {
                id: comm,
                name: String::new(),
                locations: ranks.values().map(first).collect(),
                lanes: ranks.values().flatten().map(|lane| lane.number).collect(),
            });
            communicators.ranks.push((
                size.max(i32::try_from(ranks.len()).unwrap_or(i32::MAX)),
                ranks.keys().copied().zip(0..).collect(),
            ));
            for (rank, lanes) in ranks {
                communicators.lanes.extend(lanes.iter().map(|lane| (lane.number, (place, rank))));
            }
        }
        communicators
    }

    /// Takes their names, by id.
    pub(super) fn set_names(&mut self, mut names: BTreeMap<u64, String>) {
        for communicator in &mut self.all {
            let id = || format!("NCCL {:016x}", communicator.id);
            communicator.name = names.remove(&communicator.id).unwrap_or_else(id);
        }
    }

    /// Returns them as the archive shall have them.
    pub(super) fn all(&self) -> &[AddedCommunicator] {
        &self.all
    }

    /// Returns the numbers of their lanes, each with the place of its communicator, and its rank.
    pub(super) fn lanes(&self) -> impl Iterator<Item = (u64, (usize, i32))> {
        self.lanes.iter().map(|(lane, of)| (*lane, *of))
    }

    /// Returns the operations of communicators that are left out.
    pub(super) fn ambiguous(&self) -> u64 {
        self.ambiguous
    }

    /// Returns the place of a lane's communicator, and its rank.
    pub(super) fn rank_of(&self, lane: u64) -> Option<(usize, i32)> {
        self.lanes.get(&lane).copied()
    }

    /// Returns the first lanes of all ranks.
    pub(super) fn homes(&self) -> Vec<u64> {
        self.all.iter().flat_map(|communicator| &communicator.locations).copied().collect()
    }

    /// Returns the first lane of a rank of the communicator at `place`, on which its records are.
    pub(super) fn home_of(&self, place: usize, rank: i32) -> Option<u64> {
        let number = *self.ranks.get(place)?.1.get(&rank)?;
        self.all.get(place)?.locations.get(number as usize).copied()
    }

    /// Returns the name of the communicator at `place`.
    pub(super) fn name(&self, place: usize) -> &str {
        self.all.get(place).map_or("", |communicator| &communicator.name)
    }

    /// Returns the number of communicators whose number of ranks no summary says.
    pub(super) fn without_size(&self) -> usize {
        self.without_size
    }

    /// Returns the number of communicators with ranks that have no lane.
    pub(super) fn with_missing_ranks(&self) -> usize {
        self.ranks.iter().filter(|(size, ranks)| usize::try_from(*size).is_ok_and(|size| size > ranks.len())).count()
    }

    /// Returns a record of a rank of the communicator at `place` as OTF2 has it. `None` if it names a rank without a
    /// location, or if the root of a collective is not known.
    pub(super) fn message(&self, place: usize, rank: i32, record: &RankRecord) -> Option<Message> {
        let communicator = place;
        let (size, ranks) = self.ranks.get(place)?;
        let &RankRecord { bytes, other, function, kind, .. } = record;
        let of = |rank: i32| ranks.get(&rank).copied();
        let root = of(other).filter(|_| function.has_root());
        let operation = mpi_operation(function).filter(|_| root.is_some() || !function.has_root());
        Some(match kind {
            RecordKind::Send => Message::Send { communicator, to: of(other)?, bytes },
            RecordKind::Receive => Message::Receive { communicator, from: of(other)?, bytes },
            RecordKind::Begin => operation.map(|_| Message::Begin)?,
            RecordKind::End => {
                let (sent, received) = moved(function, bytes, *size, other == rank)?;
                Message::End { communicator, operation: operation?, root, sent, received }
            }
        })
    }
}

/// Returns the number of the MPI function that does the same as a collective of NCCL's, `OTF2_COLLECTIVE_OP_...`.
pub(super) fn mpi_operation(function: NcclName) -> Option<u8> {
    Some(match FUNCTIONS[function.function()?] {
        "Broadcast" => 1,
        "Gather" => 2,
        "Scatter" => 4,
        "AllGather" => 6,
        "AlltoAll" => 8,
        "AllReduce" => 11,
        "Reduce" => 12,
        // the same count for each rank: MPI_Reduce_scatter_block
        "ReduceScatter" => 16,
        _ => return None,
    })
}
