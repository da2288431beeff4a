//! Series: values over time, one a window. They go to Score-P at the end of the measurement.
//!
//! Score-P wants the names of all series before any communicator is made, so a name tells a communicator by its number:
//! those of more than one rank count from 0 in the order in which the process makes them. Those without a series of
//! their own are summed up as `other`.
//!
//! A window is kept as sums until the series are asked for: operations settle, and transfers end, long after their
//! window was closed. What was enqueued in a window is in its value, whenever that was done.

mod line;
mod token;

use crate::base::notes;
use crate::sums::run_sums::Rank;
use line::{Line, Windows};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

pub use line::Sums;
pub use token::{Of, Token};

/// A value at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Ticks.
    pub time: u64,
    /// In the series' unit.
    pub value: f64,
}

/// Entries kept of all series together, 16 MiB of them at about: begins of windows, and what was enqueued in each, of
/// each rank apart.
const MOST_ENTRIES: usize = 1 << 17;

static IS_WANTED: AtomicBool = AtomicBool::new(false);
static WANTED: Mutex<Vec<Of>> = Mutex::new(Vec::new());

/// Somebody will ask for that series: it is kept from here on. Without, a long job would keep for hours what nobody
/// reads.
pub fn want(of: Of) {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner).push(of);
    IS_WANTED.store(true, Ordering::Relaxed);
}

/// Whether somebody will ask for any.
pub fn are_wanted() -> bool {
    IS_WANTED.load(Ordering::Relaxed)
}

fn is_wanted(wanted: impl Fn(Of) -> bool) -> bool {
    WANTED.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|&of| wanted(of))
}

/// Where a communicator's windows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// To series of its own, by its number.
    Own(u32),
    /// To `other`.
    Other,
}

/// All series of the process.
#[derive(Debug, Default)]
pub struct SeriesStore {
    /// Communicators of more than one rank so far.
    made: u32,
    lines: BTreeMap<u32, Line>,
    /// By stretch of time, each as long as a window may be, ticks.
    others: Windows,
    stretch: Option<u64>,
    /// Entries that are kept.
    count: usize,
    left_out: u64,
}

impl SeriesStore {
    /// How long a stretch of `other` is, ticks; the first word counts.
    pub fn set_stretch(&mut self, ticks: u64) {
        self.stretch.get_or_insert(ticks.max(1));
    }

    /// A communicator was made, of so many ranks (0 where that is not told). Gives where its windows go, if anybody
    /// asks for them.
    pub fn open(&mut self, nranks: i32) -> Option<Place> {
        // NCCL tells nothing more of one that has a single rank
        if nranks == 1 {
            return None;
        }
        let number = self.made;
        self.made += 1;
        if is_wanted(|of| of.is_of(number)) {
            self.lines.insert(number, Line::default());
            return Some(Place::Own(number));
        }
        is_wanted(|of| of == Of::Other).then_some(Place::Other)
    }

    /// It is told which one it is.
    pub fn name(&mut self, place: Place, Rank { comm, rank }: Rank) {
        if let Some(line) = self.line(place) {
            line.name.get_or_insert_with(|| format!("NCCL {comm:016x} rank {rank}"));
        }
    }

    /// The communicators that have series, by what stands behind a series' name; called as lanes are.
    pub fn names(&self) -> BTreeMap<String, String> {
        let named = self.lines.iter().filter_map(|(number, line)| Some((format!("#{number}"), line.name.clone()?)));
        named.collect()
    }

    /// A window of the communicator fills from then on.
    pub fn window(&mut self, place: Place, opened: u64) {
        let has_room = self.count < MOST_ENTRIES;
        if let Some(line) = self.line(place) {
            let is_new = line.open(opened, has_room);
            self.count += usize::from(is_new);
        }
    }

    /// The communicator ended then.
    pub fn end(&mut self, place: Place, time: u64) {
        if let Some(line) = self.line(place) {
            line.end(time);
        }
    }

    /// Takes in what was enqueued at that time; of the transfers to a rank, where one is given.
    pub fn add(&mut self, place: Place, time: u64, peer: Option<i32>, sums: &Sums) {
        let Self { lines, others, stretch, count, left_out, .. } = self;
        let mut full = *count >= MOST_ENTRIES;
        let (windows, key, sums) = match (place, peer) {
            (Place::Own(number), peer) => {
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
            (Place::Other, None) => {
                let stretch = stretch.unwrap_or(1);
                // transfers between ranks of several communicators have no latency in common
                (others, time / stretch * stretch, Sums { latency_us: None, ..*sums })
            }
            (Place::Other, Some(_)) => return,
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

    /// The points of a series in the order of time, as Score-P wants them, each at its window's end.
    pub fn points(&self, Token { series, of }: Token, nanoseconds_per_tick: f64) -> Vec<Point> {
        let value = |sums: &Sums| sums.value(series.figure, nanoseconds_per_tick);
        let of_line = |line: &Line, windows: &Windows| points(windows, |opening| line.end_of(opening), value);
        match of {
            Of::Communicator(number) => self.lines.get(&number).map(|line| of_line(line, &line.all)),
            Of::Peer(number, peer) => {
                self.lines.get(&number).and_then(|line| Some(of_line(line, line.peers.get(&peer)?)))
            }
            Of::Other => {
                let stretch = self.stretch.unwrap_or(1);
                Some(points(&self.others, |begin| begin.saturating_add(stretch), value))
            }
        }
        .unwrap_or_default()
    }

    /// Windows that found no room, and parts of them.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn line(&mut self, place: Place) -> Option<&mut Line> {
        match place {
            Place::Own(number) => self.lines.get_mut(&number),
            Place::Other => None,
        }
    }
}

/// Each window that has a value, at its end.
fn points(windows: &Windows, end: impl Fn(u64) -> u64, value: impl Fn(&Sums) -> Option<f64>) -> Vec<Point> {
    let point = |(&begin, sums): (&u64, &Sums)| Some(Point { time: end(begin), value: value(sums)? });
    windows.iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests;
