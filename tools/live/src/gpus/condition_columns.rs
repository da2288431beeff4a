//! The conditions of GPUs as columns of the CSV file.

use super::condition::ConditionStep;
use std::fmt::Display;

/// A column: its name, and the cell of a GPU, empty where NVML gives no figure.
type ConditionColumn = (&'static str, fn(&ConditionStep) -> String);

/// The columns. Times and energy are those of the interval, errors those since the driver was loaded, Xids those since
/// the first reading.
pub(super) const CONDITION_COLUMNS: [ConditionColumn; 30] = [
    ("sm_clock_mhz", |it| cell(it.now.sm_clock_mhz)),
    ("sm_clock_max_mhz", |it| cell(it.now.sm_clock_max_mhz)),
    ("memory_clock_mhz", |it| cell(it.now.memory_clock_mhz)),
    ("power_w", |it| watts(it.now.power_mw)),
    ("power_limit_w", |it| watts(it.now.power_limit_mw)),
    ("energy_j", |it| cell(it.joules())),
    ("temperature_c", |it| cell(it.now.temperature_c)),
    ("gpu_use_percent", |it| cell(it.now.gpu_use_percent)),
    ("memory_use_percent", |it| cell(it.now.memory_use_percent)),
    ("throttle", |it| it.reasons().collect::<Vec<_>>().join("; ")),
    ("power_cap_s", |it| throttled(it, 0)),
    ("sw_thermal_s", |it| throttled(it, 1)),
    ("sync_boost_s", |it| throttled(it, 2)),
    ("board_limit_s", |it| throttled(it, 3)),
    ("hw_thermal_s", |it| throttled(it, 4)),
    ("power_brake_s", |it| throttled(it, 5)),
    ("ecc_corrected", |it| cell(it.now.ecc_corrected)),
    ("ecc_uncorrected", |it| cell(it.now.ecc_uncorrected)),
    ("remapped_correctable", |it| cell(it.now.remapped_correctable)),
    ("remapped_uncorrectable", |it| cell(it.now.remapped_uncorrectable)),
    ("remap_pending", |it| cell(it.now.remap_pending.map(u8::from))),
    ("remap_failed", |it| cell(it.now.remap_failed.map(u8::from))),
    ("pcie_replays", |it| cell(it.now.pcie_replays)),
    ("nvlink_replays", |it| cell(it.now.nvlink_replays)),
    ("nvlink_recoveries", |it| cell(it.now.nvlink_recoveries)),
    ("nvlink_crc_errors", |it| cell(it.now.nvlink_crc_errors)),
    ("pcie_generation", |it| cell(it.now.pcie_generation)),
    ("pcie_lanes", |it| cell(it.now.pcie_width)),
    ("xids", |it| cell(it.xids.map(|xids| xids.sum))),
    ("last_xid", |it| cell(it.xids.and_then(|xids| xids.last))),
];

fn cell(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn watts(mw: Option<u32>) -> String {
    cell(mw.map(|mw| f64::from(mw) / 1e3))
}

fn throttled(step: &ConditionStep, place: usize) -> String {
    cell(step.throttled()[place].1.map(|seconds| format!("{seconds:.6}")))
}
