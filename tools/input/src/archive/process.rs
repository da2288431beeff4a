//! A process of an archive.

use super::{Sizes, lane};
use crate::otf2::reader::{Definitions, LocationGroup};
use report::job::Process;
use report::table::{About, MadeCommunicator};
use std::collections::{BTreeMap, BTreeSet};

/// Describes the location group at a place, with the ranks of its lanes; `None` if it has no lanes of operations.
pub(crate) fn about(definitions: &Definitions, place: usize, file: &str, sizes: &Sizes) -> Option<About> {
    let group = definitions.groups.get(place)?;
    let lanes = definitions.locations.iter().filter(|location| location.group == group.number);
    let ranks: BTreeSet<(u64, i32)> = lanes.filter_map(|location| lane::of_name(&location.name)).collect();
    let made = |&(comm, rank): &(u64, i32)| {
        let (nranks, nnodes, name) = sizes.by_id.get(&comm).cloned().unwrap_or_default();
        MadeCommunicator { comm: format!("{comm:016x}"), name, nranks, nnodes, rank, made: 0 }
    };
    let communicators = ranks.iter().map(made).collect();
    let process = describe(definitions, group, place, file);
    (!ranks.is_empty()).then_some(About { process, communicators, summary: None, conditions: vec![] })
}

/// Describes a location group. All processes of an archive are on its clock, so they have one `boot`.
fn describe(definitions: &Definitions, group: &LocationGroup, place: usize, file: &str) -> Process {
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
