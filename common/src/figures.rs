//! The figures of the process: sums, unions and series, kept together with the board's counters.

use crate::board;
use crate::in_step::Verdict;
use crate::intervals::Intervals;
use crate::metric::{self, Fixed, PerFunction};
use crate::operation::{Operation, Timing};
use crate::series::SeriesStore;
use crate::slot::Kind;
use crate::thread::ThreadCell;
use crate::totals::{Rank, Totals, Transfer};

/// Everything the collector has worked out.
#[derive(Debug)]
pub struct Figures {
    /// Sums.
    pub totals: Totals,
    /// Series.
    pub series: SeriesStore,
    /// What a tick is worth; measured ever better while the measurement lasts, unless told.
    pub nanoseconds_per_tick: f64,
    /// Times with a GPU-timed operation under way, nanoseconds of the GPU's clock.
    busy: Intervals,
    /// Times with a send under way, ticks.
    net: Intervals,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            totals: Totals::default(),
            series: SeriesStore::default(),
            nanoseconds_per_tick: 1.0,
            busy: Intervals::default(),
            net: Intervals::default(),
        }
    }
}

impl Figures {
    /// Ticks in so many seconds.
    pub fn ticks(&self, seconds: f64) -> u64 {
        (seconds * 1e9 / self.nanoseconds_per_tick) as u64
    }

    /// Takes a transfer in.
    pub fn transfer(&mut self, rank: Rank, transfer: &Transfer) {
        let key = (rank, transfer.peer, transfer.channel);
        self.totals.channels.entry(key).or_default().add(transfer);
        self.net.add(transfer.start, transfer.stop);
        board::add(Fixed::NetBytes as usize, transfer.bytes);
    }

    /// Counts an operation that looks done, as far as it is certain: its time only when its stamps are believed. What is learnt
    /// later is added later; nothing is ever taken back.
    pub fn credit(&mut self, operation: &mut Operation, verdict: Verdict) {
        let function = operation.function.function();
        if !operation.counted {
            operation.counted = true;
            board::add(Fixed::Ops as usize, 1);
            board::add(Fixed::Bytes as usize, operation.bytes);
            if let Some(function) = function {
                board::add(metric::of_function(function, PerFunction::Ops), 1);
                board::add(metric::of_function(function, PerFunction::Bytes), operation.bytes);
            }
        }
        match operation.timing(verdict) {
            _ if verdict == Verdict::Undecided => {}
            Timing::Gpu { start, stop } => {
                self.busy.add(start, stop);
                credit_time(operation, stop - start);
            }
            // in step, the GPU's time may still come
            Timing::Proxy(_) | Timing::Enqueue(_) if verdict == Verdict::InStep => {}
            Timing::Proxy(ticks) | Timing::Enqueue(ticks) => {
                credit_time(operation, (ticks as f64 * self.nanoseconds_per_tick) as u64);
            }
        }
    }

    /// Takes in an operation of which nothing more will come.
    pub fn settle(&mut self, rank: Rank, mut operation: Operation, verdict: Verdict) {
        self.credit(&mut operation, verdict);
        let timing = operation.timing(verdict);
        match timing {
            Timing::Gpu { .. } => board::add(Fixed::GpuTimedOps as usize, 1),
            Timing::Proxy(ticks) | Timing::Enqueue(ticks) => {
                credit_time(&mut operation, (ticks as f64 * self.nanoseconds_per_tick) as u64);
            }
        }
        self.totals.operation(rank, &operation, timing);
    }

    /// Brings the counters up to date that are not added to one by one.
    pub fn update_board(&self) {
        board::raise(Fixed::BusyTime as usize, self.busy.total());
        board::raise(Fixed::NetTime as usize, (self.net.total() as f64 * self.nanoseconds_per_tick) as u64);
        board::raise(Fixed::InvisibleOps as usize, self.totals.invisible);
        board::raise(Fixed::OutOfStep as usize, self.totals.out_of_step);
        board::raise(Fixed::UnfinishedOps as usize, self.totals.unfinished);
        board::raise(Fixed::Dropped as usize, ThreadCell::all().map(|cell| cell.dropped.get()).sum());
    }
}

fn credit_time(operation: &mut Operation, nanoseconds: u64) {
    let more = nanoseconds.saturating_sub(operation.credited);
    operation.credited = operation.credited.max(nanoseconds);
    let sum = if operation.kind == Kind::Coll { Fixed::CollectiveTime } else { Fixed::P2pTime };
    board::add(sum as usize, more);
    if let Some(function) = operation.function.function() {
        board::add(metric::of_function(function, PerFunction::Time), more);
    }
}
