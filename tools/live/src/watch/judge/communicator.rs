//! A communicator under watch: marks of its ranks joined into windows, and the tracks of its ranks.

use super::track::{Beyond, HELD, Track, Turn};
use super::window::{ComparedRank, WindowRow, compared};
use common::status::progress::ProgressMark;
use report::analysis::robust::{NORMAL, median};
use report::analysis::stragglers::rules::{MIN_Z, least};
use std::collections::BTreeMap;

/// Windows that each length has: short ones show a large excess soon, long ones a small one at last.
const LENGTHS: [u64; 3] = [1, 4, 16];
/// Windows after which the marks move on since which programs are told apart.
const PROGRAM: u64 = 16;
/// Share of the ranks with a mark, from which on a window is judged without the others.
const MOST: f64 = 0.75;
/// Looks for which a window waits for the marks of the others.
const PATIENCE: u8 = 3;
/// A pause is longer than this, nanoseconds, and than this share of its window.
const PAUSE: f64 = 1e9;
const OF_WINDOW: f64 = 0.05;
/// A pause is longer than this many times the usual excess of its rank.
const UNUSUAL: f64 = 4.0;

/// A rank of the communicator. Takes 900 bytes at most.
#[derive(Debug, Clone, Default)]
struct WatchedRank {
    /// Where each window of each length has begun; `None` where the rank had no such mark.
    from: [Option<ProgressMark>; LENGTHS.len()],
    /// Marks since which programs are told apart: the older one, and the next.
    program: [Option<ProgressMark>; 2],
    tracks: [Track; LENGTHS.len()],
    /// Begin of the excess, by length.
    since: [ProgressMark; LENGTHS.len()],
    /// Number of the newest mark of the last look.
    last: Option<u64>,
    pause: Option<RankPause>,
    /// Whether the shortest windows that have shown it say that it is over.
    is_ending: bool,
    /// The newest one, by length.
    newest: [Option<RankExcess>; LENGTHS.len()],
}

/// A rank's own time beyond its peers', in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankExcess {
    /// Nanoseconds.
    pub(super) excess: f64,
    pub(super) own: f64,
    pub(super) window: f64,
    pub(super) z: f64,
    pub(super) peers: usize,
    /// Own time beyond that of the next slowest rank, whichever it is.
    pub(super) beyond_next: f64,
}

impl RankExcess {
    pub(super) fn share(&self) -> f64 {
        self.excess / self.window
    }
}

/// A single window with a long own time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RankPause {
    /// Nanoseconds beyond the peers.
    pub(super) length: f64,
    /// Mark at its begin.
    pub(super) from: ProgressMark,
}

/// What a window says of a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RankNews {
    Begins { since: ProgressMark },
    Over,
    Paused(RankPause),
}

/// A communicator.
#[derive(Debug, Default)]
pub(super) struct WatchedCommunicator {
    pub(super) name: String,
    ranks: BTreeMap<i32, WatchedRank>,
    /// Number of the mark up to which all is judged; `None` before the first.
    at: Option<u64>,
    windows: u64,
    waited: u8,
}

impl WatchedCommunicator {
    /// Takes the marks of its ranks at a look, each the oldest first, and returns what the new windows say.
    pub(super) fn take(&mut self, marks: &BTreeMap<i32, &[ProgressMark]>) -> Vec<(i32, RankNews)> {
        self.begin_anew(marks);
        let mut news = vec![];
        for number in self.numbers(marks) {
            self.step(number, marks, &mut news);
        }
        news
    }

    /// Ends the windows of ranks whose marks have begun anew: behind a gap, own times count from there. Then all older
    /// marks are gone. They are, too, after a while without a look: a file has the marks of about a minute, or as few
    /// as the newest four where a process has many communicators.
    fn begin_anew(&mut self, marks: &BTreeMap<i32, &[ProgressMark]>) {
        for (rank, marks) in marks {
            let (Some(first), Some(newest)) = (marks.first(), marks.last()) else { continue };
            let of = self.ranks.entry(*rank).or_default();
            if of.last.is_some_and(|last| first.number > last) {
                of.from = Default::default();
            }
            of.last = Some(newest.number);
        }
    }

