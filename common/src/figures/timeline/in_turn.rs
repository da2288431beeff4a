//! Places a GPU's operations on the events' clock. Each keeps its length on the GPU, and operations that followed one
//! another there still do. Operations that the GPU has not timed follow one another, too.
//!
//! The mapping between the clocks is uncertain by some microseconds, and so is the ratio of their speeds. A length
//! taken from two mapped times would be off by the second uncertainty. So an operation begins where it is mapped to,
//! and is as long as on the GPU. If it then reaches into the next operation, the next one begins later, by no more than
//! the mapping's uncertainty. The rest is taken off its end.

use super::entry::TimelineEntry;
use crate::clock::gpu_track::GpuMapping;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Largest delay of an operation's begin against its mapped begin, nanoseconds.
const SLACK: f64 = 20_000.0;

/// Places the operations of one GPU's clock.
pub(super) struct InTurn<'a> {
    mapping: &'a GpuMapping,
    nanoseconds_per_tick: f64,
    /// Operations that have not ended on the GPU yet: their ends there, and their places among the operations.
    under_way: BinaryHeap<Reverse<(u64, usize)>>,
}

impl<'a> InTurn<'a> {
    pub(super) fn new(mapping: &'a GpuMapping, nanoseconds_per_tick: f64) -> Self {
        Self { mapping, nanoseconds_per_tick, under_way: BinaryHeap::new() }
    }

    /// Turns the operations' stamps, in the order of begins, into ticks.
    pub(super) fn place(mut self, operations: &mut [TimelineEntry]) {
        let slack = (SLACK / self.nanoseconds_per_tick) as u64;
        let mut over = Vec::new();
        let mut begin = 0;
        for place in 0..operations.len() {
            let (start, stop) = (operations[place].start, operations[place].stop);
            over.clear();
            while let Some(&Reverse((_, ended))) = self.under_way.peek().filter(|Reverse((end, _))| *end <= start) {
                self.under_way.pop();
                over.push(ended);
            }
            let reached = over.iter().map(|&over| operations[over].stop).fold(begin, u64::max);
            let mapped = self.mapping.ticks(start);
            // begins never fall, so operations that are over do not delay later begins
            begin = reached.clamp(mapped, mapped.saturating_add(slack));
            for &over in &over {
                operations[over].stop = operations[over].stop.min(begin);
            }
            let length = stop.saturating_sub(start) as f64 / self.nanoseconds_per_tick;
            operations[place].start = begin;
            operations[place].stop = begin.saturating_add(length.round() as u64);
            self.under_way.push(Reverse((stop, place)));
        }
    }
}

