//! The time and processor time that readings take.

use common::clock::nanoseconds;
use std::time::{Duration, Instant};

/// A part of a reading.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadingPart {
    /// Counters of NVLink and of adapters.
    Counters,
    /// Xids of GPUs.
    Xids,
    /// Conditions of GPUs.
    Conditions,
    /// Rates over single NVLinks, by GPM.
    Links,
    /// Rates over PCIe.
    Pcie,
}

/// All readings' cost of a part.
#[derive(Debug, Clone, Copy, Default)]
struct PartCost {
    readings: u32,
    time: Duration,
    processor: Duration,
    longest: Duration,
}

/// The cost of all readings, by part.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadingCost([PartCost; 5]);

/// The begin of a part.
#[derive(Debug)]
pub(super) struct PartBegin {
    moment: Instant,
    processor_ns: u64,
}

impl PartBegin {
    /// Returns the begin of a part that begins now.
    pub(super) fn now() -> Self {
        Self { moment: Instant::now(), processor_ns: nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID) }
    }
}

impl ReadingCost {
    /// Adds a part that ends now. NVML works on the thread that calls it.
    pub(super) fn add(&mut self, part: ReadingPart, begin: &PartBegin) {
        let end = PartBegin::now();
        let time = end.moment.duration_since(begin.moment);
        let cost = &mut self.0[part as usize];
        cost.readings += 1;
        cost.time += time;
        cost.processor += Duration::from_nanos(end.processor_ns.saturating_sub(begin.processor_ns));
        cost.longest = cost.longest.max(time);
    }

    /// Returns a line for each part: the mean of its readings, their processor time, and the longest.
    pub(super) fn lines(&self) -> Vec<String> {
        let names = ["bytes", "Xids", "conditions of GPUs", "rates of single NVLinks", "rates over PCIe"];
        let line = |(name, PartCost { readings, time, processor, longest }): (&str, &PartCost)| {
            let [time, processor] = [time, processor].map(|sum| ms(*sum) / f64::from(*readings));
            let longest = ms(*longest);
            format!(
                "{name}: {time:.3} ms, {processor:.3} ms of a processor, {longest:.3} ms at most; {readings} readings"
            )
        };
        names.into_iter().zip(&self.0).filter(|(_, cost)| cost.readings > 0).map(line).collect()
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
