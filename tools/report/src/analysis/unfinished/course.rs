//! The collectives of a communicator in their order, and the first one in which ranks differ.

use crate::answer::Difference;
use crate::stream::Call;
use common::name::NcclName;
use std::collections::VecDeque;

/// Most collectives between the first and the last rank that are kept for comparison. A stream of CUDA's takes some
/// thousand launches ahead of the GPU, so that a rank is farther behind only if its data end early.
const KEPT: usize = 1 << 14;

/// A collective as ranks must agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AgreedCollective {
    function: NcclName,
    count: Option<u64>,
    datatype: NcclName,
}

impl AgreedCollective {
    fn of(call: &Call) -> Self {
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

/// The order of a communicator's collectives. It keeps those that some ranks have called and others have not.
#[derive(Debug, Clone)]
pub(super) struct Course {
    ranks: usize,
    kept: VecDeque<Called>,
    /// Place of the first one that is kept.
    first: u64,
    differs: Option<Difference>,
}

impl Course {
    /// Begins the course of a communicator of this many ranks.
    pub(super) fn new(ranks: usize) -> Self {
        Self { ranks, kept: VecDeque::new(), first: 0, differs: None }
    }

    /// Adds the collective of a rank at its place among those of the rank.
    pub(super) fn add(&mut self, place: u64, call: &Call) {
        let collective = AgreedCollective::of(call);
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
        while self.kept.len() > KEPT || self.kept.front().is_some_and(|called| called.ranks >= self.ranks) {
            self.kept.pop_front();
            self.first += 1;
        }
    }

    /// Returns the first collective in which ranks differ.
    pub(super) fn differs(&self) -> Option<Difference> {
        self.differs.clone()
    }
}

#[cfg(test)]
impl Course {
    /// Returns the number of collectives that are kept.
    pub(super) fn kept(&self) -> usize {
        self.kept.len()
    }
}