    /// Returns the numbers of new marks that the ranks have in common, in their order.
    fn numbers(&mut self, marks: &BTreeMap<i32, &[ProgressMark]>) -> Vec<u64> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        let is_new = |mark: &&ProgressMark| self.at.is_none_or(|at| mark.number > at);
        for mark in marks.values().flat_map(|marks| marks.iter().rev().take_while(is_new)) {
            *counts.entry(mark.number).or_default() += 1;
        }
        let all: Vec<u64> =
            counts.iter().filter(|(_, count)| **count == marks.len()).map(|(number, _)| *number).collect();
        if !all.is_empty() {
            self.waited = 0;
            return all;
        }
        let most = (MOST * marks.len() as f64).ceil() as usize;
        let most: Vec<u64> =
            counts.into_iter().filter(|(_, count)| *count >= most.max(2)).map(|(number, _)| number).collect();
        self.waited = if most.is_empty() { 0 } else { self.waited.saturating_add(1) };
        if self.waited <= PATIENCE { vec![] } else { most }
    }

    /// Judges the windows that end at the marks of a number.
    fn step(&mut self, number: u64, marks: &BTreeMap<i32, &[ProgressMark]>, news: &mut Vec<(i32, RankNews)>) {
        let at = |marks: &[ProgressMark]| {
            let index = marks.binary_search_by_key(&number, |mark| mark.number).ok()?;
            Some(marks[index])
        };
        let ends: BTreeMap<i32, ProgressMark> =
            marks.iter().filter_map(|(rank, marks)| Some((*rank, at(marks)?))).collect();
        if self.at.is_some() {
            self.windows += 1;
        }
        for (length, windows) in LENGTHS.into_iter().enumerate() {
            if self.windows.is_multiple_of(windows) {
                self.judge(length, &ends, news);
                for (rank, end) in &ends {
                    self.ranks.entry(*rank).or_default().from[length] = Some(*end);
                }
                let absent = self.ranks.iter_mut().filter(|(rank, _)| !ends.contains_key(rank));
                absent.for_each(|(_, rank)| rank.from[length] = None);
            }
        }
        if self.windows.is_multiple_of(PROGRAM) {
            // ranks without this mark have no base in common with the others until the next one
            for (rank, of) in &mut self.ranks {
                let [older, newer] = &mut of.program;
                *older = if self.windows == 0 { ends.get(rank).copied() } else { *newer };
                *newer = ends.get(rank).copied();
            }
        }
        self.at = Some(number);
    }

    fn judge(&mut self, length: usize, ends: &BTreeMap<i32, ProgressMark>, news: &mut Vec<(i32, RankNews)>) {
        let row = |(rank, end): (&i32, &ProgressMark)| {
            let of = self.ranks.get(rank)?;
            WindowRow::between(*rank, of.from[length].as_ref()?, end, of.program[0].as_ref()?)
        };
        let Some((window, found)) = compared(ends.iter().filter_map(row).collect()) else { return };
        let usual = self.usual_deviation(length, &found);
        let slowest = two_slowest(&found);
        for it in &found {
            let Some(rank) = self.ranks.get_mut(&it.rank) else { continue };
            let own = rank.tracks[length].deviation().max(usual) * window;
            let z = it.excess / it.deviation.max(own).max(1.0);
            let next = if it.own >= slowest[0] { slowest[1] } else { slowest[0] };
            let excess =
                RankExcess { excess: it.excess, own: it.own, window, z, peers: it.peers, beyond_next: it.own - next };
            rank.take(length, &excess, &mut |what| news.push((it.rank, what)));
        }
    }

    /// Returns the usual deviation of a rank of these from window to window, as a share of the window.
    fn usual_deviation(&self, length: usize, found: &[ComparedRank]) -> f64 {
        let of = |it: &ComparedRank| Some(self.ranks.get(&it.rank)?.tracks[length].deviation());
        median(&mut found.iter().filter_map(of).collect::<Vec<f64>>())
    }

    /// Returns the excess of a rank that stands out, over the newest windows of the length that shows it.
    pub(super) fn standing(&self, rank: i32) -> Option<RankExcess> {
        let of = self.ranks.get(&rank)?;
        let shows = of.tracks.iter().position(|track| track.stands && !track.is_falling());
        let length = shows.or_else(|| of.tracks.iter().position(|track| track.stands))?;
        let newest = of.newest[length]?;
        Some(RankExcess { excess: of.tracks[length].recent(usize::from(HELD)) * newest.window, ..newest })
    }

    /// Returns whether the newest windows of all lengths that have shown a rank show it no more.
    pub(super) fn is_falling(&self, rank: i32) -> bool {
        self.ranks.get(&rank).is_some_and(|of| of.tracks.iter().all(|track| !track.stands || track.is_falling()))
    }

    /// Returns the newest excess of a rank, as a share of the window, over some windows.
    pub(super) fn recent(&self, rank: i32) -> Option<f64> {
        let of = self.ranks.get(&rank)?;
        of.newest[0].map(|_| of.tracks[0].recent(usize::from(HELD)))
    }

    /// Returns whether a rank may be about to stand out.
    pub(super) fn is_rising(&self, rank: i32) -> bool {
        self.ranks.get(&rank).is_some_and(|of| of.tracks.iter().any(|track| track.rising() > 0))
    }
}

