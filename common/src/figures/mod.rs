//! The figures of the process: sums, unions and series, together with the board's counters.

pub mod arrivals;
pub mod board;
pub(crate) mod introductions;
pub mod metric;
pub mod missing;
pub(crate) mod progress;
#[cfg(feature = "otel")]
pub(crate) mod progress_sums;
pub(crate) mod progress_threads;
pub mod series;
#[cfg(feature = "otel")]
pub(crate) mod snapshot;
pub mod timeline;

use crate::base::{log, notes};
use crate::config::Settings;
use crate::figures::metric::{Fixed, PerFunction};
use crate::figures::missing::Missing;
use crate::figures::progress::ProcessProgress;
use crate::figures::series::SeriesStore;
use crate::figures::timeline::{OperationKey, Timeline};
use crate::launch::lag::Lag;
use crate::nvlink;
use crate::operation::kernels::CountedKernels;
use crate::operation::verdict::Cause;
use crate::operation::verdict::JudgedTime;
use crate::operation::{Operation, TimeSource};
use crate::sums::connections::Served;
use crate::sums::histograms;
use crate::sums::intervals::{self, Intervals};
use crate::sums::rate::Rate;
use crate::sums::round_sums::ToPeer;
use crate::sums::run_sums::{CommunicatorRank, OverNvlink, Totals};
use crate::sums::window_sums::Traffic;

/// Largest number of disjoint times that the process keeps. It adds the times of all communicators, some long after
/// others.
const MOST_APART: usize = 65_536;

/// All figures that the collector works out.
#[derive(Debug)]
pub struct Figures {
    /// Sums.
    pub totals: Totals,
    /// Series.
    pub series: SeriesStore,
    /// Operations with their times, if the timeline is wanted.
    pub timeline: Option<Timeline>,
    /// Nanoseconds of a tick; more exact over time while the clock is measured, unless set.
    pub nanoseconds_per_tick: f64,
    /// Whether `nanoseconds_per_tick` is more than a guess. It is a guess for the first millisecond.
    pub knows_tick: bool,
    /// Times with an operation under way that stamps time, nanoseconds of the GPU's clock.
    busy: Intervals<MOST_APART>,
    /// Such times of the current round, communicator by communicator.
    busy_now: Vec<(u64, u64)>,
    /// Times with an operation under way that events time, nanoseconds of the events' clock.
    busy_by_events: Intervals<MOST_APART>,
    busy_by_events_now: Vec<(u64, u64)>,
    /// Times with a send under way, ticks.
    net: Intervals<MOST_APART>,
    /// Such times of the current round, communicator by communicator.
    net_now: Vec<(u64, u64)>,
    told_out_of_step: bool,
    /// Whether GPU times were asked for. Then operations without a GPU time are counted.
    pub wants_gpu_times: bool,
    /// Delays of stamps in the current round.
    pub lag: Lag,
    /// The progress threads, for exporters.
    #[cfg(feature = "otel")]
    pub(crate) progress_threads: progress_sums::ProgressSums,
    /// Progress for the status file, if there is one.
    pub(crate) progress: Option<ProcessProgress>,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            totals: Totals::default(),
            series: SeriesStore::default(),
            timeline: None,
            nanoseconds_per_tick: 1.0,
            knows_tick: false,
            busy: Intervals::default(),
            busy_now: Vec::new(),
            busy_by_events: Intervals::default(),
            busy_by_events_now: Vec::new(),
            net: Intervals::default(),
            net_now: Vec::new(),
            told_out_of_step: false,
            wants_gpu_times: false,
            lag: Lag::default(),
            #[cfg(feature = "otel")]
            progress_threads: Default::default(),
            progress: None,
        }
    }
}

