//! Operations and transfers of a capture, by the rules of the library's lanes. An operation lasts from its first start
//! to its last stop in the GPU's stamps. A transfer lasts from the moment its data goes to the network to the end of
//! its step.

use crate::capture::{Callback, CallbackKind, Capture, CapturedEvent};
use common::gpu_track::GpuTrack;
use nccl_plugin::kind::state;
use std::collections::{BTreeMap, HashMap};

/// States by their numbers in captures: the one that carries a transfer's size, and the one that carries the GPU's
/// stamp.
const SEND_WAIT: u32 = state::PROXY_STEP_SEND_WAIT as u32;
const KERNEL_CHANNEL_STOP: u32 = state::KERNEL_CH_STOP as u32;

/// A rank of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PictureRank {
    pub(crate) comm: u64,
    pub(crate) rank: i32,
}

/// An operation with stamps of the GPU; times in nanoseconds of the host's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PictureOperation {
    pub(crate) of: PictureRank,
    /// Name of the region, for example `ncclAllReduce`.
    pub(crate) region: String,
    pub(crate) start: u64,
    pub(crate) stop: u64,
}

/// A transfer over the network, at its sender; times in nanoseconds of the host's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PictureTransfer {
    pub(crate) of: PictureRank,
    pub(crate) peer: i32,
    pub(crate) channel: u8,
    pub(crate) bytes: u64,
    pub(crate) start: u64,
    pub(crate) stop: u64,
}

/// An operation with the stamps of its kernel channels so far.
struct Stamped {
    of: PictureRank,
    region: String,
    enqueued: u64,
    first: Option<u64>,
    last: Option<u64>,
}

/// Returns all operations with stamps, in the order in which they were enqueued. Every stamp is taken as its
/// operation's own, which holds for captures in which NCCL has missed no kernel.
pub(crate) fn operations(capture: &Capture) -> Vec<PictureOperation> {
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut stamped: Vec<Stamped> = Vec::new();
    let mut tracks: BTreeMap<PictureRank, GpuTrack> = BTreeMap::new();
    let ranks = ranks(capture);
    for call in &capture.lines {
        let now = time(capture, call);
        match &call.what {
            CallbackKind::Start {
                ctx,
                h,
                event: CapturedEvent::Coll { func, .. } | CapturedEvent::P2p { func, .. },
                ..
            } => {
                if let Some(&of) = ranks.get(ctx) {
                    places.insert(*h, stamped.len());
                    let region = format!("nccl{}", func.as_deref().unwrap_or(common::name::UNKNOWN));
                    stamped.push(Stamped { of, region, enqueued: now, first: None, last: None });
                }
            }
            CallbackKind::Start { h, parent, event: CapturedEvent::KernelCh { ptimer, .. }, .. } => {
                if let Some((&place, operation)) =
                    places.get(parent).and_then(|place| Some((place, stamped.get_mut(*place)?)))
                {
                    operation.first = Some(operation.first.map_or(*ptimer, |first| first.min(*ptimer)));
                    tracks.entry(operation.of).or_default().told(now, *ptimer);
                    places.insert(*h, place);
                }
            }
            CallbackKind::State { h, state: KERNEL_CHANNEL_STOP, arg: Some(ptimer) } => {
                if let Some(operation) = places.get(h).and_then(|place| stamped.get_mut(*place)) {
                    operation.last = operation.last.max(Some(*ptimer));
                    tracks.entry(operation.of).or_default().told(now, *ptimer);
                }
            }
            _ => {}
        }
    }
    for operation in &stamped {
        if let (Some(first), Some(track)) = (operation.first, tracks.get_mut(&operation.of)) {
            track.enqueued(operation.enqueued, first);
        }
    }
    let mappings: BTreeMap<PictureRank, _> =
        tracks.iter().filter_map(|(rank, track)| Some((*rank, track.mapping(1.0)?))).collect();
    let placed = |operation: Stamped| {
        let mapping = mappings.get(&operation.of)?;
        let (start, stop) = (mapping.ticks(operation.first?), mapping.ticks(operation.last?));
        (start <= stop).then_some(PictureOperation { of: operation.of, region: operation.region, start, stop })
    };
    stamped.into_iter().filter_map(placed).collect()
}

/// Returns all transfers, in the order of their ends.
pub(crate) fn transfers(capture: &Capture) -> Vec<PictureTransfer> {
    let ranks = ranks(capture);
    let mut sends: HashMap<u64, (PictureRank, i32, u8)> = HashMap::new();
    let mut steps: HashMap<u64, PictureTransfer> = HashMap::new();
    let mut transfers = Vec::new();
    for call in &capture.lines {
        match &call.what {
            CallbackKind::Start { ctx, h, event: CapturedEvent::ProxyOp { peer, ch, send: true, .. }, .. } => {
                if let Some(&of) = ranks.get(ctx) {
                    sends.insert(*h, (of, *peer, *ch));
                }
            }
            CallbackKind::Start { h, parent, event: CapturedEvent::ProxyStep { .. }, .. } => {
                if let Some(&(of, peer, channel)) = sends.get(parent) {
                    steps.insert(*h, PictureTransfer { of, peer, channel, bytes: 0, start: u64::MAX, stop: u64::MAX });
                }
            }
            CallbackKind::State { h, state: SEND_WAIT, arg: Some(bytes) } => {
                if let Some(step) = steps.get_mut(h) {
                    (step.bytes, step.start) = (*bytes, time(capture, call));
                }
            }
            CallbackKind::Stop { h } => {
                if let Some(step) = steps.remove(h).filter(|step| step.start < u64::MAX) {
                    transfers.push(PictureTransfer { stop: time(capture, call).max(step.start), ..step });
                }
            }
            _ => {}
        }
    }
    transfers
}

/// Returns the ranks by context.
fn ranks(capture: &Capture) -> HashMap<u32, PictureRank> {
    let rank = |call: &Callback| match call.what {
        CallbackKind::Init { ctx, comm, rank, .. } => Some((ctx, PictureRank { comm, rank })),
        _ => None,
    };
    capture.lines.iter().filter_map(rank).collect()
}

/// Returns the time of a callback on the clock of its host.
pub(crate) fn time(capture: &Capture, call: &Callback) -> u64 {
    capture.meta.mono0.saturating_add(call.t)
}
