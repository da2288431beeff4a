//! The begins of the ranks' collectives in this process, and their uncertainties.

use super::Timeline;
use super::entry::TimelineEntry;
use super::gpus::mappings;
use super::kernel_begin::KernelBegin;
use super::sample::SampledCollective;
use crate::clock::gpu_track::GpuMapping;
use crate::figures::arrivals::{Arrival, Arrivals, Collective, KnownTime, RankArrivals};
use crate::operation::TimeSource;

impl Timeline {
    /// Returns the collectives on the timeline whose occurrence is known, see `left_out.rs`. Returns none if events
    /// were dropped, since nobody knows which operations are missing.
    pub fn arrivals(&self, is_complete: bool) -> Arrivals {
        let mappings = mappings(&self.ranks, self.nanoseconds_per_tick);
        let mut collectives: Vec<Vec<Collective>> = vec![Vec::new(); self.ranks.len()];
        let mut left_out = self.collectives_left_out.count;
        for entry in self.entries().filter(|entry| entry.peer < 0 && is_complete) {
            let place = usize::from(entry.place);
            let (Some(of_rank), Some(mappings)) = (collectives.get_mut(place), mappings.get(place)) else { continue };
            if self.collectives_left_out.may_precede(entry) {
                left_out += 1;
                continue;
            }
            if of_rank.try_reserve(1).is_err() {
                return Arrivals { left_out: left_out.saturating_add(self.count as u64), ..Arrivals::default() };
            }
            of_rank.push(Collective {
                function: entry.function,
                sequence: entry.sequence,
                order: entry.order,
                arrival: arrival(entry, mappings, self.nanoseconds_per_tick),
            });
        }
        let ranks = self.ranks.iter().zip(collectives);
        let ranks = ranks.map(|(line, collectives)| RankArrivals::new(line.rank, collectives)).collect();
        Arrivals { ranks, left_out }
    }

    /// Returns those collectives that are kept for the process' summary (`sample.rs`), and the bytes that they may take
    /// there; `None` if the process writes none. There are no collectives if events were dropped.
    pub fn sampled(&self, is_complete: bool, nanoseconds_per_tick: f64) -> Option<(Arrivals, usize)> {
        let sample = self.sample.as_ref()?;
        let mappings = mappings(&self.ranks, nanoseconds_per_tick);
        let ranks = self.ranks.iter().zip(&mappings).zip(0..).map(|((line, mappings), place)| {
            let (share, kept) = sample.of(place);
            let kept = kept.iter().filter(|_| is_complete);
            let mut arrivals: Vec<Arrival> = kept
                .map(|SampledCollective { entry, occurrence }| Arrival {
                    function: entry.function,
                    sequence: entry.sequence,
                    occurrence: *occurrence,
                    ..arrival(entry, mappings, nanoseconds_per_tick)
                })
                .collect();
            arrivals.sort_unstable_by_key(Arrival::operation);
            RankArrivals { rank: line.rank, share, arrivals }
        });
        Some((Arrivals { ranks: ranks.collect(), left_out: 0 }, sample.bytes))
    }
}

impl Timeline {
    /// Adds sends and receives. The sequence number is the other rank, the occurrence the number of earlier ones with
    /// that rank. Adds none if an operation is missing, since nobody knows which.
    pub fn add_transfers(&self, arrivals: &mut Arrivals, is_complete: bool) {
        if !is_complete || self.left_out > 0 {
            return;
        }
        let mappings = mappings(&self.ranks, self.nanoseconds_per_tick);
        let mut transfers: Vec<Vec<Collective>> = vec![Vec::new(); self.ranks.len()];
        for entry in self.entries() {
            let place = usize::from(entry.place);
            let (Some(of_rank), Some(mappings)) = (transfers.get_mut(place), mappings.get(place)) else { continue };
            // a transfer to the own rank does not compare clocks; and only such transfers could have the same number on
            // all ranks of a communicator
            let itself = self.ranks.get(place).map(|line| line.rank.rank);
            let Some(peer) = u64::try_from(entry.peer).ok().filter(|_| itself != Some(entry.peer)) else { continue };
            of_rank.push(Collective {
                function: entry.function,
                sequence: peer,
                order: entry.order,
                arrival: arrival(entry, mappings, self.nanoseconds_per_tick),
            });
        }
        for (rank, transfers) in arrivals.ranks.iter_mut().zip(transfers) {
            rank.arrivals.extend(RankArrivals::new(rank.rank, transfers).arrivals);
            rank.arrivals.sort_unstable_by_key(Arrival::operation);
        }
    }
}

