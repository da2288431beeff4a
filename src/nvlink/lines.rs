//! Intervals as lines.

use super::sampler::{Device, Interval};
use std::fmt::Write;

/// Bytes per second in a GB/s.
pub(super) const GIGABYTE: f64 = 1e9;

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

/// Writes an interval that ended at `time`: a line for each device.
pub(super) fn of(time: &str, interval: &Interval) -> String {
    let mut text = String::new();
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
        assert_eq!(of("12:00:00", &Interval { seconds: 1.0, rows }), expected);
    }
}
