//! Compares the clocks of several machines by the operations that their processes share.
//!
//! For recordings, nobody compared the clocks while the job ran: only each machine's time of day is known. But no rank
//! ends an all-reduce before all ranks have begun it. So each all-reduce bounds the offset of two clocks from both
//! sides, as callbacks and enqueues bound a GPU's clock ([`GpuTrack`]). A receive ends after its send has begun, which
//! bounds the offset from one side; a transfer the other way bounds it from the other. The bounds are certain. Their
//! middle is no estimate: a rank that is always late moves it by half of its lateness. The estimate is by the ends of
//! the same operations (`ends`), which do not depend on who is late.

use super::begins::Begins;
use super::causality::{earliest, is_together};
use super::ends::{EndKind, Ends};
use super::gathered::Gathered;
use super::matching::{self, ArrivalsOfMember, BeginEnd};
use crate::clock::gpu_track::GpuTrack;
use crate::figures::arrivals::Arrivals;
use crate::lateness::clock_tree::{ClockOffset, ClockTree, Estimate, Estimated, MomentOnBoth, ParentLink};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Number of parts of the time from the first to the last operation of two clocks. Only the closest bounds of each part
/// are used.
const PARTS: u64 = 8;

/// A clock, named by the first process that reads it.
type ReaderClock = u32;

/// What is known of two clocks: the second clock's ticks against the first clock's, both by the time of day.
#[derive(Debug, Default)]
struct ClockPair {
    bounds: GpuTrack,
    ends: Ends,
}

type Pairs = BTreeMap<(ReaderClock, ReaderClock), ClockPair>;

/// The members that read a clock, by their places.
type Readers = (ReaderClock, Vec<usize>);

/// Latest begin and earliest end of an operation among the members that read a clock, ticks.
type Span = (u64, u64);

/// Works out the clocks of processes from the operations that they share.
///
/// `told` has the links by the time of day. A process that shares another process' clock has a link to that process,
/// which stays. A process whose clock no operation connects has no link in the tree. Links are chosen for the least
/// error over `spans`, each process' first and last tick, or without a span over its operations. A tick of every clock
/// is `nanoseconds_per_tick` long.
pub fn aligned(
    processes: Vec<Arrivals>,
    told: &[Option<ParentLink>],
    spans: &[[u64; 2]],
    nanoseconds_per_tick: f64,
) -> ClockTree {
    Gathered::of(processes).aligned(told, spans, nanoseconds_per_tick)
}

impl Gathered {
    /// See [`aligned`].
    pub fn aligned(&mut self, told: &[Option<ParentLink>], spans: &[[u64; 2]], nanoseconds_per_tick: f64) -> ClockTree {
        let of_day = |process: u32| told.get(process as usize).copied().flatten();
        let shared = |process: u32| of_day(process).filter(|link| process != 0 && link.is_of_one_clock());
        let clock = |process: u32| shared(process).map_or(process, |link| link.parent);
        let pairs = pairs(self, &Arc::new(ClockTree::new(told)), clock, nanoseconds_per_tick);
        let to_day = |clock: ReaderClock| of_day(clock).filter(|_| clock != 0).map_or(0, |link| since(link.end));
        let span = |process: ReaderClock| spans.get(process as usize).copied();
        let of_pair = |(&clocks, pair): (&(ReaderClock, ReaderClock), &ClockPair)| {
            let link = link(clocks, &pair.bounds, to_day, span(clocks.1))?;
            let estimate = estimate(clocks, &pair.ends, to_day, nanoseconds_per_tick).map(Arc::new);
            Some((clocks, Estimated { link, estimate }))
        };
        let mut reached = reached(pairs.iter().filter_map(of_pair).collect());
        let certain = |link| Estimated { link, estimate: None };
        let link = |process| {
            let root = of_day(process).filter(|_| process == 0).map(certain);
            shared(process).map(certain).or_else(|| reached.remove(&process)).or(root)
        };
        ClockTree::estimated((0..).take(told.len()).map(link).collect())
    }
}

