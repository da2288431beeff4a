//! How long computations take that end before the call after them can begin: their end is not seen.

use super::place::{GpuFrom, MIN_OWN_NS, MIN_STEPS, PlacePath, Seen, is_empty, shown};
use super::slowness::{AGREEMENT, Slowness};
use crate::analysis::robust::{median_of, quantile};
use crate::analysis::steps::CallToken;
use crate::analysis::stragglers::samples::CallSample;

/// Share of a computation for which a hidden one has room at least, and the same where slowness is not known.
const MIN_ROOM: [f64; 2] = [0.85, 0.6];
/// Share of a time between two enqueues up to which another one is like it.
const MAX_LAUNCH_DIFFERENCE: f64 = 0.1;
/// Share of its samples that a rank shows which shows nothing, at most, and which shows what it computes, at least.
pub(super) const SHOWN_SHARES: [f64; 2] = [0.1, 0.7];

/// How own times that were not seen are taken: what they can be decides how much there is to gain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Hidden {
    /// As long as those of the other ranks, and as slow as the rank is elsewhere.
    Usual,
    /// As long as those of the slowest rank.
    Longest,
    /// As short as those of a rank that is faster by as much as any rank is slower.
    Shortest,
}

/// Returns the own time of each rank's GPU at a place, where it is hidden.
pub(super) fn usual(
    samples: &[Vec<CallSample>],
    path: &PlacePath,
    of_ranks: &[Option<f64>],
    twin: Option<&[Option<f64>]>,
    slowness: Option<&[Option<Slowness>]>,
    hidden: Hidden,
) -> Vec<f64> {
    let known = |rank: usize| slowness.and_then(|of| of[rank]);
    let slow = |rank: usize| known(rank).map_or(1.0, |it| it.ratio);
    let shown = || of_ranks.iter().enumerate().filter_map(|(rank, own)| Some((rank, (*own)?)));
    let slowest = (0..samples.len()).map(slow).fold(1.0, f64::max);
    let is_shown = shown().next().is_some();
    // how slow ranks are says how long what is hidden takes
    let is_known = is_shown && shown().all(|(rank, _)| known(rank).is_some_and(|it| !it.is_lone));
    let hidden = if is_known { Hidden::Usual } else { hidden };
    let like = match hidden {
        Hidden::Usual => median_of(shown().map(|(rank, own)| own / slow(rank))),
        Hidden::Longest => shown().map(|(_, own)| own).fold(0.0, f64::max),
        Hidden::Shortest => {
            shown().map(|(rank, own)| own / slow(rank).max(1.0)).fold(f64::INFINITY, f64::min) / slowest
        }
    };
    let shortest = shortest(samples, path);
    let is_nothing = path.is_empty || is_empty(samples);
    let bound = if hidden == Hidden::Shortest || is_nothing || shortest.is_infinite() { 0.0 } else { shortest };
    let like_others = |rank: usize| match hidden {
        _ if !is_shown => bound,
        Hidden::Usual => like * slow(rank),
        _ => like,
    };
    let of_rank = |(rank, own): (usize, &Option<f64>)| match own {
        Some(own) => *own,
        None if path.is_empty => like_others(rank),
        None => match twin.and_then(|twin| twin[rank]) {
            Some(twin) => {
                if is_shown {
                    twin
                } else {
                    twin.min(shortest)
                }
            }
            None => like_others(rank),
        },
    };
    of_ranks.iter().enumerate().map(of_rank).collect()
}

/// Returns the shortest time in which any rank did a computation, nanoseconds: it takes none longer.
pub(super) fn shortest(samples: &[Vec<CallSample>], path: &PlacePath) -> f64 {
    let shortest = |samples: &Vec<CallSample>| {
        let mut values: Vec<f64> = samples.iter().map(|sample| path.own(sample)).collect();
        (values.len() >= MIN_STEPS).then(|| quantile(&mut values, 0.1))
    };
    samples.iter().filter_map(shortest).fold(f64::INFINITY, f64::min)
}

/// What a round shows of the places.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShownPlaces<'a> {
    pub(super) tokens: &'a [CallToken],
    /// Usual own time of each rank, where it is seen.
    pub(super) locations: &'a [Vec<Option<f64>>],
    /// Usual time from the enqueue before, nanoseconds; NaN where it is not known.
    pub(super) hosts: &'a [f64],
}

