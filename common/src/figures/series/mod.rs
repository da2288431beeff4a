//! Series: values over time, one per window. They go into Score-P's trace at the end of the measurement.
//!
//! Score-P wants the names of all series before any communicator is made. So a name identifies a communicator by its
//! number: communicators of more than one rank count from 0, in the order in which the process makes them.
//! Communicators without a series of their own are summed up as `other`.
//!
//! A window is kept as sums until the series are asked for: operations settle, and transfers end, long after their
//! window was closed. A window's value contains all that was enqueued in it, whenever that was done.

mod line;
mod token;

use crate::base::notes;
use crate::figures::metric::Figure;
use crate::hardware::Ways;
use crate::nvlink;
use crate::sums::run_sums::CommunicatorRank;
use line::{OwnWindows, Windows};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

pub use line::WindowTotals;
pub use token::{Of, SeriesName};

/// A value at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Time, ticks.
    pub time: u64,
    /// Value in the series' unit.
    pub value: f64,
}

/// Largest number of entries of all series together, about 16 MiB. Entries are the windows' opening times, and the sums
/// of each window for each peer.
const MOST_ENTRIES: usize = 1 << 17;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static WANTED: Mutex<Vec<Of>> = Mutex::new(Vec::new());

/// Announces that this series will be asked for: it is kept from this call on. Without it, a long job would keep series
/// for hours that nobody reads.
pub fn want(of: Of) {
    if of == Of::Process {
        nvlink::want_rates();
    }
    WANTED.lock().unwrap_or_else(PoisonError::into_inner).push(of);
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Returns whether any series will be asked for.
pub fn are_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

fn is_wanted(wanted: impl Fn(Of) -> bool) -> bool {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|&of| wanted(of))
}

/// The series that a communicator's windows go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesTarget {
    /// Series of its own, by the communicator's number.
    Own(u32),
    /// The series `other`.
    Other,
}

/// All series of the process.
#[derive(Debug, Default)]
pub struct SeriesStore {
    /// Number of communicators of more than one rank so far.
    made: u32,
    lines: BTreeMap<u32, OwnWindows>,
    /// By begin of the stretch. A stretch is as long as a window may be, ticks.
    others: Windows,
    stretch: Option<u64>,
    /// Number of entries that are kept.
    count: usize,
    left_out: u64,
}

impl SeriesStore {
    /// Sets the length of a stretch of `other`, ticks. Only the first call counts.
    pub fn set_stretch(&mut self, ticks: u64) {
        self.stretch.get_or_insert(ticks.max(1));
    }

    /// Notes that a communicator of `nranks` ranks was made (0 if unknown). Returns where its windows go, if its series
    /// are wanted.
    pub fn open(&mut self, nranks: i32) -> Option<SeriesTarget> {
        // NCCL reports nothing more of a communicator with a single rank
        if nranks == 1 {
            return None;
        }
        let number = self.made;
        self.made += 1;
        if is_wanted(|of| of.is_of(number)) {
            self.lines.insert(number, OwnWindows::default());
            return Some(SeriesTarget::Own(number));
        }
        is_wanted(|of| of == Of::Other).then_some(SeriesTarget::Other)
    }

    /// Notes the id and rank of a communicator.
    pub fn name(&mut self, place: SeriesTarget, CommunicatorRank { comm, rank }: CommunicatorRank) {
        if let Some(line) = self.line(place) {
            line.name.get_or_insert_with(|| format!("NCCL {comm:016x} rank {rank}"));
        }
    }

    /// Returns the lane names of the communicators that have series, by the part behind a series' name.
    pub fn names(&self) -> BTreeMap<String, String> {
        let named = self.lines.iter().filter_map(|(number, line)| Some((format!("#{number}"), line.name.clone()?)));
        named.collect()
    }

