//! The timeline: every operation of the process with its time, and what each window transferred, kept for Score-P's trace and profile
//! and for the job summary. Bounded: what finds no room is counted.

mod history;
mod in_turn;

use crate::gpu_track::GpuTrack;
use crate::launch::KernelTime;
use crate::name::Name;
use crate::operation::{Operation, Source, Timing};
use crate::rate::Rate;
use crate::totals::{PairSum, Rank};
use once_cell::sync::OnceCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

pub use history::{History, RankHistory};

/// An operation on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Begin: a time of the GPU's clock, or of CUDA's events, where that is its source, otherwise ticks of the events' clock.
    pub start: u64,
    /// End, likewise.
    pub stop: u64,
    /// Bytes: elements times their size.
    pub bytes: u64,
    /// NCCL's sequence number, of a collective.
    pub sequence: u64,
    /// The other rank, of a P2p; -1 for a collective.
    pub peer: i32,
    /// Place of its rank in [`Timeline::ranks`].
    pub place: u16,
    /// Function.
    pub function: Name,
    /// Algorithm, of a collective.
    pub algorithm: Name,
    /// Protocol, of a collective.
    pub protocol: Name,
    /// What the times were taken from.
    pub source: Source,
    /// No other operation runs in its kernel, as far as is known.
    pub alone: bool,
}

const _: () = assert!(size_of::<Entry>() <= 48, "what NCCL_SCOREP_LANE_MB promises");

/// What a window transferred between two ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairWindow {
    /// Place of the sender in [`Timeline::ranks`].
    pub place: u16,
    /// The receiver.
    pub peer: i32,
    /// Begin of the first transfer, ticks.
    pub start: u64,
    /// End of the last one, ticks.
    pub stop: u64,
    /// Bytes.
    pub bytes: u64,
    /// What is published of the window.
    pub rate: Rate,
}

/// A rank of a communicator that has a timeline.
#[derive(Debug, Clone)]
pub struct RankLine {
    /// Which one.
    pub rank: Rank,
    /// Number of ranks of its communicator; 0 where it is not told.
    pub nranks: i32,
    /// Its GPU's clock, and that of CUDA's events, beside the events' clock.
    pub tracks: [GpuTrack; 2],
}

/// Ranks of communicators with a timeline; those made later have none.
const MOST_RANKS: usize = 256;
/// Windows of rank pairs that are kept.
const MOST_WINDOWS: usize = 1 << 16;
/// Operations that memory is taken for at a time.
const CHUNK: usize = 4096;

/// The timeline of a process.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// The ranks, by their place.
    pub ranks: Vec<RankLine>,
    places: BTreeMap<Rank, u16>,
    chunks: Vec<Vec<Entry>>,
    count: usize,
    most: usize,
    /// What each window transferred.
    pub windows: Vec<PairWindow>,
    /// Operations that found no room.
    pub left_out: u64,
    /// Windows that found no room.
    pub windows_left_out: u64,
    /// What a tick is worth, nanoseconds.
    pub nanoseconds_per_tick: f64,
}

impl Timeline {
    /// One that takes so many bytes of operations.
    pub fn new(bytes: usize) -> Self {
        Self { most: bytes / size_of::<Entry>(), ..Self::default() }
    }

    /// A rank of a communicator begins. Gives its place; `None` when there are too many.
    pub fn open(&mut self, rank: Rank, nranks: i32) -> Option<u16> {
        if let Some(&place) = self.places.get(&rank) {
            return Some(place);
        }
        let place = u16::try_from(self.ranks.len()).ok().filter(|_| self.ranks.len() < MOST_RANKS)?;
        self.ranks.push(RankLine { rank, nranks, tracks: [GpuTrack::default(), GpuTrack::of_events()] });
        self.places.insert(rank, place);
        Some(place)
    }