impl WatchedRank {
    /// Takes its excess in a window.
    fn take(&mut self, length: usize, it: &RankExcess, tell: &mut impl FnMut(RankNews)) {
        let beyond = Beyond::of(it.excess, least(it.window), it.z, MIN_Z);
        let from = self.from[length].unwrap_or_default();
        let stood = self.tracks.iter().any(|track| track.stands);
        let (lowest, rose) = (self.tracks.iter().position(|track| track.stands), self.tracks[length].rising());
        self.newest[length] = Some(*it);
        if length == 0 {
            if let Some(pause) = self.pause.take()
                && beyond != Beyond::Whole
            {
                tell(RankNews::Paused(pause));
            }
            let usual = NORMAL * self.tracks[0].recent(super::track::KEPT).abs() * it.window;
            let is_pause = it.excess > PAUSE && it.excess > OF_WINDOW * it.window && it.excess > UNUSUAL * usual;
            if is_pause && it.z > MIN_Z && rose == 0 && !stood && self.tracks[0].is_known() {
                self.pause = Some(RankPause { length: it.excess, from });
            }
        }
        let turn = self.tracks[length].take(it.share(), beyond);
        if rose == 0 && self.tracks[length].rising() == 1 {
            self.since[length] = from;
        }
        match turn {
            Turn::Begins => {
                self.is_ending = false;
                if !stood {
                    tell(RankNews::Begins { since: self.since[length] });
                }
            }
            Turn::Over if lowest == Some(length) => self.is_ending = true,
            _ => {}
        }
        // longer windows show a smaller excess, so the newest of them must not say that it goes on
        if self.is_ending && self.tracks.iter().all(|track| !track.stands || track.is_falling()) {
            self.is_ending = false;
            self.tracks.iter_mut().for_each(Track::settle);
            tell(RankNews::Over);
        }
    }
}

/// Returns the two longest own times.
fn two_slowest(found: &[ComparedRank]) -> [f64; 2] {
    let mut slowest = [0.0_f64; 2];
    for it in found {
        if it.own > slowest[0] {
            slowest = [it.own, slowest[0]];
        } else if it.own > slowest[1] {
            slowest[1] = it.own;
        }
    }
    slowest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks of these numbers. Each collective has 0.9 s of own time, which counts from the mark `from` on.
    fn marks(numbers: &[u64], from: u64) -> Vec<ProgressMark> {
        let mark = |&number| ProgressMark {
            number,
            time: number * 1_000_000_000,
            own: (number - from) * 900_000_000,
            operations: number,
            bytes: number,
        };
        numbers.iter().map(mark).collect()
    }

    #[test]
    fn a_rank_takes_as_much_memory_as_the_documentation_says() {
        assert!(size_of::<WatchedRank>() <= 900, "{}", size_of::<WatchedRank>());
    }

    #[test]
    fn own_times_are_not_compared_across_a_gap() {
        let mut watched = WatchedCommunicator::default();
        let mut look = |one: &[ProgressMark], other: &[ProgressMark]| {
            assert_eq!(watched.take(&BTreeMap::from([(0, one), (1, other)])), []);
        };
        look(&marks(&[0], 0), &marks(&[0], 0));
        // rank 1 begins anew behind its first mark, so its own time up to 4 is too short
        look(&marks(&[0, 4, 8], 0), &marks(&[1, 2, 3, 4, 5, 6, 7, 8], 1));
        let excess = |rank| watched.ranks[&rank].tracks[0].newest(9).collect::<Vec<f64>>();
        assert_eq!([0, 1].map(excess), [[0.0], [0.0]]);
    }
}
