//! Gathers the job summary: the summaries of all processes, merged in the first one.
//!
//! Each process sends its summary and the times at which its ranks began their collectives. The setting limits the
//! bytes per process, and the first process's memory the bytes of all. Whatever does not fit is left out, and the
//! summary says so.

use crate::job::ipc::{Ipc, IpcError};
use crate::job::node_clocks::Nodes;
use common::arrivals::{self, Arrivals};
use common::clock::CLOCK;
use common::clock_tree::{ClockTree, Link};
use common::guard::contain;
use common::lateness::lateness;
use common::summary::{Clocks, Rows, Summary};
use serde::{Deserialize, Serialize};

/// Bytes that the first process receives at most from all processes together.
const MOST: usize = 256 << 20;
/// Arrivals that the first process compares at most, of all processes together. Each takes some 200 bytes meanwhile.
const MOST_ARRIVALS: usize = 1 << 21;
/// Bytes in a part before its text: the text's length. The arrivals follow the text.
const HEAD: usize = size_of::<u64>();

/// The text of a part: everything that a process sends, except for its arrivals.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Part {
    summary: Option<Summary>,
    link: Option<Link>,
    nanoseconds_per_tick: f64,
}

/// Returns the nanoseconds of a tick in this process.
fn nanoseconds_per_tick() -> f64 {
    CLOCK.nanoseconds_per_tick().unwrap_or(1.0)
}

/// Gathers the job summary, and returns it in the first process. All processes of the run call this together.
///
/// # Errors
/// If Score-P's communication fails.
pub(crate) fn gather(
    ipc: Ipc<'_>,
    nodes: &Nodes,
    summary: Option<Summary>,
    arrivals: Option<Arrivals>,
    most: usize,
) -> Result<Option<Summary>, IpcError> {
    let link = nodes.part(ipc)?;
    let share = most.min(MOST / ipc.size());
    // whatever fails in here, the other processes wait for the next step
    let (mut bytes, mut arrivals) = contain("gather", (Vec::new(), Arrivals::default()), || {
        let part = Part { summary, link: Some(link), nanoseconds_per_tick: nanoseconds_per_tick() };
        (fit(part, share), arrivals.unwrap_or_default())
    });
    let room = share.saturating_sub(bytes.len());
    let most = MOST_ARRIVALS / ipc.size();
    let one_in = ipc.greatest(contain("gather", 1, || arrivals.one_in_for(most, room)))?;
    let encoded = contain("gather", Vec::new(), || {
        arrivals.thin(one_in);
        arrivals.encode()
    });
    bytes.extend(encoded);
    let parts = ipc.gather(&bytes)?;
    Ok((ipc.rank() == 0).then(|| merge(parts.into_iter().map(|part| take_apart(&part).unwrap_or_default()).collect())))
}

/// Makes the summary of a process without other processes; it may have several ranks.
pub(crate) fn alone(summary: Summary, arrivals: Option<Arrivals>) -> Summary {
    let part = Part { summary: Some(summary), link: None, nanoseconds_per_tick: nanoseconds_per_tick() };
    let mut arrivals = arrivals.unwrap_or_default();
    arrivals.thin(arrivals.one_in_for(MOST_ARRIVALS, usize::MAX));
    let mut summary = merge(vec![(part, arrivals)]);
    summary.notes.push("this is the summary of one process: without MPI, Score-P knows of no other".into());
    summary
}

/// Encodes as much of a part as fits into `share` bytes.
fn fit(mut part: Part, share: usize) -> Vec<u8> {
    let encoded = |part: &Part| {
        let text = serde_json::to_vec(part).unwrap_or_default();
        [&(text.len() as u64).to_le_bytes()[..], &text].concat()
    };
    let mut bytes = encoded(&part);
    let why = format!(
        "{} KiB are more than the {} that a process may send (NCCL_SCOREP_GATHER_KB)",
        bytes.len() >> 10,
        share >> 10
    );
    for rows in [Rows::Channels, Rows::Transfers, Rows::Operations] {
        if bytes.len() > share
            && let Some(summary) = &mut part.summary
        {
            summary.leave_out(rows, &why);
            bytes = encoded(&part);
        }
    }
    if bytes.len() > share {
        part.summary = None;
        bytes = encoded(&part);
    }
    bytes
}

fn take_apart(bytes: &[u8]) -> Option<(Part, Arrivals)> {
    let length = u64::from_le_bytes(bytes.get(..HEAD)?.try_into().ok()?);
    let (text, arrivals) = bytes.get(HEAD..)?.split_at_checked(usize::try_from(length).ok()?)?;
    Some((serde_json::from_slice(text).ok()?, Arrivals::decode(arrivals).unwrap_or_default()))
}

/// Merges all parts into one summary, in the first process.
fn merge(parts: Vec<(Part, Arrivals)>) -> Summary {
    let (parts, arrivals): (Vec<Part>, Vec<Arrivals>) = parts.into_iter().unzip();
    let links: Vec<Option<Link>> = parts.iter().map(|part| part.link).collect();
    let scale = parts.first().map_or(1.0, |part| part.nanoseconds_per_tick);
    let summaries = (0..).zip(parts).filter_map(|(number, part)| Some((number, part.summary?)));
    let mut summary = Summary::merge_numbered(summaries);
    let clocks = ClockTree::new(&links);
    summary.notes.extend(arrivals::note(&arrivals));
    (summary.lateness, summary.bandwidth) = lateness(arrivals, &clocks, scale, &summary.communicators);
    // without offsets between nodes, all processes are on one node and read the same clock
    summary.clocks = Some(clocks.clocks(scale).unwrap_or(Clocks { nodes: 1, error_us: 0.0 }));
    let silent = links.len() - summary.processes.len();
    if silent > 0 {
        let all = links.len();
        summary.notes.push(format!(
            "{silent} of {all} processes are not in here: their part had no room (NCCL_SCOREP_GATHER_KB) or could not be read"
        ));
    }
    summary
}
