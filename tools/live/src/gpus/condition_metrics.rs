//! The conditions of GPUs as metrics of the textfile.

use super::condition::ConditionStep;
use common::hardware::nvml::throttle::ThrottleReason;
use common::prometheus;

/// A series of a metric: the labels beyond the GPU's own, and the value.
type Series = (Option<(&'static str, String)>, f64);

/// A metric of a GPU's condition: name after `scorep_nccl_gpu_`, type, meaning, and its series.
type ConditionMetric = (&'static str, &'static str, &'static str, fn(&ConditionStep) -> Vec<Series>);

const METRICS: [ConditionMetric; 21] = [
    ("sm_clock_hertz", "gauge", "Clock of the streaming multiprocessors", |it| {
        number(it.now.sm_clock_mhz, |mhz| mhz * 1e6)
    }),
    ("sm_clock_max_hertz", "gauge", "Its maximum", |it| number(it.now.sm_clock_max_mhz, |mhz| mhz * 1e6)),
    ("memory_clock_hertz", "gauge", "Clock of the memory", |it| number(it.now.memory_clock_mhz, |mhz| mhz * 1e6)),
    ("power_watts", "gauge", "Power", |it| number(it.now.power_mw, |mw| mw / 1e3)),
    ("power_limit_watts", "gauge", "Limit of the power", |it| number(it.now.power_limit_mw, |mw| mw / 1e3)),
    ("energy_joules_total", "counter", "Energy", |it| one(it.now.energy_mj.map(|mj| mj as f64 / 1e3))),
    ("temperature_celsius", "gauge", "Temperature of the GPU", |it| number(it.now.temperature_c, |it| it)),
    ("use_ratio", "gauge", "Share of time in which a kernel ran", |it| {
        number(it.now.gpu_use_percent, |percent| percent / 100.0)
    }),
    ("memory_use_ratio", "gauge", "Share of time in which memory was read or written", |it| {
        number(it.now.memory_use_percent, |percent| percent / 100.0)
    }),
    ("throttle", "gauge", "Whether the reason holds the clocks down now", reasons),
    ("throttled_seconds_total", "counter", "Time for which the reason held the clocks down", throttled),
    ("ecc_errors_total", "counter", "Memory errors", |it| {
        kinds([("corrected", it.now.ecc_corrected), ("uncorrected", it.now.ecc_uncorrected)])
    }),
    ("remapped_rows", "gauge", "Rows of memory that were ever remapped, by the errors' kind", |it| {
        kinds([("correctable", it.now.remapped_correctable), ("uncorrectable", it.now.remapped_uncorrectable)])
    }),
    ("row_remap_pending", "gauge", "Whether a row waits to be remapped", |it| number(it.now.remap_pending, |it| it)),
    ("row_remap_failed", "gauge", "Whether a row could once not be remapped", |it| {
        number(it.now.remap_failed, |it| it)
    }),
    ("pcie_replays_total", "counter", "Packets that PCIe sent again", |it| {
        one(it.now.pcie_replays.map(|of| of as f64))
    }),
    ("pcie_generation", "gauge", "Generation of the PCIe link now", |it| number(it.now.pcie_generation, |it| it)),
    ("pcie_lanes", "gauge", "Lanes of the PCIe link now", |it| number(it.now.pcie_width, |it| it)),
    ("nvlink_errors_total", "counter", "Errors on NVLinks", |it| {
        let (replay, recovery, crc) = (it.now.nvlink_replays, it.now.nvlink_recoveries, it.now.nvlink_crc_errors);
        kinds([("replay", replay), ("recovery", recovery), ("crc", crc)])
    }),
    ("xids_total", "counter", "Xids since the first reading", |it| one(it.xids.map(|xids| xids.sum as f64))),
    ("last_xid", "gauge", "Number of the last Xid", |it| one(it.xids.and_then(|xids| xids.last).map(|of| of as f64))),
];

fn one(value: Option<f64>) -> Vec<Series> {
    value.map(|value| (None, value)).into_iter().collect()
}

fn number(value: Option<impl Into<f64>>, in_unit: fn(f64) -> f64) -> Vec<Series> {
    one(value.map(|value| in_unit(value.into())))
}

fn kinds<const N: usize>(of: [(&'static str, Option<u64>); N]) -> Vec<Series> {
    let series = |(kind, count): (&'static str, Option<u64>)| Some((Some(("kind", kind.into())), count? as f64));
    of.into_iter().filter_map(series).collect()
}

fn reasons(step: &ConditionStep) -> Vec<Series> {
    let Some(bits) = step.now.throttle else { return vec![] };
    let is_present = |reason| ThrottleReason::of(bits).any(|present| present == reason);
    let series = |reason: ThrottleReason| (Some(("reason", reason.words().into())), f64::from(is_present(reason)));
    ThrottleReason::ALL.into_iter().map(series).collect()
}

fn throttled(step: &ConditionStep) -> Vec<Series> {
    let series = |(name, ns): (&'static str, Option<u64>)| Some((Some(("reason", name.into())), ns? as f64 / 1e9));
    step.now.throttled.named().into_iter().filter_map(series).collect()
}

/// Writes the metrics of GPUs. `labels` returns a GPU's own.
pub(super) fn text(steps: &[ConditionStep], labels: impl Fn(&ConditionStep) -> String) -> String {
    let mut text = String::new();
    for (name, kind, meaning, series) in METRICS {
        let all: Vec<(String, Series)> =
            steps.iter().flat_map(|step| series(step).into_iter().map(|one| (labels(step), one))).collect();
        if all.is_empty() {
            continue;
        }
        let name = format!("scorep_nccl_gpu_{name}");
        prometheus::head(&mut text, &name, kind, meaning);
        for (labels, (further, value)) in all {
            let further = further.map_or_else(String::new, |(label, of)| format!(",{label}=\"{of}\""));
            prometheus::line(&mut text, &name, &(labels + &further), value);
        }
    }
    text
}
