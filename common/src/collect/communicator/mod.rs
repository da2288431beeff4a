//! A communicator of this process (one rank of it) as the collector follows it.

mod listening;
mod settling;
mod taking;
mod transfers;
mod windows;

use crate::clock::CLOCK;
use crate::collect::assembly::Assembly;
use crate::collect::course::{Course, Round};
use crate::collect::reader::WindowReader;
use crate::collect::standing::Standing;
use crate::event;
use crate::event::handle::Handle;
use crate::figures::Figures;
use crate::figures::series;
use crate::launch::times::{OfKernel, Replay};
use crate::operation::kernels::KernelTiming;
use crate::origin;
use crate::record::context::switching::Switched;
use crate::record::pool::Pool;
use crate::record::window::{WINDOWS, WindowState};
use crate::sums::run_sums::CommunicatorRank;
use listening::Listeners;
use transfers::WindowTransfers;

/// Approximate largest number of a communicator's events that a round takes in. Later rounds take in the rest.
const MOST_EVENTS: u32 = 16_384;

/// A communicator as the collector follows it.
#[derive(Debug)]
pub struct FollowedCommunicator {
    id: Handle,
    nranks: i32,
    nnodes: i32,
    /// Known from the start or, with interface v1 to v3, from the first operation on.
    rank: Option<CommunicatorRank>,
    readers: [WindowReader; WINDOWS as usize],
    /// Transfers of each window.
    transfers: WindowTransfers,
    assembly: Assembly,
    /// Its place on the timeline. The outer `None` means that it has not asked for a place yet.
    place: Option<Option<u8>>,
    /// Its place in the series, if its windows are shown over time.
    series: Option<series::SeriesTarget>,
    /// Time of its end, ticks.
    ended: Option<u64>,
    next_settling: u64,
    /// All events that began before this time were taken in, in ticks.
    horizon: u64,
    over: bool,
    /// Whether its launches are reported and events should time them.
    wants_launches: bool,
    /// Kept for the status file alone.
    standing: Option<Box<Standing>>,
}

impl FollowedCommunicator {
    /// Makes a communicator from NCCL's introduction.
    pub fn new(id: Handle, introduction: &event::InitCommunicator) -> Self {
        let mut communicator = Self {
            id,
            nranks: introduction.nranks,
            nnodes: introduction.nnodes,
            rank: None,
            readers: Default::default(),
            transfers: WindowTransfers::default(),
            assembly: Assembly::default(),
            place: None,
            series: None,
            ended: None,
            next_settling: 0,
            horizon: 0,
            over: false,
            wants_launches: false,
            standing: None,
        };
        communicator.assembly.set_index(id.index());
        communicator.assembly.set_kernel_events(introduction.kernel_events);
        communicator.assembly.time_by(&introduction.timed);
        communicator.wants_launches = introduction.timed.launches;
        if introduction.introduced {
            communicator.tell(introduction.id, introduction.rank);
        }
        communicator
    }

    /// Returns the handle of its context.
    pub fn id(&self) -> Handle {
        self.id
    }

    /// Sets its place in the series over time.
    pub(crate) fn show(&mut self, series: Option<series::SeriesTarget>) {
        self.series = series;
    }

    /// The event types that its NCCL is asked for may change while the process runs.
    pub(crate) fn may_switch(&mut self, switched: Switched) {
        self.assembly.may_switch(switched);
    }

    /// Keeps its standing from now on.
    pub(crate) fn stand(&mut self, standing: Standing) {
        self.standing = Some(Box::new(standing));
    }

    /// Returns its standing, if it is kept.
    pub(crate) fn standing(&self) -> Option<&Standing> {
        self.standing.as_deref()
    }

    /// Returns its standing, if it is kept.
    pub(crate) fn standing_mut(&mut self) -> Option<&mut Standing> {
        self.standing.as_deref_mut()
    }

    /// Returns its id, once it is known.
    pub(crate) fn comm(&self) -> Option<u64> {
        self.rank.map(|rank| rank.comm)
    }

    /// Returns the time of its end, in ticks.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Sets its id and rank, when they are known.
    pub fn tell(&mut self, comm: u64, rank: i32) {
        self.rank = Some(CommunicatorRank { comm, rank });
        self.assembly.set_rank(rank);
    }

    /// Notes its end: NCCL destroyed it at this time, or the measurement is over. No operation starts in it any more.
    pub fn end(&mut self, time: u64) {
        self.ended.get_or_insert(time);
    }

    /// Returns whether it has ended and all its events were taken in. Then it can be forgotten.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Returns how many of its recorded events are in windows that were not taken apart.
    pub(crate) fn unread(&self, pool: &Pool) -> u64 {
        self.readers.iter().map(|reader| reader.held(pool)).sum()
    }

    /// Returns its id and rank. If it ends before they are known, a placeholder stands for them. Until then, nothing of
    /// it is taken in.
    fn known(&self) -> Option<CommunicatorRank> {
        self.rank.or(self.ended.map(|_| CommunicatorRank { comm: 0, rank: -1 }))
    }