impl Figures {
    /// Makes the figures that these settings want.
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut figures = Self::default();
        figures.totals.moved = settings.nvlink.then(OverNvlink::default);
        figures.progress = ProcessProgress::wanted(settings);
        figures
    }

    /// Returns the ticks in this number of seconds.
    pub fn ticks(&self, seconds: f64) -> u64 {
        (seconds * 1e9 / self.nanoseconds_per_tick) as u64
    }

    /// Adds the transfers of a window.
    pub fn transfers(&mut self, rank: CommunicatorRank, sent: Vec<ToPeer>, window: &mut Traffic) {
        let already = self.net_now.len();
        for ToPeer { peer, sum, channels, mut under_way } in sent {
            under_way.sort_unstable();
            for into in [self.totals.pairs.entry((rank, peer)).or_default(), window.to(peer)] {
                into.merge(&sum);
                under_way.iter().for_each(|&(start, stop)| into.active.add(start, stop));
            }
            for (channel, sum) in (0..=u8::MAX).zip(&channels).filter(|(_, sum)| sum.transfers > 0) {
                self.totals.channels.entry((rank, peer, channel)).or_default().merge(sum);
            }
            board::add(Fixed::NetBytes as usize, sum.bytes);
            self.net_now.append(&mut under_way);
        }
        // a few ascending runs, which the stable sort merges
        let now = &mut self.net_now[already..];
        now.sort_by_key(|&(start, _)| start);
        now.iter().for_each(|&(start, stop)| window.under_way(start, stop));
    }

    /// Adds the service times of a window's transfers.
    pub fn served(&mut self, rank: CommunicatorRank, served: &Served, window: &mut Traffic) {
        let Served { peer, channel, services, .. } = served;
        self.totals.pairs.entry((rank, *peer)).or_default().services.merge(services);
        self.totals.channel_services.add((rank, *peer), *channel, services);
        window.to(*peer).services.merge(services);
        if histograms::is_wanted() {
            window.by(*peer, *channel).merge(services);
        }
    }

    /// Adds the rate of a pair's window to its histograms.
    pub fn window(&mut self, rank: CommunicatorRank, peer: i32, rate: Rate) {
        if let Some(pair) = self.totals.pairs.get_mut(&(rank, peer)) {
            histograms::keep(&mut pair.windows, |windows| {
                windows.add(rate.sustained_mb_s, rate.fit.and_then(|fit| fit.latency_us))
            });
        }
    }

    /// Adds the latency of a channel's window to its histogram.
    pub fn channel_window(&mut self, (rank, peer, channel): (CommunicatorRank, i32, u8), latency_us: f64) {
        if let Some(channel) = self.totals.channels.get_mut(&(rank, peer, channel)) {
            histograms::keep(&mut channel.spread, |spread| spread.window(latency_us));
        }
    }

    /// Counts an operation that looks done, as far as it is certain. Its time counts once the time's source is certain.
    /// What becomes known later is added later; nothing is ever taken back.
    pub fn credit(&mut self, operation: &mut Operation, judged: JudgedTime) {
        let timing = judged.timing(operation);
        if operation.is_invisible(timing) {
            return;
        }
        let function = operation.function.function();
        if operation.count() {
            board::add(Fixed::Ops as usize, 1);
            board::add(Fixed::Bytes as usize, operation.bytes);
            if let Some(function) = function {
                board::add(metric::of_function(function, PerFunction::Ops), 1);
                board::add(metric::of_function(function, PerFunction::Bytes), operation.bytes);
            }
        }
        let Some((start, stop)) = timing.on_gpu().filter(|_| operation.is_certain(judged.verdict, judged.kernel))
        else {
            return;
        };
        // a longer time contains the shorter time that was added before
        if stop - start > operation.credited {
            let by_events = timing.source() == TimeSource::Events;
            intervals::push(if by_events { &mut self.busy_by_events_now } else { &mut self.busy_now }, start, stop);
        }
        credit_time(operation, judged.kernel.counted(operation.distance, operation.function), stop - start);
    }

    /// Takes in an operation of which nothing more will come. `place` is its rank's place on the timeline.
    pub fn settle(&mut self, rank: CommunicatorRank, place: Option<u8>, operation: &mut Operation, judged: JudgedTime) {
        self.credit(operation, judged);
        let timing = judged.timing(operation);
        if timing.source().is_gpu() {
            board::add(Fixed::GpuTimedOps as usize, 1);
            board::add(Fixed::EventTimedOps as usize, u64::from(timing.source() == TimeSource::Events));
        } else {
            let sum = if timing.source() == TimeSource::Proxy { Fixed::ProxyTime } else { Fixed::EnqueueTime };
            board::add(sum as usize, timing.nanoseconds(self.nanoseconds_per_tick));
            if let Some(cause) = operation.untimed(judged.kernel, judged.unheard).filter(|_| self.wants_gpu_times) {
                self.totals.untimed[cause as usize - 1] += 1;
            }
        }
        if let (None, Some(keeper)) = (place, timeline::keeper()) {
            keeper.leave_out(OperationKey::new(rank, operation));
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.operation(place, operation, timing, !judged.kernel.shared, self.nanoseconds_per_tick);
        }
        self.totals.operation(rank, operation, judged, self.nanoseconds_per_tick);
    }

    /// Notes that stamps of communicator `comm` are no longer believed. The first call warns of it, with the reason and
    /// the cure.
    pub fn out_of_step(&mut self, comm: u64, cause: Cause) {
        if self.told_out_of_step {
            return;
        }
        self.told_out_of_step = true;
        let why = match cause {
            Cause::ToOneself => {
                "a send or receive to oneself, as in every all-to-all, which this NCCL does not count (up to 2.30; cured in 2.31)"
                    .into()
            }
            Cause::Unfollowed(function) if function.text() == "Broadcast" => {
                "ncclBroadcast, which this NCCL reports no further; NCCL_ALLGATHERV_ENABLE=0 cures it".into()
            }
            Cause::Unfollowed(function) => format!("a call of nccl{}, which NCCL reported no further", function.text()),
            Cause::BesideGraph => {
                "an operation beside a CUDA graph of its communicator, whose replays NCCL counts when they run, and operations when they are launched".into()
            }
            Cause::EarlyStamp => {
                "GPU stamps that lie before their operation (where they do not count nanoseconds, NCCL_SCOREP_GPU_TICK tells what)".into()
            }
            Cause::Dropped => "operations that found no room in the recording memory (NCCL_SCOREP_MEMORY_MB)".into(),
            Cause::TooMuchInDoubt => "more operations whose stamps are in doubt than are kept".into(),
        };
        let line = format!(
            "operations of communicator {comm:016x} are not GPU-timed from here on, since NCCL may give them the stamps of others: {why}. They are \
             counted in nccl_out_of_step"
        );
        log::warn(&line);
        notes::add(line);
    }

    /// Updates the counters that are not updated with every operation.
    pub fn update_board(&mut self) {
        let Self { busy, busy_now, busy_by_events, busy_by_events_now, net, net_now, .. } = self;
        for (all, now) in [(&mut *busy, busy_now), (&mut *busy_by_events, busy_by_events_now), (&mut *net, net_now)] {
            now.sort_by_key(|&(start, _)| start);
            now.drain(..).for_each(|(start, stop)| all.add(start, stop));
        }
        board::raise(Fixed::BusyTime as usize, busy.total() + busy_by_events.total());
        board::raise(Fixed::NetTime as usize, (self.net.total() as f64 * self.nanoseconds_per_tick) as u64);
        board::raise(Fixed::InvisibleOps as usize, self.totals.invisible);
        board::raise(Fixed::OutOfStep as usize, self.totals.out_of_step);
        board::raise(Fixed::UnfinishedOps as usize, self.totals.unfinished);
        Missing::of_threads().show(&self.totals);
        let over_nvlink = nvlink::sums();
        board::raise(Fixed::NvlinkSentBytes as usize, over_nvlink.sent);
        board::raise(Fixed::NvlinkReceivedBytes as usize, over_nvlink.received);
        for (counter, count) in (Fixed::UntimedGraph as usize..).zip(self.totals.untimed) {
            board::raise(counter, count);
        }
    }
}

