//! One job: a look at its processes goes to its communicators, places, links and causes of hangs.

use super::communicator::{RankNews, WatchedCommunicator};
use super::finding::{WatchFinding, WatchedProcess};
use super::hang::HangWatch;
use super::link::{LinkEnd, WatchedLinks};
use super::place::{Place, PlaceSince, PlaceStanding};
use crate::diagnosis::finding::{HangVerdict, ProcessCounts};
use crate::statuses::Observed;
use common::status::StatusCommunicator;
use common::status::progress::{LinkSum, ProgressMark};
use std::collections::{BTreeMap, BTreeSet};

/// Most ranks of a process in one communicator.
const MOST_RANKS: usize = 64;
/// Nanoseconds after which a communicator or a process that no look has had is forgotten.
const FORGOTTEN: u64 = 600_000_000_000;

/// Seconds for which a job whose processes are all gone may be started again, as by torchrun.
const RESTART: f64 = 120.0;

/// A job.
#[derive(Debug, Default)]
pub(super) struct WatchedJob {
    pub(super) name: Option<String>,
    /// Time of its last look.
    pub(super) seen: u64,
    pub(super) is_over: bool,
    /// Time of the first look that found all of its processes gone, seconds.
    gone: Option<f64>,
    /// Places by file.
    pub(super) places: BTreeMap<String, Vec<Place>>,
    nodes: BTreeMap<(Option<String>, Option<String>), usize>,
    communicators: BTreeMap<String, (u64, WatchedCommunicator, WatchedLinks)>,
    pub(super) hang: HangWatch,
    pub(super) counts: ProcessCounts,
    verdict: HangVerdict,
    /// Nodes that were said to stand out.
    pub(super) slow_nodes: BTreeSet<usize>,
    /// Links that were said to be slow.
    pub(super) slow_links: BTreeSet<(String, (i32, i32))>,
    oldest: u64,
}

/// The state of a job, for a view.
#[derive(Debug, Default)]
pub(crate) struct JobState {
    /// Number among the jobs of the directory.
    pub(crate) number: u64,
    pub(crate) name: Option<String>,
    pub(crate) processes: ProcessCounts,
    pub(crate) verdict: HangVerdict,
    /// Causes of a hang.
    pub(crate) causes: Vec<String>,
    pub(crate) ranks: Vec<RankState>,
    pub(crate) slow_links: usize,
    pub(crate) slow_nodes: usize,
    /// Oldest writing of a process that has not ended, nanoseconds since the Epoch.
    pub(crate) oldest: u64,
    pub(crate) is_over: bool,
}

/// The state of a rank.
#[derive(Debug)]
pub(crate) struct RankState {
    pub(crate) process: WatchedProcess,
    /// Own time beyond that of its peers, as a share of the window.
    pub(crate) excess: f64,
    pub(crate) stands: bool,
}

/// Where a rank of a communicator is: its file, and its number among the ranks of the process.
type Seats<'a> = BTreeMap<i32, (&'a Observed, usize, &'a StatusCommunicator)>;

impl WatchedJob {
    /// Takes a look.
    pub(super) fn take(
        &mut self,
        processes: &[Observed],
        (after, is_hasty): (f64, bool),
        time: u64,
        now: f64,
    ) -> Vec<WatchFinding> {
        let mut by_communicator: BTreeMap<&str, Seats<'_>> = BTreeMap::new();
        for process in processes {
            let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
            for of in process.status.communicators.iter().filter(|of| of.ended.is_none() && !of.comm.is_empty()) {
                let Some(rank) = of.rank else { continue };
                let nth = ranks.entry(&of.comm).or_default();
                if *nth < MOST_RANKS {
                    self.seat(process, rank, *nth);
                    by_communicator.entry(&of.comm).or_default().insert(rank, (process, *nth, of));
                    *nth += 1;
                }
            }
            self.settle(process, &ranks);
        }
        let mut findings = vec![];
        for (comm, seats) in &by_communicator {
            self.step(comm, seats, time, &mut findings);
        }
        self.refresh(&by_communicator);
        self.speak_of_places(is_hasty, time, &mut findings);
        let (diagnosis, news) = self.hang.take(processes, (after, is_hasty), self.is_whole(), now);
        (self.counts, self.verdict) = (diagnosis.processes, diagnosis.verdict);
        self.speak_of_hangs(news, time, &mut findings);
        let of = diagnosis.processes;
        self.gone = of.are_gone().then(|| self.gone.unwrap_or(now));
        let is_final = |since: f64| is_hasty || of.ended == of.all || now - since >= RESTART;
        let is_over = self.gone.is_some_and(is_final);
        if is_over && !self.is_over {
            findings.push(self.said_over(of.all, time));
        }
        self.is_over = is_over;
        let running = processes.iter().filter(|process| process.status.over.is_none());
        self.oldest = running.map(|process| process.status.written).min().unwrap_or(0);
        self.forget();
        findings
    }

    /// Gives a rank of a process its place.
    fn seat(&mut self, process: &Observed, rank: i32, nth: usize) {
        let origin = &process.status.origin;
        let next = self.nodes.len();
        let node = *self.nodes.entry((origin.host.clone(), origin.boot.clone())).or_insert(next);
        if !self.places.contains_key(&process.file) {
            self.hang.begin_anew();
            self.places.insert(process.file.clone(), vec![]);
        }
        let Some(places) = self.places.get_mut(&process.file) else { return };
        if places.len() <= nth {
            places.push(Place::new(process, rank, node));
        }
        if let Some(place) = places.get_mut(nth) {
            place.seen = self.seen;
        }
    }