    /// Takes in what was recorded, the oldest windows first, and only so many events that the memory for them stays
    /// small.
    pub(crate) fn read(&mut self, course: Course<'_>, figures: &mut Figures) -> Round {
        let Course { recorder, now, .. } = course;
        let (Some(context), Some(rank)) = (recorder.contexts.at(self.id.index()), self.known()) else {
            return Round::at(now);
        };
        figures.totals.meet(rank);
        figures.totals.count_members(rank, (self.nranks, self.nnodes));
        self.assembly.begin_round(now);
        self.assembly.set_scale(figures.nanoseconds_per_tick, figures.knows_tick);
        self.assembly.use_stamps(recorder.settings.gpu_time.has_stamps());
        if self.wants_launches && recorder.launches.are_timed() {
            self.assembly.expect_launches();
        }
        // operations of a recording have their times from their start on
        if recorder.settings.graph_events > 0 && !origin::is_recorded() {
            self.assembly.expect_replays();
        }
        if let Some(standing) = &mut self.standing {
            standing.begin_round(now, recorder.launches.are_timed(), figures.nanoseconds_per_tick);
        }
        self.take_place(rank, figures);
        let mut order: [u32; WINDOWS as usize] = std::array::from_fn(|index| index as u32);
        order.sort_by_key(|&index| context.window(index).opened());
        let (mut left, mut horizon) = (MOST_EVENTS, now);
        for index in order {
            let window = context.window(index);
            let place = index as usize;
            if let (Some(series), true) = (self.series, window.state() != WindowState::Ready) {
                figures.series.window(series, window.opened());
            }
            let mut listeners = Listeners { assembly: &mut self.assembly, standing: self.standing.as_deref_mut() };
            let begin = self.readers[place].read(&recorder.pool, window, &mut left, &mut listeners);
            horizon = begin.map_or(horizon, |begin| begin.min(horizon));
            self.transfers.read(rank, place, self.assembly.take_sent(), figures);
        }
        figures.totals.steps(rank, self.assembly.take_states());
        figures.lag.merge(self.assembly.take_lag());
        self.horizon = horizon;
        Round { events: MOST_EVENTS - left, horizon }
    }

    /// Takes in a report of the kernel whose first operation has this order.
    pub(crate) fn heard(&mut self, first: u64, news: OfKernel, figures: &mut Figures) {
        // may come before the first read, but the tracks of the GPU's clocks need its times from the first one on
        if let Some(rank) = self.known() {
            self.take_place(rank, figures);
        }
        if let Some(standing) = &mut self.standing {
            // the round that reads the operations began before this report came
            standing.heard(first, news, CLOCK.now());
        }
        match news {
            OfKernel::Reached => {}
            OfKernel::Captured(call) => self.assembly.captured(call),
            OfKernel::Ambiguous(call) => self.assembly.forget_captured(call),
            // as without events: a replay of the recording cannot know more
            OfKernel::Missed => self.assembly.timed(first, KernelTiming::Unheard),
            OfKernel::GivenUp(cause) => self.assembly.timed(first, KernelTiming::Untimed(cause)),
            OfKernel::Launched { stamps } => self.assembly.launched(first, stamps, KernelTiming::Awaited),
            OfKernel::Untimed { cause, stamps } => self.assembly.launched(first, stamps, KernelTiming::Untimed(cause)),
            OfKernel::Ran(time) => {
                self.assembly.timed(first, time.map_or_else(KernelTiming::Untimed, KernelTiming::Timed))
            }
        }
    }

    /// Takes the replays of captured launches with events since the last call.
    pub(crate) fn take_replays(&mut self) -> Vec<Replay> {
        self.assembly.take_replays()
    }

    /// Returns the time before which all events that began were taken in, in ticks.
    pub(crate) fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Returns whether an operation is under way whose end is to be seen at once.
    pub fn awaits(&self) -> bool {
        self.assembly.awaits_operations()
    }

    fn is_idle(&self) -> bool {
        self.readers.iter().all(WindowReader::is_idle) && self.assembly.looks_done()
    }

    /// Takes a place on the timeline, if there is one, before anything is read or heard.
    fn take_place(&mut self, rank: CommunicatorRank, figures: &mut Figures) {
        if self.place.is_none() {
            let place = figures.timeline.as_mut().and_then(|timeline| timeline.open(rank, self.nranks));
            self.assembly.follow_clocks(place.is_some());
            self.place = Some(place);
            if let Some(series) = self.series {
                figures.series.name(series, rank);
            }
        }
    }

    /// Hands what was learnt of the GPU's clocks so far to the timeline.
    pub(crate) fn give_track(&self, figures: &mut Figures) {
        let Some((place, timeline)) = self.place.flatten().zip(figures.timeline.as_mut()) else { return };
        if let (Some(ours), Some(theirs)) = (self.assembly.clocks(), timeline.clocks(place)) {
            // a communicator that was made again and did nothing must not overwrite a track
            theirs.update(ours.clone());
        }
    }
}
