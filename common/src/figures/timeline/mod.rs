//! The timeline: every operation of the process with its time, and the transfers of each window. It is kept for
//! Score-P's trace and profile and for the job summary. It is bounded: what finds no room is counted. For the process'
//! summary alone, a sample of the collectives is kept in its place.

mod arrivals;
mod entry;
mod gpus;
mod history;
mod in_turn;
mod kept;
mod kernel_begin;
#[cfg(feature = "otel")]
mod launch_counts;
mod launches;
mod left_out;
mod sample;
mod wanted;

use crate::clock::gpu_clocks::GpuClocks;
use crate::config::Settings;
use crate::launch::KernelTime;
use crate::operation::{Operation, Timing};
use crate::sums::rate::Rate;
use crate::sums::run_sums::{CommunicatorRank, PairSum};
use entry::NO_PLACE;
use left_out::LeftOut;
use sample::TimelineSample;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use entry::{NO_ROOT, TimelineEntry};
pub use history::{History, RankHistory};
pub(crate) use kept::keeper;
pub use kept::{Begin, KeptOperation, OperationKeeper, OperationKey, OperationTimes, SettledTimes, keep_with};
#[cfg(feature = "otel")]
pub(crate) use launch_counts::LaunchCounts;
pub(crate) use launches::RankLaunches;
pub use wanted::{is_wanted, object, obstacle, want};

/// Transfers of a window between two ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairWindow {
    /// Place of the sender in [`Timeline::ranks`].
    pub place: u8,
    /// The receiver.
    pub peer: i32,
    /// Begin of the first transfer, ticks.
    pub start: u64,
    /// End of the last transfer, ticks.
    pub stop: u64,
    /// Bytes.
    pub bytes: u64,
    /// The published rate of the window.
    pub rate: Rate,
}

/// A rank of a communicator that has a place on the timeline.
#[derive(Debug, Clone)]
pub struct RankLine {
    /// Communicator and rank.
    pub rank: CommunicatorRank,
    /// Number of ranks of its communicator; 0 if unknown.
    pub nranks: i32,
    /// Its GPU's clocks.
    pub clocks: GpuClocks,
}

/// Largest number of ranks with a place on the timeline. Later ranks have none.
const MOST_RANKS: usize = NO_PLACE as usize;
/// Largest number of windows of rank pairs.
const MOST_WINDOWS: usize = 1 << 16;
/// Number of operations that memory is allocated for at a time.
const CHUNK: usize = 4096;

/// The timeline of a process.
#[derive(Debug, Default)]
pub struct Timeline {
    /// The ranks, by their place.
    pub ranks: Vec<RankLine>,
    places: BTreeMap<CommunicatorRank, u8>,
    chunks: Vec<Vec<TimelineEntry>>,
    count: usize,
    most: usize,
    /// Transfers of each window.
    pub windows: Vec<PairWindow>,
    /// Number of operations that found no room.
    pub left_out: u64,
    collectives_left_out: LeftOut,
    /// Number of windows that found no room.
    pub windows_left_out: u64,
    /// Nanoseconds of a tick.
    pub nanoseconds_per_tick: f64,
    /// The keeper of a replay's operations, which then take no memory here.
    keeper: Option<Arc<dyn OperationKeeper>>,
    /// Whether operations and windows are kept, and not the sample alone.
    is_whole: bool,
    /// Collectives for the process' summary, if it has a file.
    sample: Option<TimelineSample>,
    /// Launches for exporters by place of the rank, if there is an exporter.
    #[cfg(feature = "otel")]
    launch_counts: Option<Vec<launch_counts::RankLaunchCounts>>,
}

impl Timeline {
    /// Makes a timeline whose operations take at most `bytes`.
    pub fn new(bytes: usize) -> Self {
        Self { most: bytes / size_of::<TimelineEntry>(), is_whole: true, ..Self::default() }
    }

    /// Makes the timeline that these settings and its readers ask for; `None` if nobody does.
    pub(crate) fn wanted(settings: &Settings) -> Option<Self> {
        let sample = settings.summary.as_ref().and_then(|_| TimelineSample::of_bytes(settings.summary_arrivals()));
        let timeline =
            if is_wanted() { Self { keeper: keeper(), ..Self::new(settings.lane_bytes) } } else { Self::default() };
        let timeline = Self { sample, ..timeline };
        #[cfg(feature = "otel")]
        let timeline = timeline.with_launch_counts(settings);
        (timeline.is_whole || timeline.sample.is_some() || timeline.counts_launches()).then_some(timeline)
    }

