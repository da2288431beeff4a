//! The conditions of the node's GPUs, and their steps over an interval.

use common::hardware::nvml::condition::GpuCondition;
use common::hardware::nvml::throttle::ThrottleReason;
use common::hardware::nvml::xids::{Xid, XidWatch};
use common::hardware::nvml::{Nvml, NvmlGpu};
use std::collections::BTreeMap;
use std::time::Instant;

/// The condition of a GPU at the end of an interval, and its steps over the interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConditionStep {
    /// The GPU's place on the PCI bus.
    pub(super) bus: String,
    /// Length of the interval, seconds.
    pub(super) seconds: f64,
    /// The condition at its end.
    pub(super) now: GpuCondition,
    /// The condition at its begin.
    pub(super) before: GpuCondition,
    /// The GPU's Xids since the first reading; `None` where NVML has no events of it.
    pub(super) xids: Option<XidCount>,
}

/// The Xids of a GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct XidCount {
    /// Since the first reading.
    pub(super) sum: u64,
    /// Those of the interval.
    pub(super) step: u64,
    /// The number of the last one.
    pub(super) last: Option<u64>,
}

/// An error count that is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ErrorCount {
    /// Its name for people.
    pub(super) name: &'static str,
    /// Since the driver was loaded.
    pub(super) sum: u64,
    /// Those of the interval.
    pub(super) step: u64,
}

impl ConditionStep {
    /// Returns the seconds of the interval for which reasons have held the clocks down, by name. `None` where NVML does
    /// not count them, or somebody has reset the counter.
    pub(super) fn throttled(&self) -> [(&'static str, Option<f64>); 6] {
        let mut before = self.before.throttled.named().into_iter().map(|(_, before)| before);
        // the counter is read a moment after the interval's end
        let seconds = |step: u64| (step as f64 / 1e9).min(self.seconds);
        self.now.throttled.named().map(|(name, now)| (name, step(now, before.next().flatten()).map(seconds)))
    }

    /// Returns the energy of the interval, joules.
    pub(super) fn joules(&self) -> Option<f64> {
        step(self.now.energy_mj, self.before.energy_mj).map(|mj| mj as f64 / 1e3)
    }

    /// Returns the present reasons why the clocks are low, in words.
    pub(super) fn reasons(&self) -> impl Iterator<Item = &'static str> {
        ThrottleReason::of(self.now.throttle.unwrap_or(0)).map(ThrottleReason::words)
    }

    /// Returns the reasons of the interval in words: the share of the interval where NVML counts the time, and the bare
    /// name of a reason that is present now.
    pub(super) fn reasons_of_interval(&self) -> Vec<String> {
        let is_counted = |(name, seconds): (&'static str, Option<f64>)| Some((name, seconds.filter(|&s| s > 0.0)?));
        let counted: Vec<(&str, f64)> = self.throttled().into_iter().filter_map(is_counted).collect();
        let present = self.reasons().filter(|name| !counted.iter().any(|(other, _)| other == name));
        let with_share = |(name, seconds): &(&str, f64)| match 100.0 * seconds / self.seconds {
            share if share < 1.0 => format!("{name} < 1 %"),
            share => format!("{name} {share:.0} %"),
        };
        counted.iter().map(with_share).chain(present.map(str::to_owned)).collect()
    }

    /// Returns the error counts that are not zero.
    pub(super) fn errors(&self) -> Vec<ErrorCount> {
        let errors = self.now.errors().into_iter().zip(self.before.errors());
        let count = |((name, now), (_, before))| {
            let sum = Option::filter(now, |&sum| sum > 0)?;
            Some(ErrorCount { name, sum, step: step(now, before).unwrap_or(0) })
        };
        errors.filter_map(count).collect()
    }
}

fn step(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

/// The last readings of the GPUs, by place.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    last: BTreeMap<String, (Instant, GpuCondition)>,
    xids: BTreeMap<String, XidCount>,
}

impl Conditions {
    /// Reads the GPUs. Returns the steps of those that were read before and of which NVML gives any figure. A GPU that
    /// fails later keeps the maximum of its clock, which was read at first.
    pub(super) fn read(&mut self, nvml: &Nvml, gpus: &[NvmlGpu], xids: Option<&XidWatch>) -> Vec<ConditionStep> {
        let one = |gpu: &NvmlGpu| {
            let (bus, moment, now) = (gpu.bus.clone(), Instant::now(), nvml.condition(gpu));
            let (then, before) = self.last.insert(bus.clone(), (moment, now))?;
            let seconds = moment.duration_since(then).as_secs_f64();
            let xids = xids.filter(|xids| xids.has(&bus)).map(|_| self.xids.get(&bus).copied().unwrap_or_default());
            (now != GpuCondition::default()).then_some(ConditionStep { bus, seconds, now, before, xids })
        };
        gpus.iter().filter_map(one).collect()
    }

    /// Takes the Xids of an interval.
    pub(super) fn take_xids(&mut self, xids: &XidWatch) {
        self.xids.values_mut().for_each(|count| count.step = 0);
        for Xid { bus, number } in xids.take() {
            let count = self.xids.entry(bus).or_default();
            *count = XidCount { sum: count.sum + 1, step: count.step + 1, last: Some(number) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(power_cap_ns: u64, replays: u64, bits: u64) -> GpuCondition {
        let mut condition =
            GpuCondition { throttle: Some(bits), pcie_replays: Some(replays), ..GpuCondition::default() };
        condition.throttled.power_cap_ns = Some(power_cap_ns);
        condition
    }

    #[test]
    fn a_reason_has_its_share_of_the_interval() {
        let of = |before, now, bits| {
            let (before, now) = (condition(before, 0, 0), condition(now, 0, bits));
            ConditionStep { bus: "a".into(), seconds: 2.0, now, before, xids: None }.reasons_of_interval()
        };
        assert_eq!(of(5, 5, 0), Vec::<String>::new());
        assert_eq!(of(5, 840_000_005, 0), ["power cap 42 %"]);
        assert_eq!(of(5, 840_000_005, 0x4 | 0x40), ["power cap 42 %", "HW thermal"]);
        assert_eq!(of(5, 1_000_005, 0), ["power cap < 1 %"]);
        // no more than the whole interval; a counter that has gone back
        assert_eq!(of(0, 2_100_000_000, 0), ["power cap 100 %"]);
        assert_eq!(of(9, 5, 0x4), ["power cap"]);
    }

    #[test]
    fn errors_that_are_zero_are_left_out() {
        let step = |before, now| {
            let (before, now) = (condition(0, before, 0), condition(0, now, 0));
            ConditionStep { bus: "a".into(), seconds: 1.0, now, before, xids: None }.errors()
        };
        let count = |sum, step| vec![ErrorCount { name: "PCIe replays", sum, step }];
        assert_eq!([step(0, 0), step(5, 7), step(7, 7), step(9, 7)], [vec![], count(7, 2), count(7, 0), count(7, 0)]);
    }
}