impl<'a> ShownPlaces<'a> {
    /// Returns what ranks show at another place before a call of the same token, where the same is computed: ranks that
    /// show both take as long at both, or where no rank shows this place, the hosts take as long to launch it.
    pub(super) fn twin(self, place: usize, of_ranks: &[Option<f64>]) -> Option<&'a [Option<f64>]> {
        let Self { tokens, locations, hosts } = self;
        let is_hidden = |rank: &usize| of_ranks[*rank].is_none();
        let hidden: Vec<usize> = (0..of_ranks.len()).filter(is_hidden).collect();
        let is_same = |(one, other): (&Option<f64>, &Option<f64>)| match (one, other) {
            (Some(one), Some(other)) => *one >= MIN_OWN_NS && (one / other - 1.0).abs() <= AGREEMENT.0 / 2.0,
            (here, _) => here.is_none(),
        };
        let is_launched_alike = |other: usize| (hosts[place] / hosts[other] - 1.0).abs() <= MAX_LAUNCH_DIFFERENCE;
        let is_twin = |other: &usize| {
            tokens[*other] == tokens[place]
                && hidden.iter().all(|&rank| locations[*other][rank].is_some())
                && of_ranks.iter().zip(&locations[*other]).all(is_same)
                && (hidden.len() < of_ranks.len() || is_launched_alike(*other))
        };
        if hidden.is_empty() {
            return None;
        }
        let nearest = |distance: usize| {
            let before = place.checked_sub(distance).filter(is_twin);
            before.or_else(|| Some(place + distance).filter(|&other| other < locations.len()).filter(is_twin))
        };
        (1..locations.len()).find_map(nearest).map(|nearest| &locations[nearest][..])
    }
}

/// Returns whether computations that are hidden have room: as long as those that are seen, times the rank's slowness.
pub(super) fn has_room(samples: &[Vec<CallSample>], path: &PlacePath, slowness: Option<&[Option<Slowness>]>) -> bool {
    let slow = |rank: usize| slowness.and_then(|of| of[rank]).map(|it| it.ratio);
    // of ranks that show some of their computations, these are the longest
    let shown = |rank: usize| shown(&samples[rank], path);
    let own = |rank: usize| median_of(samples[rank].iter().map(|it| path.own(it)));
    let ranks: Vec<usize> = (0..samples.len()).filter(|&rank| shown(rank) > SHOWN_SHARES[1]).collect();
    let like = median_of(ranks.iter().map(|&rank| own(rank) / slow(rank).unwrap_or(1.0)));
    let share = MIN_ROOM[usize::from(!ranks.iter().all(|&rank| slow(rank).is_some()))];
    let [mut lacks, mut count] = [0, 0];
    // a rank that shows it in some steps hides it in the others
    for rank in (0..samples.len()).filter(|&rank| !ranks.is_empty() && shown(rank) < SHOWN_SHARES[1]) {
        let needs = share * like * slow(rank).unwrap_or(1.0);
        for sample in samples[rank].iter().filter(|it| path.seen_of(it) == Seen::Queued) {
            lacks += usize::from(path.own(sample) < needs);
            count += 1;
        }
    }
    2 * lacks <= count
}

/// Returns the time before calls in which ranks may compute beside what they wait for, nanoseconds, where no rank shows
/// it.
pub(super) fn unseen(samples: &[Vec<CallSample>], path: &PlacePath, of_ranks: &[Option<f64>], usual: &[f64]) -> f64 {
    if path.is_empty || of_ranks.iter().any(Option::is_some) {
        return 0.0;
    }
    let room = |(samples, usual): (&Vec<CallSample>, &f64)| median_of(samples.iter().map(|it| path.own(it))) - usual;
    let room = median_of(samples.iter().zip(usual).map(room));
    if room > MIN_OWN_NS { room } else { 0.0 }
}

/// Returns the time of a program's step in which its ranks may compute unseen, nanoseconds.
pub(in super::super) fn unseen_of(places: &[PlacePath]) -> f64 {
    // after a call whose computation is not known, the next ones have the same time
    let same = places.chunk_by(|_, next| next.unseen > 0.0 && next.gpu == GpuFrom::Computation);
    same.map(|places| places.iter().map(|it| it.unseen).fold(0.0, f64::max)).sum()
}