/// Collects the bounds of each pair of clocks. `clock` names a process' clock.
fn pairs(
    gathered: &mut Gathered,
    tree: &Arc<ClockTree>,
    clock: impl Fn(u32) -> ReaderClock,
    nanoseconds_per_tick: f64,
) -> Pairs {
    let mut pairs = Pairs::new();
    for (_, members) in gathered.communicators() {
        let clocks: Vec<ReaderClock> = members.iter().map(|member| clock(member.process)).collect();
        let Some(begins) = Begins::of(members, tree, nanoseconds_per_tick) else { continue };
        let readers = readers(&clocks);
        if readers.len() > 1 {
            add_transfers(&mut pairs, &clocks, members, &begins);
            matching::for_each(members, |arrivals| {
                if let Some(moments) = begins.moments(arrivals) {
                    add(&mut pairs, &readers, &moments);
                }
            });
        }
    }
    pairs
}

/// Returns the ticks of the parent's clock when the process' own clock showed 0.
fn since(meeting: ClockOffset) -> i128 {
    i128::from(meeting.parents) - i128::from(meeting.own)
}

/// Lists the clocks that members read, ascending.
fn readers(clocks: &[ReaderClock]) -> Vec<Readers> {
    let mut readers: BTreeMap<ReaderClock, Vec<usize>> = BTreeMap::new();
    for (place, &clock) in clocks.iter().enumerate() {
        readers.entry(clock).or_default().push(place);
    }
    readers.into_iter().collect()
}

/// Adds the bounds and the ends of an operation.
fn add(pairs: &mut Pairs, readers: &[Readers], moments: &[BeginEnd]) {
    if !moments.first().is_some_and(is_together) {
        return;
    }
    let length = moments.iter().map(|moment| moment.stop.saturating_sub(moment.time)).min().unwrap_or(0);
    let mut of_clocks = readers.iter().filter_map(|(clock, places)| {
        let of_clock = || places.iter().filter_map(|&place| moments.get(place));
        let spans = of_clock().map(span);
        let span = spans.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))?;
        Some((*clock, span, median(of_clock().map(|moment| moment.stop).collect())))
    });
    let Some((first, (begin, end), stop)) = of_clocks.next() else { return };
    for (other, (others_begin, others_end), others_stop) in of_clocks {
        let pair = pairs.entry((first, other)).or_default();
        pair.bounds.told(end, others_begin);
        pair.bounds.enqueued(begin, others_end);
        pair.ends.add(EndKind::Together, [stop, others_stop], length);
    }
}

/// Returns the median of at least one time.
fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    let [low, high] = [times.len().saturating_sub(1) / 2, times.len() / 2].map(|place| times.get(place).copied());
    low.unwrap_or(0).midpoint(high.unwrap_or(0))
}

/// Adds the bounds and the ends of the sends and receives of members that read these clocks.
fn add_transfers(pairs: &mut Pairs, clocks: &[ReaderClock], members: &[ArrivalsOfMember], begins: &Begins) {
    matching::for_each_message(members, |[sender, receiver], [sent, received]| {
        let (from, to) = (clocks[sender], clocks[receiver]);
        if from == to {
            return;
        }
        let Some((sent, received)) = begins.moment(sender, sent).zip(begins.moment(receiver, received)) else { return };
        let ((begin, _), (_, end)) = (span(&sent), span(&received));
        let length = [&sent, &received].map(|moment| moment.stop.saturating_sub(moment.time));
        let length = length[0].min(length[1]);
        let pair = pairs.entry((from.min(to), from.max(to))).or_default();
        if from < to {
            pair.bounds.enqueued(begin, end);
            pair.ends.add(EndKind::To, [sent.stop, received.stop], length);
        } else {
            pair.bounds.told(end, begin);
            pair.ends.add(EndKind::From, [received.stop, sent.stop], length);
        }
    });
}

