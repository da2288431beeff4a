//! The conditions of GPUs as columns of the CSV file.

use super::condition::ConditionStep;
use std::fmt::Display;

/// The columns' names. Times and energy are those of the interval, errors those since the driver was loaded,
/// Xids those since the first reading.
pub(super) const CONDITION_HEADER: [&str; 30] = [
    "sm_clock_mhz",
    "sm_clock_max_mhz",
    "memory_clock_mhz",
    "power_w",
    "power_limit_w",
    "energy_j",
    "temperature_c",
    "gpu_use_percent",
    "memory_use_percent",
    "throttle",
    "power_cap_s",
    "sw_thermal_s",
    "sync_boost_s",
    "board_limit_s",
    "hw_thermal_s",
    "power_brake_s",
    "ecc_corrected",
    "ecc_uncorrected",
    "remapped_correctable",
    "remapped_uncorrectable",
    "remap_pending",
    "remap_failed",
    "pcie_replays",
    "nvlink_replays",
    "nvlink_recoveries",
    "nvlink_crc_errors",
    "pcie_generation",
    "pcie_lanes",
    "xids",
    "last_xid",
];

/// Returns a GPU's cells, empty where NVML gives no figure.
pub(super) fn cells(step: &ConditionStep) -> Vec<String> {
    let now = &step.now;
    let watts = |mw: Option<u32>| cell(mw.map(|mw| f64::from(mw) / 1e3));
    let mut cells = vec![
        cell(now.sm_clock_mhz),
        cell(now.sm_clock_max_mhz),
        cell(now.memory_clock_mhz),
        watts(now.power_mw),
        watts(now.power_limit_mw),
        cell(step.joules()),
        cell(now.temperature_c),
        cell(now.gpu_use_percent),
        cell(now.memory_use_percent),
        step.reasons().collect::<Vec<_>>().join("; "),
    ];
    cells.extend(step.throttled().map(|(_, seconds)| cell(seconds.map(|seconds| format!("{seconds:.6}")))));
    cells.extend(now.errors().map(|(_, count)| cell(count)));
    cells.extend([cell(now.pcie_generation), cell(now.pcie_width)]);
    cells.extend([cell(step.xids.map(|xids| xids.sum)), cell(step.xids.and_then(|xids| xids.last))]);
    cells
}

fn cell(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
