//! Intervals as lines.

use super::condition::{ConditionStep, ErrorCount, XidCount};
use super::sampler::{Device, Interval};
use std::fmt::Write;

/// Bytes per second in a GB/s.
pub(super) const GIGABYTE: f64 = 1e9;

/// Stands for the figures of a GPU that gives none any more: it has failed, or somebody resets it.
pub(super) const NO_FIGURES: &str = "no figures";

/// Returns a device's kind, name and, of one link, its number.
pub(super) fn named(device: &Device) -> (&'static str, &str, Option<u32>) {
    match device {
        Device::NvLink(bus) => ("nvlink", bus, None),
        Device::Link(bus, link) => ("link", bus, Some(*link)),
        Device::Pcie(bus) => ("pcie", bus, None),
        Device::Adapter(name) => ("adapter", name, None),
    }
}

/// Returns a device's name for people.
pub(super) fn called(device: &Device) -> String {
    match device {
        Device::NvLink(bus) => format!("{bus} NVLink"),
        Device::Link(bus, link) => format!("{bus} link {link}"),
        Device::Pcie(bus) => format!("{bus} PCIe"),
        Device::Adapter(name) => name.clone(),
    }
}

/// Returns a number of milliwatts for people.
pub(super) fn watts(mw: u32) -> String {
    format!("{:.0}", f64::from(mw) / 1e3)
}

/// Returns the temperature for people.
fn celsius(step: &ConditionStep) -> Option<String> {
    step.now.temperature_c.map(|degrees| format!("{degrees} C"))
}

/// Returns the reasons for low clocks, and the errors that are not zero, for people.
fn faults(step: &ConditionStep) -> impl Iterator<Item = String> {
    let reasons = step.reasons_of_interval();
    let reasons = (!reasons.is_empty()).then(|| format!("throttle: {}", reasons.join(", ")));
    let count = |name: &str, sum: u64, step: u64| match step {
        0 => format!("{name}: {sum}"),
        step => format!("{name}: {sum} (+{step})"),
    };
    let xid = |XidCount { sum, step, last }: XidCount| Some(count(&format!("Xid {}", last?), sum, step));
    let error = move |ErrorCount { name, sum, step }: ErrorCount| count(name, sum, step);
    reasons.into_iter().chain(step.xids.and_then(xid)).chain(step.errors().into_iter().map(error))
}

/// Returns the figures of a GPU's line.
fn figures(step: &ConditionStep) -> Vec<String> {
    let now = &step.now;
    let of = |value: Option<String>, limit: Option<String>, unit: &str| {
        let limit = limit.map_or_else(String::new, |limit| format!("/{limit}"));
        value.map(|value| format!("{value}{limit} {unit}"))
    };
    let plain = |value: Option<u32>| value.map(|value| value.to_string());
    let figures = [
        of(plain(now.sm_clock_mhz), plain(now.sm_clock_max_mhz), "MHz"),
        of(now.power_mw.map(watts), now.power_limit_mw.map(watts), "W"),
        now.gpu_use_percent.map(|percent| format!("{percent} % used")),
        celsius(step),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().chain(faults(step)).collect();
    if figures.is_empty() { vec![NO_FIGURES.into()] } else { figures }
}

/// Returns the lines of a GPU's figures that have no bar in a chart.
pub(super) fn further(step: &ConditionStep) -> Vec<String> {
    let now = &step.now;
    let figures = [
        celsius(step),
        now.memory_clock_mhz.map(|mhz| format!("memory {mhz} MHz")),
        now.memory_use_percent.map(|percent| format!("memory {percent} % used")),
        now.pcie_generation.zip(now.pcie_width).map(|(generation, lanes)| format!("PCIe {generation} x{lanes}")),
    ];
    let figures = figures.into_iter().flatten().collect::<Vec<_>>().join(", ");
    Some(figures).filter(|figures| !figures.is_empty()).into_iter().chain(faults(step)).collect()
}

/// Writes an interval that ended at `time`: a line for each GPU and device.
pub(super) fn of(time: &str, interval: &Interval) -> String {
    let mut text = String::new();
    for step in &interval.conditions {
        // writing to a string does not fail
        let _ = writeln!(text, "{time}  {:<20}  {}", format!("{} GPU", step.bus), figures(step).join("  "));
    }
    for row in &interval.rows {
        let [sent, received] = [row.rate.sent, row.rate.received].map(|rate| rate / GIGABYTE);
        // writing to a string does not fail
        let _ =
            writeln!(text, "{time}  {:<20}  sent {sent:8.3} GB/s  received {received:8.3} GB/s", called(&row.device));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sampler::CounterStep;
    use super::*;
    use common::hardware::Ways;

    #[test]
    fn each_device_has_a_line() {
        let row = |device, sent| CounterStep { device, bytes: None, rate: Ways { sent, received: 2.5e9 } };
        let bus = || "0000:0A:00.0".to_owned();
        let rows = vec![row(Device::NvLink(bus()), 312.4e9), row(Device::Link(bus(), 3), 0.0)];
        let expected = "12:00:00  0000:0A:00.0 NVLink   sent  312.400 GB/s  received    2.500 GB/s\n\
                        12:00:00  0000:0A:00.0 link 3   sent    0.000 GB/s  received    2.500 GB/s\n";
        assert_eq!(of("12:00:00", &Interval { seconds: 1.0, rows, conditions: vec![] }), expected);
    }
}
