//! Sums of operations.

use super::adding::{grow, scaled};
use crate::operation::kernels::CountedKernels;
use crate::operation::{Sends, TimeSource, Timing};
use crate::sums::histograms::{self, IfHistograms, OfOperations};

/// Operations of one kind, function and peer of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationSum {
    /// Number of operations.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Number of operations timed by the GPU. `time`, `kernel_time`, `kernel_once`, `min` and `max` are theirs, in
    /// nanoseconds.
    pub gpu_timed: u64,
    /// Bytes of the operations timed by the GPU.
    pub gpu_timed_bytes: u64,
    /// Number of operations among them that CUDA events timed.
    pub event_timed: u64,
    /// Sum of times.
    pub time: u64,
    /// Sum of their kernels' times. Each kernel counts once per function, with its first operation of that function.
    pub kernel_time: u64,
    /// Sum of their kernels' times. Each kernel counts once, with its first operation.
    pub kernel_once: u64,
    /// Shortest time.
    pub min: Option<u64>,
    /// Longest time.
    pub max: Option<u64>,
    /// Number of operations timed by the last proxy operation's stop.
    pub proxy_timed: u64,
    /// Sum of their times, ticks.
    pub proxy_ticks: u64,
    /// Number of operations timed by their enqueue.
    pub enqueue_timed: u64,
    /// Sum of their times, ticks.
    pub enqueue_ticks: u64,
    /// Histograms of their sizes and times.
    pub spread: IfHistograms<OfOperations>,
}

impl OperationSum {
    /// Adds an operation's transfers over the network, if it has any.
    pub(super) fn sent(&mut self, sends: Sends, nanoseconds_per_tick: f64) {
        let nanoseconds = scaled(sends.ticks, nanoseconds_per_tick);
        let means = [sends.bytes, nanoseconds].map(|sum| sum.checked_div(sends.count));
        if let [Some(size), Some(time)] = means {
            histograms::keep(&mut self.spread, |spread| spread.sends.add(sends.count, [size, time]));
        }
    }

    /// Adds an operation. `counted` says which sums of kernel times count its kernel here.
    pub fn add(&mut self, bytes: u64, timing: Timing, counted: CountedKernels, nanoseconds_per_tick: f64) {
        self.count += 1;
        grow(&mut self.bytes, bytes);
        let time = timing.nanoseconds(nanoseconds_per_tick);
        histograms::keep(&mut self.spread, |spread| {
            spread.sizes.add(bytes);
            spread.times[timing.source() as usize].add(time);
        });
        match timing {
            Timing::Stamps { .. } | Timing::Events(_) => {
                self.gpu_timed += 1;
                grow(&mut self.gpu_timed_bytes, bytes);
                self.event_timed += u64::from(timing.source() == TimeSource::Events);
                grow(&mut self.time, time);
                grow(&mut self.kernel_time, if counted.in_function { time } else { 0 });
                grow(&mut self.kernel_once, if counted.at_all { time } else { 0 });
                self.min = Some(self.min.map_or(time, |min| min.min(time)));
                self.max = Some(self.max.map_or(time, |max| max.max(time)));
            }
            Timing::Proxy(ticks) => {
                self.proxy_timed += 1;
                grow(&mut self.proxy_ticks, ticks);
            }
            Timing::Enqueue(ticks) => {
                self.enqueue_timed += 1;
                grow(&mut self.enqueue_ticks, ticks);
            }
        }
    }

    /// Adds all operations of another sum.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        grow(&mut self.bytes, other.bytes);
        self.gpu_timed += other.gpu_timed;
        grow(&mut self.gpu_timed_bytes, other.gpu_timed_bytes);
        self.event_timed += other.event_timed;
        grow(&mut self.time, other.time);
        grow(&mut self.kernel_time, other.kernel_time);
        grow(&mut self.kernel_once, other.kernel_once);
        self.min = self.min.into_iter().chain(other.min).min();
        self.max = self.max.max(other.max);
        self.proxy_timed += other.proxy_timed;
        grow(&mut self.proxy_ticks, other.proxy_ticks);
        self.enqueue_timed += other.enqueue_timed;
        grow(&mut self.enqueue_ticks, other.enqueue_ticks);
        histograms::merge(&mut self.spread, &other.spread, OfOperations::merge);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ChannelSum, TransferKey};
    use super::*;

    #[test]
    fn operations_are_summed_by_what_timed_them() {
        let mut sum = OperationSum::default();
        let counted = |in_function, at_all| CountedKernels { in_function, at_all };
        sum.add(10, Timing::Stamps { start: 100, stop: 150 }, counted(true, true), 1.0);
        sum.add(10, Timing::Stamps { start: 100, stop: 130 }, counted(true, false), 1.0);
        sum.add(10, Timing::Stamps { start: 100, stop: 102 }, counted(false, false), 1.0);
        sum.add(10, Timing::Proxy(7), counted(true, true), 1.0);
        sum.add(10, Timing::Enqueue(3), counted(true, true), 1.0);
        assert_eq!((sum.count, sum.bytes, sum.gpu_timed, sum.gpu_timed_bytes), (5, 50, 3, 30));
        assert_eq!((sum.time, sum.kernel_time, sum.kernel_once), (82, 80, 50));
        assert_eq!((sum.min, sum.max), (Some(2), Some(50)));
        assert_eq!((sum.proxy_timed, sum.proxy_ticks, sum.enqueue_timed, sum.enqueue_ticks), (1, 7, 1, 3));
    }

    /// Times as from clocks near the end of 64 bits.
    #[test]
    fn sums_stay_at_the_most_that_they_hold() {
        let mut sum = OperationSum::default();
        for timing in [
            Timing::Stamps { start: 0, stop: u64::MAX - 5 },
            Timing::Proxy(u64::MAX - 5),
            Timing::Enqueue(u64::MAX - 5),
        ] {
            for _ in 0..2 {
                sum.add(u64::MAX - 5, timing, CountedKernels { in_function: true, at_all: true }, 1.0);
            }
        }
        let other = sum.clone();
        sum.merge(&other);
        let bytes = [sum.bytes, sum.gpu_timed_bytes];
        let times = [sum.time, sum.kernel_time, sum.kernel_once, sum.proxy_ticks, sum.enqueue_ticks];
        assert_eq!((bytes, times), ([u64::MAX; 2], [u64::MAX; 5]));
        let mut channel = ChannelSum::default();
        for _ in 0..2 {
            channel.add(&TransferKey { start: 0, stop: u64::MAX - 5, bytes: u64::MAX - 5, peer: 1, channel: 0 }, 1.0);
        }
        assert_eq!((channel.bytes, channel.ticks), (u64::MAX, u64::MAX));
    }
}
