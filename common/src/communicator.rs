//! One rank of one communicator, as the collector follows it.

use crate::assembly::Assembly;
use crate::config::Regression;
use crate::event::Communicator as Introduction;
use crate::figures::Figures;
use crate::handle::Handle;
use crate::operation::{Operation, Timing};
use crate::rate::Rate;
use crate::reader::Reader;
use crate::recorder::Recorder;
use crate::slot::Kind;
use crate::totals::{PairSum, Rank};
use crate::window::{WINDOWS, WindowState};
use std::collections::BTreeMap;

/// Seconds without any event after which an operation with all its kernel channels seen is done.
const QUIET_SECONDS: f64 = 0.25;
/// Seconds after which what has not come will not come.
const SILENT_SECONDS: f64 = 30.0;
/// Seconds that a destroyed communicator is kept for late events.
const LINGER_SECONDS: f64 = 2.0;

/// GPU-timed collectives since the last window.
#[derive(Debug, Default)]
struct Collectives {
    count: u64,
    nanoseconds: u64,
    bus_bytes: f64,
    bus_nanoseconds: u64,
}

impl Collectives {
    fn add(&mut self, operation: &Operation, timing: Timing, nranks: i32) {
        let (Kind::Coll, Timing::Gpu { start, stop }) = (operation.kind, timing) else { return };
        self.count += 1;
        self.nanoseconds += stop - start;
        if let Some(bytes) = operation.bus_bytes(nranks) {
            self.bus_bytes += bytes;
            self.bus_nanoseconds += stop - start;
        }
    }
}

/// The collector's view of a communicator.
#[derive(Debug)]
pub struct Communicator {
    id: Handle,
    nranks: i32,
    rank: Rank,
    readers: [Reader; WINDOWS as usize],
    pairs: [BTreeMap<i32, PairSum>; WINDOWS as usize],
    assembly: Assembly,
    collectives: Collectives,
    /// When, in ticks.
    ended: Option<u64>,
}

impl Communicator {
    /// As NCCL introduced it.
    pub fn new(id: Handle, introduction: &Introduction) -> Self {
        Self {
            id,
            nranks: introduction.nranks,
            rank: Rank { comm: introduction.id, rank: introduction.rank },
            readers: Default::default(),
            pairs: Default::default(),
            assembly: Assembly::new(introduction.rank),
            collectives: Collectives::default(),
            ended: None,
        }
    }

    /// NCCL destroyed it at that time, or the measurement is over: no operation starts in it any more.
    pub fn end(&mut self, time: u64) {
        self.ended.get_or_insert(time);
    }

    /// Takes in what was recorded. `now` is the events' clock, read before. True when the communicator has ended and everything
    /// of it is taken in: then it can be forgotten. A `hasty` collector does not wait for late events of ended ones.
    pub fn follow(&mut self, recorder: &Recorder, now: u64, hasty: bool, figures: &mut Figures) -> bool {
        let Some(context) = recorder.contexts.at(self.id.index()) else { return true };
        let linger = figures.ticks(LINGER_SECONDS);
        let ended = self.ended.is_some();
        let lingers = self.ended.is_some_and(|ended| !hasty && now < ended.saturating_add(linger));
        let deadline = (recorder.settings.deadline_seconds * 1e9) as u64;
        let patience = if ended && !lingers { 0 } else { deadline };
        for index in 0..WINDOWS {
            let window = context.window(index);
            let place = index as usize;
            self.readers[place].read(&recorder.pool, window, &mut self.assembly);
            self.take_transfers(place, figures);
            // late children still join the window that fills, as long as any may come
            if ended && (!lingers || self.is_idle()) {
                window.change(WindowState::Filling, WindowState::Closing);
            }
            if self.readers[place].close(&recorder.pool, window, patience, &mut self.assembly) {
                self.take_transfers(place, figures);
                self.finish_window(place, now, recorder.settings.regression, figures);
            }
        }
        self.settle(now, figures);
        let ready = |index| context.window(index).state() == WindowState::Ready;
        let over = ended && (0..WINDOWS).all(ready);
        if over {
            self.settle_all(figures);
            self.push_collectives(now, figures);
            recorder.contexts.release(self.id.index(), self.id.generation());
        }
        over
    }