/// Returns what is known of an entry's begin and duration.
pub(super) fn arrival(
    entry: &TimelineEntry,
    [stamps, events]: &[Option<GpuMapping>; 2],
    nanoseconds_per_tick: f64,
) -> Arrival {
    let by_events = entry.source == TimeSource::Events;
    let arrival =
        Arrival { bytes: entry.bytes, is_fused: !entry.alone, known: KnownTime::Nothing, ..Arrival::default() };
    if !entry.source.is_gpu() {
        return arrival;
    }
    let mapping = if by_events { events } else { stamps }.as_ref();
    let begin = mapping.filter(|_| by_events).map(|mapping| KernelBegin::of(entry, mapping, nanoseconds_per_tick));
    let start = begin.map_or(entry.start, |begin| begin.start);
    let length = entry.stop.saturating_sub(start);
    let arrival = Arrival { known: KnownTime::Length, length, by_events, ..arrival };
    let mapping = mapping.filter(|_| begin.is_none_or(|begin| begin.is_known));
    let Some((mapping, [least, most])) = mapping.and_then(|mapping| Some((mapping, mapping.bounds(start)?))) else {
        return arrival;
    };
    let time = mapping.ticks(start);
    Arrival {
        known: KnownTime::Begin,
        time,
        clock: [time.saturating_sub(least), most.saturating_sub(time)],
        ahead: begin.map_or(0, |begin| (begin.ahead as f64 / nanoseconds_per_tick).ceil() as u64),
        is_anchored: mapping.is_anchored(start),
        ..arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::NcclName;
    use crate::figures::timeline::NO_ROOT;
    use crate::sums::run_sums::CommunicatorRank;

    /// Returns a timeline of replays of one sequence number. The GPU's clock shows the same as the events' clock;
    /// callbacks report stamps 3 us late, and calls come 20 us before.
    fn timeline(entries: &[TimelineEntry]) -> Timeline {
        let mut timeline = Timeline { nanoseconds_per_tick: 0.5, ..Timeline::new(1 << 20) };
        timeline.open(CommunicatorRank { comm: 7, rank: 3 }, 4);
        let clocks = timeline.clocks(0).unwrap();
        for clock in [&mut clocks.stamps, &mut clocks.events] {
            for stamp in (0..100).map(|number| 10_000_000 + number * 100_000) {
                clock.told((stamp + 3_000) * 2, stamp);
                clock.enqueued((stamp - 20_000) * 2, stamp);
            }
        }
        timeline.chunks.push(entries.to_vec());
        timeline.count = entries.len();
        timeline
    }

    fn entry(order: u32, start: u64, source: TimeSource) -> TimelineEntry {
        let name = NcclName::default();
        // half a microsecond before the event
        let launched = if source == TimeSource::Events { 2 * start - 1_000 } else { 0 };
        let [function, algorithm, protocol] = [name; 3];
        let (stop, sequence) = (start + 50_000, 9);
        TimelineEntry {
            start,
            stop,
            bytes: 1,
            sequence,
            peer: -1,
            root: NO_ROOT,
            place: 0,
            order,
            launched,
            function,
            algorithm,
            protocol,
            source,
            alone: true,
        }
    }

    #[test]
    fn arrivals_have_bounds_of_their_own() {
        let [stamps, events] = [entry(0, 11_000_000, TimeSource::Stamps), entry(1, 12_000_000, TimeSource::Events)];
        let arrivals = timeline(&[stamps, events]).arrivals(true).ranks.remove(0).arrivals;
        let told: Vec<_> = arrivals.iter().map(|it| (it.time, it.length, it.clock, it.ahead, it.by_events)).collect();
        // stamps go through the callbacks; the second kernel began 0.9 us after its launch
        let expected =
            [(22_006_000, 50_000, [46_000, 0], 0, false), (24_000_800, 36_100, [13_002, 33_002], 27_800, true)];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_has_no_time_keeps_its_place_among_replays() {
        let mut late = entry(2, 12_000_000, TimeSource::Events);
        late.launched += 1_000_000;
        let entries = [
            late,
            entry(3, 11_000_000, TimeSource::Stamps),
            entry(1, 50, TimeSource::Enqueue),
            entry(0, 13_000_000, TimeSource::Stamps),
        ];
        let found = |is_complete| {
            let arrivals = timeline(&entries).arrivals(is_complete).ranks.remove(0).arrivals;
            arrivals.iter().map(|it| (it.occurrence, it.known, it.time, it.length)).collect::<Vec<_>>()
        };
        let expected = [
            (0, KnownTime::Begin, 26_006_000, 50_000),
            (1, KnownTime::Nothing, 0, 0),
            (2, KnownTime::Length, 0, 46_800),
            (3, KnownTime::Begin, 22_006_000, 50_000),
        ];
        assert_eq!(found(true), expected);
        assert_eq!(found(false), []);
    }

    #[test]
    fn a_length_takes_no_clock() {
        let mut timeline = timeline(&[entry(0, 11_000_000, TimeSource::Stamps)]);
        timeline.ranks[0].clocks = Default::default();
        let arrival = timeline.arrivals(true).ranks[0].arrivals[0];
        assert_eq!((arrival.known, arrival.length, arrival.time), (KnownTime::Length, 50_000, 0));
    }

    #[test]
    fn bytes_of_a_shared_kernel_are_not_those_of_its_time() {
        let fused = TimelineEntry { alone: false, ..entry(0, 11_000_000, TimeSource::Stamps) };
        let arrivals =
            timeline(&[fused, entry(1, 12_000_000, TimeSource::Stamps)]).arrivals(true).ranks.remove(0).arrivals;
        assert_eq!(arrivals.iter().map(|it| (it.bytes, it.is_fused)).collect::<Vec<_>>(), [(1, true), (1, false)]);
    }
}