    /// Returns whether launches are counted for exporters.
    fn counts_launches(&self) -> bool {
        #[cfg(feature = "otel")]
        return self.launch_counts.is_some();
        #[cfg(not(feature = "otel"))]
        false
    }

    /// Takes everything, except for the sample, the launches for exporters and their ranks: a summary or an export that
    /// comes later has them again.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let left = Self {
            ranks: self.ranks.clone(),
            places: self.places.clone(),
            nanoseconds_per_tick: self.nanoseconds_per_tick,
            sample: self.sample.take(),
            #[cfg(feature = "otel")]
            launch_counts: self.launch_counts.take(),
            ..Self::default()
        };
        std::mem::replace(self, left)
    }

    /// Returns whether a replay keeps the operations ([`keep_with`]).
    pub fn is_kept_elsewhere(&self) -> bool {
        self.keeper.is_some()
    }

    /// Adds a rank of a communicator. Returns its place; `None` if there are too many ranks.
    pub fn open(&mut self, rank: CommunicatorRank, nranks: i32) -> Option<u8> {
        if let Some(&place) = self.places.get(&rank) {
            return Some(place);
        }
        let place = u8::try_from(self.ranks.len()).ok().filter(|_| self.ranks.len() < MOST_RANKS)?;
        self.ranks.push(RankLine { rank, nranks, clocks: GpuClocks::default() });
        self.places.insert(rank, place);
        Some(place)
    }

    /// Adds an operation, with whether it is `alone` in its kernel.
    pub fn operation(
        &mut self,
        place: Option<u8>,
        operation: &Operation,
        timing: Timing,
        alone: bool,
        nanoseconds_per_tick: f64,
    ) {
        let wants_sample = self.sample.as_ref().is_some_and(|sample| sample.may_take(place, operation));
        let has_room = self.is_whole && place.is_some() && (self.count < self.most || self.is_kept_elsewhere());
        if self.is_whole && !has_room {
            self.left_out += 1;
            if operation.is_collective() {
                self.collectives_left_out.add(place, operation);
            }
        }
        let may_count = alone && timing.source().is_gpu() && operation.is_collective() && self.counts_launches();
        let Some(place) = place.filter(|_| has_room || wants_sample || may_count) else { return };
        let source = timing.source();
        let (start, stop, launched) = match timing {
            Timing::Stamps { start, stop } => (start, stop, operation.launched()),
            Timing::Events(KernelTime { first, stop, before, launched, .. }) => (first, stop, Some([before, launched])),
            Timing::Proxy(ticks) | Timing::Enqueue(ticks) => {
                (operation.start, operation.start.saturating_add(ticks), None)
            }
        };
        let entry = TimelineEntry {
            start,
            stop,
            bytes: operation.bytes,
            sequence: operation.sequence,
            peer: operation.peer().unwrap_or(-1),
            root: operation.root().unwrap_or(NO_ROOT),
            place,
            order: operation.order as u32,
            launched: launched.map_or(0, |launched| entry::launched(launched, nanoseconds_per_tick)),
            function: operation.function,
            algorithm: operation.algorithm,
            protocol: operation.protocol,
            source,
            alone,
        };
        if let (Some(sample), Some(line), true) = (&mut self.sample, self.ranks.get(usize::from(place)), wants_sample) {
            sample.add(line.rank, entry);
        }
        #[cfg(feature = "otel")]
        self.count_launch(entry);
        if !has_room {
            return;
        }
        if let (Some(keeper), Some(line)) = (&self.keeper, self.ranks.get(usize::from(place))) {
            return keeper.keep(KeptOperation::new(line.rank, entry, operation));
        }
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => chunk.push(entry),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(entry);
                self.chunks.push(chunk);
            }
        }
        self.count += 1;
    }

    /// Adds the transfers of a window to a rank.
    pub fn window(&mut self, place: Option<u8>, peer: i32, pair: &PairSum, rate: Rate) {
        if !self.is_whole {
            return;
        }
        let (Some(place), Some((start, stop))) = (place.filter(|_| self.windows.len() < MOST_WINDOWS), pair.span)
        else {
            self.windows_left_out += 1;
            return;
        };
        self.windows.push(PairWindow { place, peer, start, stop, bytes: pair.bytes, rate });
    }

    /// Returns the clocks of a rank's GPU.
    pub fn clocks(&mut self, place: u8) -> Option<&mut GpuClocks> {
        self.ranks.get_mut(usize::from(place)).map(|line| &mut line.clocks)
    }

    /// Iterates over all operations, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &TimelineEntry> {
        self.chunks.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::datatype::Datatype;
    use crate::event::kind::EventKind;
    use crate::event::name::NcclName;
    use crate::operation::TimeSource;
    use crate::operation::tests::recorded;
    use crate::record::payload::{OfOperation, OperationWord, StartOrder};

    fn operation() -> Operation {
        let [function, algorithm, protocol] = [c"AllReduce", c"RING", c"SIMPLE"].map(|name| NcclName::of(Some(name)));
        let (place, since_launch) = (StartOrder::new(5, 0), 0);
        let number = OperationWord::of_collective(77, None, Datatype::default());
        let payload =
            OfOperation { bytes: 4096, number, function, algorithm, protocol, channels: 2, since_launch, place };
        recorded(EventKind::Coll, 1000, payload)
    }

    #[test]
    fn keeps_operations_with_what_timed_them() {
        let mut timeline = Timeline::new(1 << 20);
        let place = timeline.open(CommunicatorRank { comm: 7, rank: 3 }, 4);
        assert_eq!(timeline.open(CommunicatorRank { comm: 7, rank: 3 }, 4), place);
        for timing in [Timing::Stamps { start: 5, stop: 9 }, Timing::Proxy(30), Timing::Enqueue(1)] {
            timeline.operation(place, &operation(), timing, true, 1.0);
        }
        let times: Vec<_> = timeline.entries().map(|entry| (entry.source, entry.start, entry.stop)).collect();
        assert_eq!(
            times,
            [(TimeSource::Stamps, 5, 9), (TimeSource::Proxy, 1000, 1030), (TimeSource::Enqueue, 1000, 1001)]
        );
        let first = timeline.entries().next().unwrap();
        assert_eq!((first.bytes, first.sequence, first.peer), (4096, 77, -1));
        assert_eq!([first.algorithm, first.protocol].map(NcclName::text), ["RING", "SIMPLE"]);
    }

    /// The last summary is written more than once, and the operations are taken in between.
    #[test]
    fn a_summary_behind_the_operations_still_has_the_sample() {
        let sample = TimelineSample::of_bytes(1 << 16);
        let mut timeline = Timeline { sample, ..Timeline::new(10 * size_of::<TimelineEntry>()) };
        let place = timeline.open(CommunicatorRank { comm: 7, rank: 3 }, 4);
        timeline.operation(place, &operation(), Timing::Stamps { start: 1, stop: 2 }, true, 1.0);
        let sampled = |timeline: &Timeline| timeline.sampled(true, 1.0).map(|(arrivals, _)| arrivals);
        let before = sampled(&timeline).unwrap();
        assert_eq!(before.count(), 1);
        let taken = timeline.take();
        assert_eq!((taken.entries().count(), timeline.entries().count()), (1, 0));
        assert_eq!((sampled(&timeline), sampled(&taken)), (Some(before), None));
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut timeline = Timeline::new(10 * size_of::<TimelineEntry>());
        let place = timeline.open(CommunicatorRank { comm: 7, rank: 3 }, 4);
        for _ in 0..13 {
            timeline.operation(place, &operation(), Timing::Enqueue(1), true, 1.0);
        }
        timeline.operation(None, &operation(), Timing::Enqueue(1), true, 1.0);
        assert_eq!((timeline.entries().count(), timeline.left_out), (10, 4));
        for rank in 0..300 {
            timeline.open(CommunicatorRank { comm: 8, rank }, 4);
        }
        assert_eq!(timeline.ranks.len(), MOST_RANKS);
    }
}
