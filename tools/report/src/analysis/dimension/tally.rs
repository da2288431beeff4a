//! What is done in a communicator.

use crate::analysis::fold::merge_fields;
use common::name::NcclName;
use std::collections::BTreeMap;

/// Operations of all ranks of a communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number and bytes of the collectives by function.
    pub collectives: BTreeMap<NcclName, [u64; 2]>,
    /// Number of exchanges: sends and receives of one group.
    pub exchanges: u64,
    /// Those of `exchanges` that go to every other rank.
    pub all_to_all: u64,
    /// Those of `exchanges` in which a rank sends to itself, as an all-to-all does.
    pub to_itself: u64,
}

impl Tally {
    /// Returns the number of collectives.
    pub fn collectives(&self) -> u64 {
        self.collectives.values().map(|[count, _]| count).sum()
    }

    /// Returns the bytes of the collectives.
    pub fn bytes(&self) -> u64 {
        self.collectives.values().fold(0, |sum, [_, bytes]| sum.saturating_add(*bytes))
    }

    /// Returns the number and the bytes of the collectives of a function.
    pub fn function(&self, text: &str) -> [u64; 2] {
        self.collectives.iter().find(|(name, _)| name.text() == text).map_or([0; 2], |(_, of)| *of)
    }
}

merge_fields!(Tally: collectives, exchanges, all_to_all, to_itself;);