    /// Settles excesses in communicators that a process has destroyed. Those at its end stay: they were not over.
    fn settle(&mut self, process: &Observed, communicators: &BTreeMap<&str, usize>) {
        if process.status.over.is_some() {
            return;
        }
        for place in self.places.get_mut(&process.file).into_iter().flatten() {
            place.standing.retain(|standing| communicators.contains_key(standing.since.communicator.as_str()));
        }
    }

    fn step(&mut self, comm: &str, seats: &Seats<'_>, time: u64, findings: &mut Vec<WatchFinding>) {
        if !self.communicators.contains_key(comm) {
            self.communicators.insert(comm.to_owned(), Default::default());
        }
        let Some((seen, watched, links)) = self.communicators.get_mut(comm) else { return };
        *seen = self.seen;
        let name = seats.values().map(|(_, _, of)| of.name.as_str()).find(|name| !name.is_empty());
        watched.name = name.unwrap_or_default().to_owned();
        let is_whole = |marks: &[ProgressMark]| marks.windows(2).all(|pair| pair[0].number < pair[1].number);
        let marks: BTreeMap<i32, &[ProgressMark]> = seats
            .iter()
            .map(|(rank, (_, _, of))| (*rank, of.marks.as_slice()))
            .filter(|(_, marks)| !marks.is_empty() && is_whole(marks))
            .collect();
        let of_ranks = watched.take(&marks);
        let name = watched.name.clone();
        for (rank, news) in of_ranks {
            let Some((process, nth, _)) = seats.get(&rank) else { continue };
            let Some(place) = self.places.get_mut(&process.file).and_then(|places| places.get_mut(*nth)) else {
                continue;
            };
            let since = |mark: ProgressMark| PlaceSince { communicator: comm.to_owned(), name: name.clone(), mark };
            match news {
                RankNews::Begins { since: mark } => {
                    place.standing.push(PlaceStanding { rank, since: since(mark), excess: None, is_falling: false });
                }
                RankNews::Over => place.standing.retain(|standing| standing.since.communicator != comm),
                RankNews::Paused(pause) => place.pauses.push((place.process_as(rank), since(pause.from), pause)),
            }
        }
        let sums: Vec<(i32, &[LinkSum])> = seats
            .iter()
            .map(|(rank, (_, _, of))| (*rank, of.links.as_slice()))
            .filter(|(_, of)| !of.is_empty())
            .collect();
        let places = &self.places;
        let place = |rank: i32| {
            let (process, nth, _) = seats.get(&rank)?;
            places.get(&process.file)?.get(*nth)
        };
        let of_links = links.take(&sums, &|rank| {
            let place = place(rank).filter(|place| place.is_as_peers())?;
            Some(LinkEnd { node: place.node, is_rising: place.is_rising || watched.is_rising(rank) })
        });
        let of_links = of_links.into_iter().filter_map(|(pair, news)| {
            Some((pair, [place(pair.0)?.process_as(pair.0), place(pair.1)?.process_as(pair.1)], news))
        });
        let of_links: Vec<_> = of_links.collect();
        for (pair, ends, news) in of_links {
            self.speak_of_link((comm, pair), ends, news, time, findings);
        }
    }

    /// Brings the places' excesses up to date.
    fn refresh(&mut self, by_communicator: &BTreeMap<&str, Seats<'_>>) {
        for place in self.places.values_mut().flatten() {
            (place.is_rising, place.is_compared, place.recent) = (false, false, None);
            for standing in &mut place.standing {
                let known = self.communicators.get(&standing.since.communicator);
                standing.excess = known.and_then(|(_, of, _)| of.standing(standing.rank)).or(standing.excess);
                standing.is_falling = known.is_some_and(|(_, of, _)| of.is_falling(standing.rank));
            }
        }
        for (comm, seats) in by_communicator {
            let Some((_, watched, _)) = self.communicators.get(*comm) else { continue };
            for (rank, (process, nth, of)) in seats {
                let place = self.places.get_mut(&process.file).and_then(|places| places.get_mut(*nth));
                let Some(place) = place else { continue };
                place.is_compared |= !of.marks.is_empty();
                place.is_rising |= watched.is_rising(*rank);
                let known = [place.recent, watched.recent(*rank)];
                place.recent = known.into_iter().flatten().reduce(f64::max);
            }
        }
    }

    /// Returns whether all files were there that have just been.
    fn is_whole(&self) -> bool {
        self.places.values().flatten().all(|place| place.seen == self.seen || place.is_late(self.seen))
    }

    fn forget(&mut self) {
        let now = self.seen;
        self.communicators.retain(|_, (seen, _, _)| now.saturating_sub(*seen) < FORGOTTEN);
        self.slow_links.retain(|(comm, _)| self.communicators.contains_key(comm));
        self.places.retain(|_, places| {
            let communicators = &self.communicators;
            let is_kept = |standing: &PlaceStanding| communicators.contains_key(&standing.since.communicator);
            places.iter_mut().for_each(|place| place.standing.retain(is_kept));
            places.iter().any(|place| now.saturating_sub(place.seen) < FORGOTTEN)
        });
    }

    /// Returns the number of nodes.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the state, for a view.
    pub(super) fn state(&self, number: u64) -> JobState {
        let rank = |place: &Place| {
            let stands = !place.standing.is_empty();
            let excess = place.strongest().map(|(_, excess)| excess.share()).or(place.recent)?;
            Some(RankState { process: place.process.clone(), excess, stands })
        };
        JobState {
            number,
            name: self.name.clone(),
            processes: self.counts,
            verdict: self.verdict,
            causes: self.hang.open().map(str::to_owned).collect(),
            ranks: self.places.values().flatten().filter(|place| !place.is_late(self.seen)).filter_map(rank).collect(),
            slow_links: self.slow_links.len(),
            slow_nodes: self.slow_nodes.len(),
            oldest: self.oldest,
            is_over: self.is_over,
        }
    }
}