/// Places the operations of a rank that the GPU has not timed. `operations` are all of the rank, in the order of their
/// starts. NCCL runs those of a communicator in that order: each begins when the operations before it have ended, and
/// has ended when the next operation that the GPU has timed begins.
pub(super) fn place_untimed(operations: &mut [TimelineEntry]) {
    let mut next = u64::MAX;
    for operation in operations.iter_mut().rev() {
        if operation.source.is_gpu() {
            next = next.min(operation.start);
        } else {
            operation.stop = operation.stop.min(next.max(operation.start));
        }
    }
    let mut end = 0;
    for operation in operations {
        if !operation.source.is_gpu() {
            operation.start = operation.start.max(end);
            operation.stop = operation.stop.max(operation.start);
        }
        end = end.max(operation.stop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::gpu_track::GpuTrack;
    use crate::event::name::NcclName;
    use crate::figures::timeline::NO_ROOT;
    use crate::operation::TimeSource;

    const BEGIN: u64 = 5_000_000_000;

    fn operation(start: u64, length: u64) -> TimelineEntry {
        let (name, start) = (NcclName::default(), BEGIN + start);
        TimelineEntry {
            start,
            stop: start + length,
            bytes: 0,
            sequence: 0,
            peer: -1,
            root: NO_ROOT,
            place: 0,
            order: 0,
            launched: 0,
            function: name,
            algorithm: name,
            protocol: name,
            source: TimeSource::Stamps,
            alone: true,
        }
    }

    /// Returns the mapping of a GPU's clock that is faster by `drift`, observed for ten seconds; a tick is half a
    /// nanosecond.
    fn mapping(drift: f64) -> GpuMapping {
        let mut track = GpuTrack::default();
        for time in (0..10_000_000_000_u64).step_by(1_000_000) {
            track.told(time * 2, BEGIN + (time as f64 * (1.0 + drift)) as u64);
        }
        track.mapping(0.5).unwrap()
    }

    /// Returns the operations on the events' clock, after a check of what holds for all of them.
    fn placed(drift: f64, operations: &[TimelineEntry]) -> Vec<TimelineEntry> {
        let mapping = mapping(drift);
        let mut placed = operations.to_vec();
        InTurn::new(&mapping, 0.5).place(&mut placed);
        for (later, before) in (0..operations.len()).flat_map(|later| (0..later).map(move |before| (later, before))) {
            let in_turn = operations[before].stop <= operations[later].start;
            assert!(!in_turn || placed[before].stop <= placed[later].start, "{before} {later}");
            assert!(placed[before].start <= placed[later].start);
        }
        for (operation, placed) in operations.iter().zip(&placed) {
            let late = placed.start - mapping.ticks(operation.start);
            assert!(late as f64 * 0.5 <= SLACK && placed.start <= placed.stop);
        }
        placed
    }

    fn lengths(operations: &[TimelineEntry]) -> Vec<u64> {
        operations.iter().map(|operation| operation.stop - operation.start).collect()
    }

    #[test]
    fn an_operation_is_as_long_as_the_gpu_says() {
        for drift in [-50e-6, 0.0, 50e-6] {
            // one behind the other, half a second in all
            let operations: Vec<TimelineEntry> =
                (0..25).map(|number| operation(number * 20_000_000, 20_000_000)).collect();
            let off = lengths(&placed(drift, &operations)).into_iter().map(|length| length.abs_diff(40_000_000)).max();
            assert!(off <= Some(2 * 2000), "{drift}: {off:?}");
        }
        assert_eq!(lengths(&placed(50e-6, &[operation(0, 368_000_000), operation(400_000_000, 7)])), [736_000_000, 14]);
    }

    #[test]
    fn operations_that_the_gpu_has_not_timed_follow_one_another() {
        let gpu = TimeSource::Stamps;
        let operations = [
            (TimeSource::Enqueue, [0, 50], [0, 50]),
            (TimeSource::Proxy, [10, 30], [50, 50]),
            (TimeSource::Proxy, [60, 150], [60, 100]),
            (gpu, [100, 200], [100, 200]),
            (gpu, [100, 180], [100, 180]),
            (TimeSource::Enqueue, [110, 120], [200, 200]),
            (TimeSource::Proxy, [115, 300], [200, 300]),
        ];
        let of = |&(source, [start, stop], _): &(TimeSource, [u64; 2], [u64; 2])| TimelineEntry {
            start,
            stop,
            source,
            ..operation(0, 0)
        };
        let mut placed: Vec<TimelineEntry> = operations.iter().map(of).collect();
        place_untimed(&mut placed);
        let times: Vec<[u64; 2]> = placed.iter().map(|operation| [operation.start, operation.stop]).collect();
        assert_eq!(times, operations.map(|(_, _, expected)| expected));
    }

    #[test]
    fn whatever_overlaps_on_the_gpu_does_so_here_and_nothing_else() {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut time = 0;
            let operations: Vec<TimelineEntry> = (0..300)
                .map(|_| {
                    time += random.u64(..3) * random.u64(..1_000_000);
                    operation(time, random.u64(..2_000_000))
                })
                .collect();
            placed([-90e-6, 50e-6, 0.0][seed as usize % 3], &operations);
        }
    }
}
