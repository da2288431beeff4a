//! A process of an archive.

use super::lane;
use crate::otf2::reader::{Definitions, LocationGroup};
use report::job::Process;
use std::collections::{BTreeMap, BTreeSet};

/// A rank of a communicator that a process has lanes of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ArchivedRank {
    /// Communicator.
    pub(crate) comm: u64,
    /// Rank.
    pub(crate) rank: i32,
}

/// Describes a location group. All processes of an archive are on its clock, so they have one `boot`.
pub(super) fn describe(definitions: &Definitions, group: &LocationGroup, place: usize, file: &str) -> Process {
    let end = definitions.nanoseconds(definitions.begin.saturating_add(definitions.length));
    // Score-P names location groups `MPI Rank 3`, `Process`; a replay's archive `train.r3`
    let number: String = group.name.chars().rev().take_while(char::is_ascii_digit).collect();
    let number: String = number.chars().rev().collect();
    Process {
        id: format!("{file}#{place}"),
        file: file.to_owned(),
        host: Some(group.node.clone()).filter(|node| !node.is_empty()),
        boot: Some(format!("{file}#clock")),
        rank: number.parse().ok().or_else(|| u32::try_from(place).ok()),
        ranks: None,
        pid: None,
        nccl: None,
        real0: definitions.real_time,
        mono0: 0,
        span: [0, end],
        dropped: 0,
        unfinished: 0,
        invisible: 0,
        complete: true,
        links: None,
        nccl_settings: BTreeMap::new(),
    }
}

/// Returns the ranks that the process has lanes of.
pub(super) fn ranks(definitions: &Definitions, group: u32) -> Vec<ArchivedRank> {
    let lanes = definitions.locations.iter().filter(|location| location.group == group);
    let ranks = lanes.filter_map(|location| lane::of_name(&location.name));
    let ranks: BTreeSet<ArchivedRank> = ranks.map(|(comm, rank)| ArchivedRank { comm, rank }).collect();
    ranks.into_iter().collect()
}