/// Returns a time at which the member had not begun yet, and a time at which it had certainly ended.
fn span(moment: &BeginEnd) -> Span {
    let [early, late] = moment.clock.map(|ticks| ticks.ceil() as u64);
    (earliest(moment).saturating_sub(early), moment.stop.saturating_add(late))
}

/// Returns what a clock showed at a time of day, to which it is `to_day` ticks.
fn own(of_day: i128, to_day: i128) -> u64 {
    (of_day - to_day).clamp(0, i128::from(u64::MAX)) as u64
}

/// Returns the estimate of a pair's second clock against its first; `None` if too few operations have common ends.
fn estimate(
    (first, second): (ReaderClock, ReaderClock),
    ends: &Ends,
    to_day: impl Fn(ReaderClock) -> i128,
    nanoseconds_per_tick: f64,
) -> Option<Estimate> {
    let apart = ends.apart(nanoseconds_per_tick)?;
    let moment = |(time, apart): (u64, f64)| MomentOnBoth {
        own: own(time.into(), to_day(second)),
        parents: own(i128::from(time) - apart.round() as i128, to_day(first)),
    };
    Estimate::new(apart.moments.into_iter().map(moment).collect(), apart.likely)
}

/// Returns the link of a pair's second clock to its first that has the least error over a span of the second clock's
/// ticks. `None` if the bounds contradict each other.
fn link(
    (first, second): (ReaderClock, ReaderClock),
    track: &GpuTrack,
    to_day: impl Fn(ReaderClock) -> i128,
    span: Option<[u64; 2]>,
) -> Option<ParentLink> {
    // ticks of both clocks are equally long
    let mapping = track.mapping(1.0).filter(|mapping| !mapping.is_contradictory())?;
    let meeting = |(ticks, [least, most]): (u64, [u64; 2])| ClockOffset {
        own: own(ticks.into(), to_day(second)),
        parents: own(least.midpoint(most).into(), to_day(first)),
        error: ((most - least) / 2).saturating_add(1),
    };
    let meetings: Vec<ClockOffset> = mapping.bounded().map(meeting).collect();
    let times = || meetings.iter().map(|meeting| meeting.own);
    let (begin, end) = (times().min()?, times().max()?);
    let part = (end - begin) / PARTS + 1;
    let mut closest: BTreeMap<u64, ClockOffset> = BTreeMap::new();
    for meeting in meetings {
        let known = closest.entry((meeting.own - begin) / part).or_insert(meeting);
        if meeting.error < known.error {
            *known = meeting;
        }
    }
    let [begin, end] = span.unwrap_or([begin, end]);
    let error = |link: &ParentLink| link.error(begin).max(link.error(end));
    let of = |&end: &ClockOffset| {
        let begins = closest.values().filter(move |begin| begin.own < end.own).map(|&begin| Some(begin));
        std::iter::once(None).chain(begins).map(move |begin| ParentLink { parent: first, begin, end })
    };
    closest.values().flat_map(of).min_by(|one, other| error(one).total_cmp(&error(other)))
}

/// Returns, for each clock connected with process 0's clock, the link on its way there with the least error.
fn reached(mut links: BTreeMap<(ReaderClock, ReaderClock), Estimated>) -> BTreeMap<ReaderClock, Estimated> {
    let turned = links.iter().map(|(&(one, other), known)| ((other, one), known.reversed(other))).collect::<Vec<_>>();
    links.extend(turned);
    let mut reached = BTreeMap::new();
    let mut errors = BTreeMap::from([(0, 0_u64)]);
    loop {
        links.retain(|(_, to), _| !errors.contains_key(to));
        let step = |(&(from, to), known): (&(ReaderClock, ReaderClock), &Estimated)| {
            let error = known.link.error(known.link.end.own).ceil() as u64;
            Some((errors.get(&from)?.saturating_add(error), from, to))
        };
        let Some((error, from, clock)) = links.iter().filter_map(step).min() else { return reached };
        errors.insert(clock, error);
        reached.extend(links.remove(&(from, clock)).map(|known| (clock, known)));
    }
}

#[cfg(test)]
mod tests;
