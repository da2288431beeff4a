//! The operations that the lanes of an archive show.

use crate::archive::lane;
use crate::otf2::Otf2Error;
use crate::otf2::reader::{ArchiveEvent, ArchiveReader, Definitions};
use common::name::NcclName;
use std::collections::BTreeMap;

/// Events that are read of a lane at a time.
const PIECE: u64 = 4096;

/// An operation of a lane. Times are ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeardOperation {
    pub(super) begin: u64,
    pub(super) end: u64,
    /// Bytes: elements times their size.
    pub(super) bytes: u64,
    /// NCCL's number of a collective among those of its function.
    pub(super) sequence: u64,
    /// The peer of a send or receive, the root of a collective that has one; -1 where there is none.
    pub(super) other: i32,
    pub(super) function: NcclName,
    /// Whether the GPU has timed it. Others follow one another, also where they share a kernel.
    pub(super) is_timed: bool,
}

impl HeardOperation {
    /// Returns whether it is a send or a receive.
    pub(super) fn is_message(&self) -> bool {
        self.function.is_p2p()
    }

    /// Returns whether it is a send.
    pub(super) fn is_send(&self) -> bool {
        self.function == NcclName::of_text("Send")
    }
}

/// The operations of each rank of the communicator at a place, in the order of their begins. NCCL runs the operations
/// of a communicator one after the other, so this is the order in which they were enqueued; where several share a
/// kernel, it is the order of the lanes.
pub(super) type Heard = BTreeMap<usize, BTreeMap<i32, Vec<HeardOperation>>>;

/// Reads lanes, each with the place of its communicator, and its rank.
///
/// # Errors
/// OTF2 cannot read a lane.
pub(super) fn hear(
    reader: &ArchiveReader,
    definitions: &Definitions,
    lanes: impl Iterator<Item = (u64, (usize, i32))>,
) -> Result<Heard, Otf2Error> {
    let attribute = |name| definitions.attributes.get(name);
    let [peer, root, sequence] = ["nccl_peer", "nccl_root", "nccl_sequence"].map(attribute);
    let is_bytes = |metric| definitions.metrics.get(&metric).is_some_and(|name| name == "nccl_op_bytes");
    let mut heard = Heard::new();
    for (lane, (place, rank)) in lanes {
        let operations = heard.entry(place).or_default().entry(rank).or_default();
        let mut open: Option<HeardOperation> = None;
        let mut hear = |time, event: ArchiveEvent<'_>| match event {
            ArchiveEvent::Enter(region, attributes) => {
                let region = definitions.regions.get(&region).map_or("", String::as_str);
                let rank = |attribute| attributes.number(attribute).and_then(|rank| i32::try_from(rank).ok());
                open = lane::function(region).map(|function| HeardOperation {
                    begin: time,
                    end: time,
                    bytes: 0,
                    sequence: attributes.number(sequence).unwrap_or_default(),
                    other: rank(peer).or(rank(root)).unwrap_or(-1),
                    function: NcclName::of_text(function),
                    is_timed: lane::is_timed(region),
                });
            }
            ArchiveEvent::Metric(metric, value) => {
                if let Some(operation) = open.as_mut().filter(|_| is_bytes(metric)) {
                    operation.bytes = value;
                }
            }
            ArchiveEvent::Leave => operations.extend(open.take().map(|it| HeardOperation { end: time, ..it })),
        };
        let mut events = reader.events(lane)?;
        while events.read(PIECE, &mut hear)? {}
    }
    // the lanes of a rank come in their order, which stays where operations begin at once
    heard.values_mut().flat_map(BTreeMap::values_mut).for_each(|all| all.sort_by_key(|operation| operation.begin));
    Ok(heard)
}
