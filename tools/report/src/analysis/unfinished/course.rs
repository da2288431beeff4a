//! The course of a communicator: the last operation of each rank, the collectives in their order, and the first one in
//! which ranks differ.

use crate::answer::Difference;
use crate::job::{Communicator, Member};
use crate::stream::{Call, CallKind};
use common::name::NcclName;
use std::collections::{BTreeMap, VecDeque};

/// Most collectives between the first and the last rank that are kept for comparison. A stream of CUDA's takes some
/// thousand launches ahead of the GPU, so that a rank is farther behind only if its data end early.
const MAX_KEPT: usize = 1 << 14;

/// A collective as ranks must agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AgreedCollective {
    function: NcclName,
    count: Option<u64>,
    datatype: NcclName,
}

impl AgreedCollective {
    fn called(call: &Call) -> Self {
        Self { function: call.function, count: call.count, datatype: call.datatype }
    }

    /// Returns whether the two are known to differ. Ranks of `AllGatherV` have counts of their own.
    fn differs(&self, other: &Self) -> bool {
        let is_known = |one: NcclName, other: NcclName| one != NcclName::none() && other != NcclName::none();
        let counts = self.count.zip(other.count).is_some_and(|(one, other)| one != other);
        self.function != other.function
            || (counts && self.function.text() != "AllGatherV")
            || (is_known(self.datatype, other.datatype) && self.datatype != other.datatype)
    }

    /// Returns it in words.
    fn text(&self) -> String {
        let function = self.function.text();
        let count = self.count.map(|count| count.to_string());
        let datatype = (self.datatype != NcclName::none()).then(|| self.datatype.text());
        let of: Vec<String> = count.into_iter().chain(datatype).collect();
        if of.is_empty() { function } else { format!("{function} of {}", of.join(" ")) }
    }
}

/// A collective with the first rank that called it, and the number of ranks that have.
#[derive(Debug, Clone, Copy)]
struct Called {
    collective: AgreedCollective,
    rank: i32,
    ranks: usize,
}

/// An operation by which people recognise where a rank stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand {
    pub(super) function: NcclName,
    pub(super) sequence: Option<u64>,
    pub(super) bytes: u64,
}

/// Where a rank stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RankCourse {
    pub(super) gpu: usize,
    pub(super) begun: u64,
    pub(super) ended: u64,
    pub(super) collectives: u64,
    pub(super) last_begun: Option<Stand>,
    pub(super) last_ended: Option<Stand>,
}

impl RankCourse {
    /// Returns whether an operation that it has begun has not ended.
    pub(super) fn waits(&self) -> bool {
        self.ended < self.begun
    }
}

/// The course of a communicator. It keeps the collectives that some ranks have called and others have not.
#[derive(Debug, Clone)]
pub(super) struct Course {
    pub(super) ranks: BTreeMap<i32, RankCourse>,
    kept: VecDeque<Called>,
    /// Place of the first one that is kept.
    first: u64,
    /// The first collective in which ranks differ.
    pub(super) differs: Option<Difference>,
}

impl Course {
    /// Begins the course of a communicator.
    pub(super) fn new(communicator: &Communicator) -> Self {
        let rank = |member: &Member| (member.rank, RankCourse { gpu: member.gpu, ..RankCourse::default() });
        let ranks = communicator.members.iter().map(rank).collect();
        Self { ranks, kept: VecDeque::new(), first: 0, differs: None }
    }

    /// Adds the next call of a rank.
    pub(super) fn call(&mut self, call: &Call) {
        let Some(rank) = self.ranks.get_mut(&call.rank) else { return };
        let sequence = call.sequence.map(|(number, _)| number);
        let stand = Some(Stand { function: call.function, sequence, bytes: call.bytes });
        rank.begun += 1;
        rank.last_begun = stand;
        if !call.unfinished {
            rank.ended += 1;
            rank.last_ended = stand;
        }
        if call.kind == CallKind::Collective {
            rank.collectives += 1;
            let place = rank.collectives - 1;
            self.add(place, call);
        }
    }

    /// Returns the number of collectives of the rank that has called most.
    pub(super) fn most(&self) -> u64 {
        self.ranks.values().map(|rank| rank.collectives).max().unwrap_or(0)
    }

    /// Adds the collective of a rank at its place among those of the rank.
    fn add(&mut self, place: u64, call: &Call) {
        let collective = AgreedCollective::called(call);
        // farther behind than what is kept: nothing to compare with
        let Some(kept) = place.checked_sub(self.first).and_then(|kept| usize::try_from(kept).ok()) else { return };
        if let Some(called) = self.kept.get_mut(kept) {
            called.ranks += 1;
            if collective.differs(&called.collective) && self.differs.as_ref().is_none_or(|first| place < first.order) {
                self.differs = Some(Difference {
                    order: place,
                    one: (called.rank, called.collective.text()),
                    other: (call.rank, collective.text()),
                });
            }
        } else {
            self.kept.push_back(Called { collective, rank: call.rank, ranks: 1 });
        }
        while self.kept.len() > MAX_KEPT || self.kept.front().is_some_and(|called| called.ranks >= self.ranks.len()) {
            self.kept.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
impl Course {
    /// Returns the number of collectives that are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }
}