    /// Closes the window that fills when it is old; callbacks do so only when there are any.
    pub fn close_old_window(&self, recorder: &Recorder, now: u64, most_ticks: u64) {
        let Some((context, index)) = recorder.contexts.find(self.id.raw()) else { return };
        let window = context.window(context.filling());
        if window.blocks() > 0 && now.saturating_sub(window.opened()) > most_ticks.saturating_mul(2) {
            recorder.close(context, index, context.filling(), now);
        }
    }

    fn is_idle(&self) -> bool {
        self.readers.iter().all(Reader::is_idle) && self.assembly.looks_done()
    }

    fn take_transfers(&mut self, window: usize, figures: &mut Figures) {
        for transfer in self.assembly.take_transfers() {
            figures.transfer(self.rank, &transfer);
            self.pairs[window].entry(transfer.peer).or_default().add(&transfer);
        }
    }

    fn settle(&mut self, now: u64, figures: &mut Figures) {
        let quiet = now.saturating_sub(figures.ticks(QUIET_SECONDS));
        let silent = now.saturating_sub(figures.ticks(SILENT_SECONDS));
        for (operation, verdict) in self.assembly.operations() {
            if operation.looks_done() || operation.is_quiet() && operation.active < quiet {
                figures.credit(operation, verdict);
            }
        }
        let Self { assembly, collectives, nranks, rank, .. } = self;
        assembly.settle(quiet, silent, |operation, verdict| {
            collectives.add(&operation, operation.timing(verdict), *nranks);
            figures.settle(*rank, operation, verdict);
        });
        self.take_losses(figures);
    }

    fn settle_all(&mut self, figures: &mut Figures) {
        let Self { assembly, collectives, nranks, rank, .. } = self;
        assembly.end(|operation, verdict| {
            collectives.add(&operation, operation.timing(verdict), *nranks);
            figures.settle(*rank, operation, verdict);
        });
        self.take_losses(figures);
    }

    fn take_losses(&mut self, figures: &mut Figures) {
        let (invisible, orphans) = self.assembly.take_losses();
        figures.totals.invisible += invisible;
        figures.totals.orphans += orphans;
    }

    /// A window was read to its end: its pairs are fitted, shown as points of the series, and added to the totals.
    fn finish_window(&mut self, window: usize, now: u64, regression: Regression, figures: &mut Figures) {
        figures.totals.windows += 1;
        let scale = figures.nanoseconds_per_tick;
        let mut all = PairSum::default();
        let mut push = |name: &str, pair: &PairSum| {
            let rate = Rate::of(pair, regression, scale);
            figures.series.push(&format!("nccl_transfer_rate{name}"), now, rate.rate_mb_s);
            figures.series.push(&format!("nccl_transfer_latency{name}"), now, rate.latency_us);
        };
        let pairs = std::mem::take(&mut self.pairs[window]);
        for (peer, pair) in &pairs {
            push(&format!("@{peer}"), pair);
            all.merge(pair);
        }
        push("", &all);
        for (peer, pair) in pairs {
            figures.totals.pairs.entry((self.rank, peer)).or_default().merge(&pair);
        }
        self.push_collectives(now, figures);
    }

    fn push_collectives(&mut self, now: u64, figures: &mut Figures) {
        let sums = std::mem::take(&mut self.collectives);
        let ratio = |above: f64, below: u64| (below > 0).then(|| above / below as f64);
        let mean = ratio(sums.nanoseconds as f64 / 1e3, sums.count);
        figures.series.push("nccl_collective_time", now, mean);
        figures.series.push("nccl_busbw", now, ratio(sums.bus_bytes, sums.bus_nanoseconds));
    }
}
