//! When the ranks of the process began their collectives, and how well that is known.

use super::gpus::mappings;
use super::{Entry, Timeline};
use crate::arrivals::{Arrival, Arrivals, Collective, RankArrivals};
use crate::gpu_track::GpuMapping;
use crate::operation::Source;

impl Timeline {
    /// The collectives that the GPU has timed: of the others nobody knows when they began. Where some are missing
    /// altogether, there are none, since of a graph's replays one that is missing here would shift all others.
    pub fn arrivals(&self, is_complete: bool) -> Arrivals {
        let mappings = mappings(&self.ranks, self.nanoseconds_per_tick);
        let mut collectives: Vec<Vec<Collective>> = vec![Vec::new(); self.ranks.len()];
        for entry in self.entries().filter(|entry| entry.peer < 0 && is_complete && self.left_out == 0) {
            let place = usize::from(entry.place);
            let (Some(of_rank), Some(mappings)) = (collectives.get_mut(place), mappings.get(place)) else { continue };
            if of_rank.try_reserve(1).is_err() {
                return Arrivals::default();
            }
            of_rank.push(Collective {
                function: entry.function,
                sequence: entry.sequence,
                order: entry.order,
                arrival: arrival(entry, mappings, self.nanoseconds_per_tick),
            });
        }
        let ranks = self.ranks.iter().zip(collectives);
        Arrivals { ranks: ranks.map(|(line, collectives)| RankArrivals::new(line.rank, collectives)).collect(), one_in: 1 }
    }
}

/// `None` where it is not known when the rank arrived.
fn arrival(entry: &Entry, [stamps, events]: &[Option<GpuMapping>; 2], nanoseconds_per_tick: f64) -> Option<Arrival> {
    let by_events = entry.source == Source::Events;
    let mapping = if by_events { events } else { stamps };
    let mapping = mapping.as_ref().filter(|_| entry.source.is_gpu() && entry.ahead != Entry::VAGUE)?;
    let time = mapping.ticks(entry.start);
    let [least, most] = mapping.bounds(entry.start)?;
    let ticks = |nanoseconds: u64| (nanoseconds as f64 / nanoseconds_per_tick).ceil() as u64;
    let length = ticks(entry.stop.saturating_sub(entry.start));
    Some(Arrival {
        time,
        length,
        clock: [time.saturating_sub(least), most.saturating_sub(time)],
        ahead: ticks(u64::from(entry.ahead) * 1000),
        by_events,
        bytes: if entry.alone { entry.bytes } else { 0 },
        ..Arrival::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::totals::Rank;

    /// Replays of one number on a GPU whose clock shows the events' one, told of 3 us late; calls are 20 us before.
    fn timeline(entries: &[Entry]) -> Timeline {
        let mut timeline = Timeline { nanoseconds_per_tick: 0.5, ..Timeline::new(1 << 20) };
        timeline.open(Rank { comm: 7, rank: 3 }, 4);
        for clock in timeline.tracks(0).unwrap() {
            for stamp in (0..100).map(|number| 10_000_000 + number * 100_000) {
                clock.told((stamp + 3_000) * 2, stamp);
                clock.enqueued((stamp - 20_000) * 2, stamp);
            }
        }
        timeline.chunks.push(entries.to_vec());
        timeline.count = entries.len();
        timeline
    }

    fn entry(order: u32, start: u64, source: Source) -> Entry {
        let name = Name::default();
        let ahead = if source == Source::Events { 5 } else { 0 };
        let [function, algorithm, protocol] = [name; 3];
        let (stop, sequence) = (start + 50_000, 9);
        Entry {
            start,
            stop,
            bytes: 1,
            sequence,
            peer: -1,
            place: 0,
            order,
            ahead,
            function,
            algorithm,
            protocol,
            source,
            alone: true,
        }
    }

    #[test]
    fn arrivals_have_bounds_of_their_own() {
        let [stamps, events] = [entry(0, 11_000_000, Source::Stamps), entry(1, 12_000_000, Source::Events)];
        let arrivals = timeline(&[stamps, events]).arrivals(true).ranks.remove(0).arrivals;
        let told: Vec<_> = arrivals.iter().map(|it| (it.time, it.length, it.clock, it.ahead, it.by_events)).collect();
        // stamps go through the callbacks, events through their records
        let expected = [(22_006_000, 100_000, [46_000, 0], 0, false), (23_960_000, 100_000, [0, 46_000], 10_000, true)];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_has_no_time_keeps_its_place_among_replays() {
        let mut late = entry(2, 12_000_000, Source::Events);
        late.ahead = Entry::VAGUE;
        let entries =
            [late, entry(3, 11_000_000, Source::Stamps), entry(1, 50, Source::Enqueue), entry(0, 13_000_000, Source::Stamps)];
        let occurrences = |is_complete| {
            let arrivals = timeline(&entries).arrivals(is_complete).ranks.remove(0).arrivals;
            arrivals.iter().map(|it| (it.occurrence, it.time)).collect::<Vec<_>>()
        };
        assert_eq!(occurrences(true), [(0, 26_006_000), (3, 22_006_000)]);
        assert_eq!(occurrences(false), []);
    }
}