/// Adds a GPU time to the sums that count the kernel at this operation: the operations of a kernel share its time.
fn credit_time(operation: &mut Operation, counted: CountedKernels, nanoseconds: u64) {
    let more = nanoseconds.saturating_sub(operation.credited);
    operation.credited = operation.credited.max(nanoseconds);
    if counted.at_all {
        let sum = if operation.is_collective() { Fixed::CollectiveTime } else { Fixed::P2pTime };
        board::add(sum as usize, more);
    }
    if let Some(function) = operation.function.function().filter(|_| counted.in_function) {
        board::add(metric::of_function(function, PerFunction::Time), more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::event::kind::EventKind;
    use crate::launch::Untimed;
    use crate::operation::kernels::Kernel;
    use crate::operation::tests::recorded;
    use crate::operation::verdict::StampVerdict;
    use crate::record::payload::OfOperation;

    #[test]
    fn the_gpu_is_busy_for_the_longest_time_of_an_operation_once_and_for_no_other_time() {
        let algorithm = crate::event::name::NcclName::of(Some(c"RING"));
        let mut operation =
            recorded(EventKind::Coll, 1000, OfOperation { bytes: 8, algorithm, channels: 1, ..OfOperation::default() });
        operation.stop = crate::operation::moment(4000);
        let mut figures = Figures::default();
        let judged = |verdict| JudgedTime { verdict, kernel: Kernel::default(), unheard: Untimed::NotBelieved };
        for (stamps, busy) in [((500, 550), 50), ((500, 550), 50), ((510, 520), 50), ((490, 580), 90)] {
            operation.kernel_ended(Some(stamps));
            figures.credit(&mut operation, judged(StampVerdict::InStep));
            figures.update_board();
            assert_eq!((figures.busy.total(), operation.credited), (busy, busy));
        }
        figures.credit(&mut operation, judged(StampVerdict::OutOfStep));
        figures.update_board();
        assert_eq!((figures.busy.total(), operation.credited), (90, 90), "no time but the GPU's");
    }
}