    /// Notes that a window of the communicator opened at this time.
    pub fn window(&mut self, place: SeriesTarget, opened: u64) {
        let has_room = self.count < MOST_ENTRIES;
        if let Some(line) = self.line(place) {
            let is_new = line.open(opened, has_room);
            self.count += usize::from(is_new);
        }
    }

    /// Notes the end of the communicator.
    pub fn end(&mut self, place: SeriesTarget, time: u64) {
        if let Some(line) = self.line(place) {
            line.end(time);
        }
    }

    /// Adds what was enqueued at this time. With a peer, the sums are of the transfers to that rank.
    pub fn add(&mut self, place: SeriesTarget, time: u64, peer: Option<i32>, sums: &WindowTotals) {
        let Self { lines, others, stretch, count, left_out, .. } = self;
        let mut full = *count >= MOST_ENTRIES;
        let (windows, key, sums) = match (place, peer) {
            (SeriesTarget::Own(number), peer) => {
                let Some(line) = lines.get_mut(&number) else { return };
                full |= line.is_full_at(time);
                let key = line.window_at(time);
                match peer {
                    None => (&mut line.all, key, *sums),
                    Some(peer) if is_wanted(|of| of == Of::Peer(number, peer)) => {
                        (line.peers.entry(peer).or_default(), key, *sums)
                    }
                    Some(_) => return,
                }
            }
            (SeriesTarget::Other, None) => {
                let stretch = stretch.unwrap_or(1);
                // transfers between ranks of several communicators have no common latency
                (others, time / stretch * stretch, WindowTotals { latency_us: None, ..*sums })
            }
            (SeriesTarget::Other, Some(_)) => return,
        };
        match windows.get_mut(&key) {
            Some(window) => window.add(&sums),
            None if full => {
                *left_out += 1;
                notes::add("the series are incomplete: there were more windows than are kept".into());
            }
            None => {
                windows.insert(key, sums);
                *count += 1;
            }
        }
    }

    /// Returns the points of a series in the order of time, each at its window's end.
    pub fn points(&self, SeriesName { series, of }: SeriesName, nanoseconds_per_tick: f64) -> Vec<Point> {
        let value = |sums: &WindowTotals| sums.value(series.figure, nanoseconds_per_tick);
        let of_line = |line: &OwnWindows, windows: &Windows| points(windows, |opening| line.end_of(opening), value);
        match of {
            Of::Communicator(number) => self.lines.get(&number).map(|line| of_line(line, &line.all)),
            Of::Peer(number, peer) => {
                self.lines.get(&number).and_then(|line| Some(of_line(line, line.peers.get(&peer)?)))
            }
            Of::Process => {
                let way: fn(&Ways<f64>) -> f64 =
                    if series.figure == Figure::NvlinkSent { |rate| rate.sent } else { |rate| rate.received };
                let rates = nvlink::rates();
                Some(rates.iter().map(|(time, rate)| Point { time: *time, value: way(rate) }).collect())
            }
            Of::Other => {
                let stretch = self.stretch.unwrap_or(1);
                Some(points(&self.others, |begin| begin.saturating_add(stretch), value))
            }
        }
        .unwrap_or_default()
    }

    /// Returns the lane name of a series' communicator, if it is of one.
    pub fn name_of(&self, of: Of) -> Option<String> {
        let line = self.lines.iter().find(|(number, _)| of.is_of(**number));
        line.and_then(|(_, line)| line.name.clone())
    }

    /// Returns the number of windows, and parts of windows, that found no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn line(&mut self, place: SeriesTarget) -> Option<&mut OwnWindows> {
        match place {
            SeriesTarget::Own(number) => self.lines.get_mut(&number),
            SeriesTarget::Other => None,
        }
    }
}

/// Returns a point for each window that has a value, at the window's end.
fn points(windows: &Windows, end: impl Fn(u64) -> u64, value: impl Fn(&WindowTotals) -> Option<f64>) -> Vec<Point> {
    let point = |(&begin, sums): (&u64, &WindowTotals)| Some(Point { time: end(begin), value: value(sums)? });
    windows.iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests;
