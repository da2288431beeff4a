//! The job summary: what all processes have measured, brought together on the first one.
//!
//! Each process sends its summary and when its ranks began their collectives, in so many bytes as the setting allows, and all
//! together no more than the first process can hold. What does not fit is left out, and told.

use crate::ipc::{Ipc, IpcError};
use crate::node_clocks::Nodes;
use common::arrivals::{Arrivals, RankArrivals};
use common::clock_tree::{ClockTree, Link};
use common::lateness::{self, ProcessArrivals};
use common::summary::{Clocks, Summary};
use common::timeline::{Clocked, Entry, History};
use serde::{Deserialize, Serialize};

/// What the first process takes of all others together, bytes.
const MOST: usize = 256 << 20;
/// Where the arrivals begin in a part: behind the length of what comes before them.
const HEAD: usize = size_of::<u64>();

/// What a process sends, but for its arrivals.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Part {
    summary: Option<Summary>,
    link: Option<Link>,
    nanoseconds_per_tick: f64,
}

/// When this process' ranks began the collectives that the GPU has timed: for the others nobody knows.
pub(crate) fn arrivals(history: &History) -> Arrivals {
    let timed = |entry: &&Entry| entry.clocked == Clocked::Gpu && entry.peer < 0;
    let ranks = history.ranks.iter().enumerate().map(|(place, rank)| {
        let times = history.of(place).iter().filter(timed).map(|entry| (entry.function, entry.sequence, entry.start));
        RankArrivals::new(rank.rank, rank.error.unwrap_or(f64::INFINITY), times)
    });
    Arrivals { ranks: ranks.collect(), one_in: 1 }
}

/// Every process of the run calls this at the same time. Gives the job summary on the first one.
///
/// # Errors
/// When Score-P's communication fails.
pub(crate) fn gather(
    ipc: Ipc<'_>,
    nodes: &Nodes,
    summary: Option<Summary>,
    history: Option<&History>,
    most: usize,
) -> Result<Option<Summary>, IpcError> {
    let link = nodes.part(ipc)?;
    let share = most.min(MOST / ipc.size());
    let nanoseconds_per_tick = history.map_or(1.0, |history| history.nanoseconds_per_tick);
    let part = Part { summary, link: Some(link), nanoseconds_per_tick };
    let mut bytes = fit(part, share);
    let mut arrivals = history.map(arrivals).unwrap_or_default();
    let one_in = ipc.greatest(arrivals.one_in_for(share.saturating_sub(bytes.len())))?;
    arrivals.thin(one_in);
    bytes.extend(arrivals.encode());
    let parts = ipc.gather(&bytes)?;
    Ok((ipc.rank() == 0).then(|| merge(&parts, nodes.count())))
}

/// As much of a part as fits: rows of channels go first, then all rows.
fn fit(mut part: Part, share: usize) -> Vec<u8> {
    let encoded = |part: &Part| {
        let text = serde_json::to_vec(part).unwrap_or_default();
        [&(text.len() as u64).to_le_bytes()[..], &text].concat()
    };
    let mut bytes = encoded(&part);
    for step in 0..3 {
        if bytes.len() <= share {
            break;
        }
        if let Some(summary) = &mut part.summary {
            summary.leave_out(step, bytes.len(), share);
        }
        if step == 2 {
            part.summary = None;
        }
        bytes = encoded(&part);
    }
    bytes
}

fn take_apart(bytes: &[u8]) -> Option<(Part, Arrivals)> {
    let length = u64::from_le_bytes(bytes.get(..HEAD)?.try_into().ok()?);
    let (text, arrivals) = bytes.get(HEAD..)?.split_at_checked(usize::try_from(length).ok()?)?;
    Some((serde_json::from_slice(text).ok()?, Arrivals::decode(arrivals).unwrap_or_default()))
}

/// The first process: one summary of all parts.
fn merge(parts: &[Vec<u8>], nodes: usize) -> Summary {
    let parts: Vec<Option<(Part, Arrivals)>> = parts.iter().map(|part| take_apart(part)).collect();
    let links: Vec<Option<Link>> = parts.iter().map(|part| part.as_ref()?.0.link).collect();
    let tree = ClockTree::new(&links);
    let scale = parts.first().and_then(Option::as_ref).map_or(1.0, |(part, _)| part.nanoseconds_per_tick);
    let mut summaries = Vec::new();
    let mut processes = Vec::new();
    for (number, part) in (0..).zip(parts) {
        let Some((part, arrivals)) = part else { continue };
        summaries.extend(part.summary.map(|summary| (number, summary)));
        processes.push(ProcessArrivals { process: number, arrivals });
    }
    let silent = links.len() - summaries.len();
    let mut summary = Summary::merge_numbered(summaries);
    summary.lateness = lateness::of_ranks(&processes, &tree, scale);
    summary.clocks = Some(Clocks::compared(nodes, &links, &tree, scale));
    if silent > 0 {
        summary.note(format!("{silent} of {} processes are not in this summary: NCCL was not used there, or their part had no room", links.len()));
    }
    summary
}