    /// Takes an operation in, maybe `alone` in its kernel.
    pub fn operation(&mut self, place: Option<u16>, operation: &Operation, timing: Timing, alone: bool) {
        let Some(place) = place.filter(|_| self.count < self.most) else {
            self.left_out += 1;
            return;
        };
        let host = |ticks: u64| (operation.start, operation.start.saturating_add(ticks));
        let source = timing.source();
        let (start, stop) = match timing {
            Timing::Stamps { start, stop } | Timing::Events(KernelTime { start, stop, .. }) => (start, stop),
            Timing::Proxy(ticks) | Timing::Enqueue(ticks) => host(ticks),
        };
        let entry = Entry {
            start,
            stop,
            bytes: operation.bytes,
            sequence: operation.sequence,
            peer: operation.peer().unwrap_or(-1),
            place,
            function: operation.function,
            algorithm: operation.algorithm,
            protocol: operation.protocol,
            source,
            alone,
        };
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

    /// Takes in what a window transferred to a rank.
    pub fn window(&mut self, place: Option<u16>, peer: i32, pair: &PairSum, rate: Rate) {
        let (Some(place), Some((start, stop))) = (place.filter(|_| self.windows.len() < MOST_WINDOWS), pair.span) else {
            self.windows_left_out += 1;
            return;
        };
        self.windows.push(PairWindow { place, peer, start, stop, bytes: pair.bytes, rate });
    }

    /// What is known of a rank's GPU clock.
    pub fn tracks(&mut self, place: u16) -> Option<&mut [GpuTrack; 2]> {
        self.ranks.get_mut(usize::from(place)).map(|line| &mut line.tracks)
    }

    /// All operations, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flatten()
    }
}

static WANTED: AtomicBool = AtomicBool::new(false);
static OBSTACLE: OnceCell<String> = OnceCell::new();

/// Somebody will ask for the timeline: it is kept from the first communicator on.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Whether somebody will.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Why the timeline will not be seen in Score-P; told when the first communicator is made, since a program without NCCL need not know.
pub fn object(reason: String) {
    let _ = OBSTACLE.set(reason);
}

/// See [`object`].
pub fn obstacle() -> Option<&'static str> {
    OBSTACLE.get().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handle::Handle;
    use crate::kind::Kind;
    use crate::mapping::Mapping;
    use crate::slot::Slot;

    fn operation() -> Operation {
        let slot = Mapping::<Slot>::new(1).unwrap();
        let name = |name| Name::of(Some(name)).bits();
        let shape = u32::from_le_bytes([name(c"AllReduce"), name(c"RING"), name(c"SIMPLE"), 2]);
        slot[0].start(Handle::of_event(Kind::Coll, 0, 1), 0, 1000, [4096, 77, u64::from(shape), 5]);
        Operation::new(&slot[0].read(1).unwrap())
    }

    #[test]
    fn keeps_operations_with_what_timed_them() {
        let mut timeline = Timeline::new(1 << 20);
        let place = timeline.open(Rank { comm: 7, rank: 3 }, 4);
        assert_eq!(timeline.open(Rank { comm: 7, rank: 3 }, 4), place);
        for timing in [Timing::Stamps { start: 5, stop: 9 }, Timing::Proxy(30), Timing::Enqueue(1)] {
            timeline.operation(place, &operation(), timing, true);
        }
        let times: Vec<_> = timeline.entries().map(|entry| (entry.source, entry.start, entry.stop)).collect();
        assert_eq!(times, [(Source::Stamps, 5, 9), (Source::Proxy, 1000, 1030), (Source::Enqueue, 1000, 1001)]);
        let first = timeline.entries().next().unwrap();
        assert_eq!((first.bytes, first.sequence, first.peer), (4096, 77, -1));
        assert_eq!([first.algorithm, first.protocol].map(Name::text), ["RING", "SIMPLE"]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut timeline = Timeline::new(10 * size_of::<Entry>());
        let place = timeline.open(Rank { comm: 7, rank: 3 }, 4);
        for _ in 0..13 {
            timeline.operation(place, &operation(), Timing::Enqueue(1), true);
        }
        timeline.operation(None, &operation(), Timing::Enqueue(1), true);
        assert_eq!((timeline.entries().count(), timeline.left_out), (10, 4));
        for rank in 0..300 {
            timeline.open(Rank { comm: 8, rank }, 4);
        }
        assert_eq!(timeline.ranks.len(), MOST_RANKS);
    }
}
