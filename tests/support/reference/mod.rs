//! The slow and plain reference: computes from a run's captures what their summary must say, in the most obvious way.
//!
//! It shares no code with the library. It reads the captures itself, keeps every event until the end, and computes one
//! figure after the other by the summary's definitions. It prefers plain code to fast code.
//!
//! | file | task |
//! |---|---|
//! | `json.rs` | the captures, as events with their states, stop and children |
//! | `operations.rs` | collectives and sends/receives: which are GPU-timed, and their times |
//! | `kernels.rs` | which operations share a kernel, and its time by CUDA events |
//! | `api.rs` | the time inside NCCL's API |
//! | `transfers.rs` | what crossed the network, by pair of ranks and by channel |
//! | `states.rs` | the time of what crossed the network, by state; the transfers of operations |
//! | `channels.rs` | whether a pair's channels have one line |
//! | `fit.rs` | the straight line through sizes and times |
//! | `compare.rs` | every difference between a summary and this |
//! | `by_hand/` | captures whose figures tests/reference_checks.rs has worked out by hand |

pub(crate) mod api;
pub(crate) mod channels;
pub(crate) mod compare;
pub(crate) mod fit;
pub(crate) mod json;
pub(crate) mod kernels;
pub(crate) mod operations;
pub(crate) mod states;
pub(crate) mod transfers;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use json::Recording;
use operations::OperationRow;
use states::{OperationTransfersRow, SizeKey, StateRow};
use transfers::{ChannelRow, TransferRow};

/// Sources of GPU times, as in `NCCL_SCOREP_GPU_TIME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sources {
    /// `auto`: stamps if they are valid, or else events.
    Both,
    Stamps,
    Events,
}

/// The content of a run's summary, without the figures that captures do not determine: process ids, windows and memory.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reference {
    pub(crate) processes: Vec<ProcessRow>,
    pub(crate) communicators: Vec<CommunicatorRow>,
    pub(crate) operations: Vec<OperationRow>,
    pub(crate) transfers: Vec<TransferRow>,
    pub(crate) channels: Vec<ChannelRow>,
    pub(crate) states: Vec<StateRow>,
    pub(crate) operation_transfers: BTreeMap<SizeKey, OperationTransfersRow>,
}

/// A process, which is one capture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProcessRow {
    pub(crate) process: usize,
    pub(crate) callbacks: usize,
    pub(crate) events: usize,
    pub(crate) dropped: usize,
    pub(crate) unfinished: usize,
    pub(crate) invisible: usize,
    pub(crate) out_of_step: usize,
    pub(crate) ignored_handles: usize,
    /// Operations without a GPU time, for any reason.
    pub(crate) untimed: usize,
}

/// A communicator, whose ranks may be in several processes or in one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommunicatorRow {
    pub(crate) comm: String,
    pub(crate) nranks: i64,
    pub(crate) nnodes: i64,
    pub(crate) name: String,
    /// Pairs of rank and process, sorted.
    pub(crate) ranks: Vec<(i64, usize)>,
}

/// Computes the reference of a run from its captures, process by process.
pub(crate) fn summarise<P: AsRef<Path>>(paths: &[P]) -> Result<Reference, Box<dyn Error>> {
    summarise_by(paths, Sources::Both)
}

/// Computes the reference with GPU times from these sources only.
pub(crate) fn summarise_by<P: AsRef<Path>>(paths: &[P], sources: Sources) -> Result<Reference, Box<dyn Error>> {
    let mut recordings = Vec::new();
    for path in paths {
        recordings.push(json::read(path.as_ref())?);
    }
    let all = recordings.iter().collect::<Vec<_>>();
    let processes = recordings.iter().enumerate().map(|(process, recording)| process_row(process, recording, sources));
    Ok(Reference {
        processes: processes.collect::<Result<_, _>>()?,
        communicators: communicator_rows(&recordings),
        operations: operations::rows(&all, sources)?,
        transfers: transfers::rows(&all, transfers::Regression::Median)?,
        channels: transfers::channel_rows(&all)?,
        states: states::rows(&all)?,
        operation_transfers: states::of_operations(&all)?,
    })
}

fn process_row(process: usize, recording: &Recording, sources: Sources) -> Result<ProcessRow, Box<dyn Error>> {
    Ok(ProcessRow {
        process,
        callbacks: recording.callbacks,
        events: recording.events.len(),
        // a replay never fills the recorder, so only the capture's own drops count
        dropped: recording.dropped,
        // a replay uses only handles that it was given
        ignored_handles: 0,
        unfinished: operations::unfinished(recording),
        invisible: operations::invisible(recording, sources),
        out_of_step: operations::out_of_step(recording),
        untimed: operations::untimed(recording, sources)?,
    })
}

fn communicator_rows(recordings: &[Recording]) -> Vec<CommunicatorRow> {
    let mut rows: BTreeMap<String, CommunicatorRow> = BTreeMap::new();
    let mut ranks: BTreeMap<String, BTreeSet<(i64, usize)>> = BTreeMap::new();
    for (process, recording) in recordings.iter().enumerate() {
        for context in recording.contexts.values() {
            ranks.entry(context.comm.clone()).or_default().insert((context.rank, process));
            rows.entry(context.comm.clone()).or_insert_with(|| CommunicatorRow {
                comm: context.comm.clone(),
                nranks: context.nranks,
                nnodes: context.nnodes,
                name: context.name.clone(),
                ranks: Vec::new(),
            });
        }
    }
    for (comm, row) in &mut rows {
        row.ranks = ranks.remove(comm).unwrap_or_default().into_iter().collect();
    }
    rows.into_values().collect()
}
