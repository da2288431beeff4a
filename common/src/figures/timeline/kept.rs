//! Operations that a replay keeps itself, since they may not fit into memory, and their times on the clock of the
//! process. A job's library gives its operations to nobody: its timeline is bounded.

use super::Timeline;
use super::arrivals::arrival;
use super::entry::TimelineEntry;
use super::gpus::mappings;
use super::launches::launched;
use crate::clock::gpu_track::GpuMapping;
use crate::figures::arrivals::KnownTime;
use crate::operation::Operation;
use crate::sums::run_sums::CommunicatorRank;
use once_cell::sync::OnceCell;
use std::fmt::Debug;
use std::sync::Arc;

static KEEPER: OnceCell<Arc<dyn OperationKeeper>> = OnceCell::new();

/// The keeper of a replay's operations. It runs on the collector's thread.
pub trait OperationKeeper: Debug + Send + Sync {
    /// Takes an operation of which nothing more will come.
    fn keep(&self, operation: KeptOperation);

    /// Learns that nothing more will come of an operation that the timeline has no place for.
    fn leave_out(&self, key: OperationKey);
}

/// Makes the timeline give its operations to `keeper`, from the first communicator on. The first keeper stays.
pub fn keep_with(keeper: Arc<dyn OperationKeeper>) {
    let _ = KEEPER.set(keeper);
    super::wanted::want();
}

/// Returns the keeper of the operations, if there is one.
pub(crate) fn keeper() -> Option<Arc<dyn OperationKeeper>> {
    KEEPER.get().cloned()
}

/// The identity of an operation in its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationKey {
    /// Begin of the enqueue, ticks.
    pub enqueued: u64,
    /// Communicator and rank.
    pub rank: CommunicatorRank,
    /// Place in the communicator's order of starts. The order counts operations, and calls of NCCL's API.
    pub order: u64,
}

impl OperationKey {
    pub(crate) fn new(rank: CommunicatorRank, operation: &Operation) -> Self {
        Self { enqueued: operation.start, rank, order: operation.order }
    }
}

/// An operation with everything that is known of it, its times still on the clock of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptOperation {
    /// The operation.
    pub key: OperationKey,
    /// Its figures.
    pub entry: TimelineEntry,
    /// Its order minus the order of its kernel's first operation.
    pub distance: u16,
    /// Number of channels that NCCL announced.
    pub channels: u8,
    /// Whether the operation or a child never ended.
    pub unfinished: bool,
}

impl KeptOperation {
    pub(super) fn new(rank: CommunicatorRank, entry: TimelineEntry, operation: &Operation) -> Self {
        let &Operation { distance, channels, unfinished, .. } = operation;
        Self { key: OperationKey::new(rank, operation), entry, distance, channels, unfinished }
    }
}

/// When an operation ran on its GPU, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// Most likely begin, on the clock of the process.
    pub start: u64,
    /// How much earlier and how much later begin and end may both be.
    pub clock: [u64; 2],
    /// How much earlier the begin alone may be.
    pub ahead: u64,
}

/// The times of an operation, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettledTimes {
    /// How long it took by its source.
    pub duration: u64,
    /// When it ran on the GPU, where that is known.
    pub begin: Option<Begin>,
    /// When the host had launched its kernel, on the clock of the process, if the GPU has timed it and that is known.
    pub launched: Option<u64>,
}

/// The clocks from which the times of kept operations follow, when all data about the GPUs has come.
#[derive(Debug)]
pub struct OperationTimes<'a> {
    timeline: &'a Timeline,
    mappings: Vec<[Option<GpuMapping>; 2]>,
}

impl Timeline {
    /// Returns the clocks for the times of its operations, as they are known now.
    pub fn times(&self) -> OperationTimes<'_> {
        OperationTimes { timeline: self, mappings: mappings(&self.ranks, self.nanoseconds_per_tick) }
    }

    /// Converts ticks; exact where a tick is a nanosecond, as in a replay.
    fn nanoseconds(&self, ticks: u64) -> u64 {
        if self.nanoseconds_per_tick == 1.0 { ticks } else { (ticks as f64 * self.nanoseconds_per_tick) as u64 }
    }
}

impl OperationTimes<'_> {
    /// Returns the times of an operation.
    pub fn of(&self, KeptOperation { entry, .. }: &KeptOperation) -> Option<SettledTimes> {
        let Self { timeline, mappings } = self;
        let mappings = mappings.get(usize::from(entry.place))?;
        let arrival = arrival(entry, mappings, timeline.nanoseconds_per_tick);
        let by_host = || timeline.nanoseconds(entry.stop.saturating_sub(entry.start));
        let begin = (arrival.known == KnownTime::Begin).then(|| Begin {
            start: timeline.nanoseconds(arrival.time),
            clock: arrival.clock.map(|ticks| timeline.nanoseconds(ticks)),
            ahead: timeline.nanoseconds(arrival.ahead),
        });
        Some(SettledTimes {
            duration: if entry.source.is_gpu() { arrival.length } else { by_host() },
            begin,
            launched: launched(entry, mappings, timeline.nanoseconds_per_tick).map(|time| timeline.nanoseconds(time)),
        })
    }
}
