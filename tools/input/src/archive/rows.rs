//! The operations of a process' lanes, one after the other in the order of their begins.

use super::lane;
use crate::otf2::Otf2Error;
use crate::otf2::reader::{ArchiveEvent, ArchiveReader, Definitions, LocationEvents};
use common::name::NcclName;
use report::job::{RankOperation, Time, TimedBy};
use std::collections::{HashMap, VecDeque};

/// Uncertainty of the GPU's clock that is assumed, nanoseconds, since an archive does not say it. It is above those of
/// recordings (some microseconds), so that the likely error of GPU times is what counts.
const CLOCK: u64 = 100_000;
/// Events that are read of a lane at a time.
const PIECE: u64 = 4096;

/// A lane that is being read.
struct LaneReading<'a> {
    comm: u64,
    rank: i32,
    events: LocationEvents<'a>,
    /// Operations that were read and not yet returned.
    ready: VecDeque<RankOperation>,
    /// The operation whose region is open.
    open: Option<RankOperation>,
    is_over: bool,
}

/// Numbers that the archive gives to attributes and metrics of operations.
#[derive(Debug, Clone, Copy)]
struct AttributeNumbers<'a> {
    sequence: Option<&'a u32>,
    algorithm: Option<&'a u32>,
    protocol: Option<&'a u32>,
    peer: Option<&'a u32>,
    timing: Option<&'a u32>,
}

/// The operations of a process.
pub struct ArchiveRows<'a> {
    definitions: &'a Definitions,
    lanes: Vec<LaneReading<'a>>,
    numbers: AttributeNumbers<'a>,
    /// Operations of each communicator and rank so far, and their kernels: the GPU time of the last one.
    seen: HashMap<(u64, i32), RankRows>,
    /// Operations with one communicator, rank, function and number so far.
    replays: HashMap<(u64, i32, NcclName, u64), u32>,
}

/// The operations of a rank so far.
#[derive(Debug, Default)]
struct RankRows {
    count: u64,
    /// GPU time and number of the last kernel.
    kernel: Option<([u64; 2], u64)>,
}

impl<'a> ArchiveRows<'a> {
    /// Opens lanes: communicator and rank with the location of each.
    pub(super) fn open(
        reader: &'a ArchiveReader,
        definitions: &'a Definitions,
        lanes: impl Iterator<Item = ((u64, i32), u64)>,
    ) -> Result<Self, Otf2Error> {
        let open = |((comm, rank), location)| {
            let events = reader.events(location)?;
            Ok(LaneReading { comm, rank, events, ready: VecDeque::new(), open: None, is_over: false })
        };
        let attribute = |name| definitions.attributes.get(name);
        let numbers = AttributeNumbers {
            sequence: attribute("nccl_sequence"),
            algorithm: attribute("nccl_algorithm"),
            protocol: attribute("nccl_protocol"),
            peer: attribute("nccl_peer"),
            timing: attribute("nccl_timing"),
        };
        let lanes = lanes.map(open).collect::<Result<Vec<_>, Otf2Error>>()?;
        Ok(Self { definitions, lanes, numbers, seen: HashMap::new(), replays: HashMap::new() })
    }

    /// Returns the next operation.
    ///
    /// # Errors
    /// OTF2 cannot read a lane.
    pub fn next(&mut self) -> Result<Option<RankOperation>, Otf2Error> {
        let Self { definitions, numbers, .. } = *self;
        for lane in &mut self.lanes {
            while lane.ready.is_empty() && !lane.is_over {
                lane.read(definitions, numbers)?;
            }
        }
        let begin = |lane: &LaneReading<'_>| lane.ready.front().map(|operation| operation.enqueued);
        let first = (0..self.lanes.len())
            .filter_map(|place| Some((begin(self.lanes.get(place)?)?, place)))
            .min()
            .and_then(|(_, place)| self.lanes.get_mut(place)?.ready.pop_front());
        Ok(first.map(|operation| self.placed(operation)))
    }

    /// Adds what follows from the operations before: order, replay and kernel.
    fn placed(&mut self, mut operation: RankOperation) -> RankOperation {
        let seen = self.seen.entry((operation.comm, operation.rank)).or_default();
        operation.order = seen.count;
        seen.count += 1;
        let span = operation.time.map(|time| [time.start, time.stop]);
        // only operations of one kernel have the same begin and end
        operation.kernel = match (span, seen.kernel) {
            (Some(span), Some((last, number))) if span == last => number,
            _ => operation.order,
        };
        seen.kernel = span.map(|span| (span, operation.kernel));
        if let Some(sequence) = operation.sequence {
            let key = (operation.comm, operation.rank, operation.function, sequence);
            let replays = self.replays.entry(key).or_default();
            operation.replay = *replays;
            *replays += 1;
        } else {
            operation.group = Some(operation.kernel);
        }
        operation
    }
}

impl LaneReading<'_> {
    /// Reads the next piece.
    fn read(&mut self, definitions: &Definitions, numbers: AttributeNumbers<'_>) -> Result<(), Otf2Error> {
        let Self { comm, rank, events, ready, open, is_over } = self;
        let text = |number: Option<u32>| number.and_then(|number| definitions.strings.get(&number));
        let more = events.read(PIECE, &mut |ticks, event| {
            let time = definitions.nanoseconds(ticks);
            match event {
                ArchiveEvent::Enter(region, attributes) => {
                    let region = definitions.regions.get(&region).map_or("", String::as_str);
                    *open = lane::function(region).map(|function| {
                        let source = text(attributes.string(numbers.timing)).and_then(|text| TimedBy::from_text(text));
                        let named = |number| {
                            text(attributes.string(number)).map_or(NcclName::none(), |text| NcclName::of_text(text))
                        };
                        let peer = attributes.number(numbers.peer).and_then(|peer| i32::try_from(peer).ok());
                        RankOperation {
                            comm: *comm,
                            rank: *rank,
                            function: NcclName::of_text(function),
                            sequence: attributes.number(numbers.sequence),
                            peer,
                            algorithm: named(numbers.algorithm),
                            protocol: named(numbers.protocol),
                            enqueued: time,
                            source: source.unwrap_or_default(),
                            alone: true,
                            ..RankOperation::default()
                        }
                    });
                }
                ArchiveEvent::Metric(metric, value) => {
                    let is_bytes = definitions.metrics.get(&metric).is_some_and(|name| name == "nccl_op_bytes");
                    if let Some(operation) = open.as_mut().filter(|_| is_bytes) {
                        operation.bytes = value;
                    }
                }
                ArchiveEvent::Leave => {
                    if let Some(mut operation) = open.take() {
                        operation.duration = time.saturating_sub(operation.enqueued);
                        let gpu = Time { start: operation.enqueued, stop: time, clock: [CLOCK; 2], ahead: 0 };
                        operation.time = operation.source.is_gpu().then_some(gpu);
                        ready.push_back(operation);
                    }
                }
            }
        })?;
        definitions.check(events.latest())?;
        *is_over = !more;
        Ok(())
    }
}
