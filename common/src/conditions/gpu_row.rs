//! The conditions of a GPU in an interval.

use crate::hardware::nvml::condition::GpuCondition;
use serde::{Deserialize, Serialize};

/// The conditions of one of the process' GPUs in an interval, by NVML: those of all processes that use it. A figure that
/// NVML does not give is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuRow {
    /// Its place on the PCI bus.
    pub bus: String,
    /// Clock of the multiprocessors, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<f64>,
    /// Its maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_max_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_mhz: Option<f64>,
    /// Power, watts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// Its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit_w: Option<f64>,
    /// Temperature, degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Share of the time in which any kernel ran, per cent: also one of NCCL's that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub use_percent: Option<f64>,
    /// Reasons for clocks below the maximum that were seen, as NVML's bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle: Option<u64>,
    /// For how long the limit of the power held the clocks down, microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_capped_us: Option<u64>,
    /// For how long a temperature did, by the driver or by the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermal_us: Option<u64>,
    /// For how long the hardware did for an external power brake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_brake_us: Option<u64>,
    /// Memory errors, corrected and uncorrected, rows to be remapped, packets that PCIe and NVLinks sent again, and NVLinks
    /// trained anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
}

impl GpuRow {
    /// Returns the conditions between two readings.
    pub(super) fn between(bus: String, before: &GpuCondition, now: &GpuCondition) -> Self {
        let number = |number: Option<u32>| number.map(f64::from);
        let thousandth = |number: Option<u32>| number.map(|number| f64::from(number) / 1e3);
        let grown = |of: fn(&GpuCondition) -> Option<u64>| Some(of(now)?.saturating_sub(of(before)?));
        let microseconds = |of| Some(grown(of)? / 1000);
        let thermal = [microseconds(|it| it.throttled.thermal_ns), microseconds(|it| it.throttled.hardware_thermal_ns)];
        let errors = now.errors().into_iter().zip(before.errors());
        let errors = errors.filter_map(|((_, now), (_, before))| Some(now?.saturating_sub(before?)));
        Self {
            bus,
            sm_mhz: number(now.sm_clock_mhz),
            sm_max_mhz: number(now.sm_clock_max_mhz),
            memory_mhz: number(now.memory_clock_mhz),
            power_w: thousandth(now.power_mw),
            power_limit_w: thousandth(now.power_limit_mw),
            temperature_c: number(now.temperature_c),
            use_percent: number(now.gpu_use_percent),
            throttle: now.throttle,
            power_capped_us: microseconds(|it| it.throttled.power_cap_ns),
            thermal_us: thermal.into_iter().flatten().reduce(u64::saturating_add),
            power_brake_us: microseconds(|it| it.throttled.power_brake_ns),
            errors: errors.reduce(u64::saturating_add),
        }
    }

    /// Joins the row with the one that follows it, by their lengths.
    pub(super) fn followed_by(&self, next: &Self, [own, other]: [f64; 2]) -> Self {
        let mean = |of: fn(&Self) -> Option<f64>| match (of(self), of(next)) {
            (Some(a), Some(b)) if own + other > 0.0 => Some((a * own + b * other) / (own + other)),
            (a, b) => a.or(b),
        };
        let sum = |of: fn(&Self) -> Option<u64>| Some(of(self)?.saturating_add(of(next)?));
        Self {
            bus: self.bus.clone(),
            sm_mhz: mean(|it| it.sm_mhz),
            sm_max_mhz: self.sm_max_mhz.or(next.sm_max_mhz),
            memory_mhz: mean(|it| it.memory_mhz),
            power_w: mean(|it| it.power_w),
            power_limit_w: mean(|it| it.power_limit_w),
            temperature_c: mean(|it| it.temperature_c),
            use_percent: mean(|it| it.use_percent),
            throttle: match (self.throttle, next.throttle) {
                (Some(own), Some(other)) => Some(own | other),
                (own, other) => own.or(other),
            },
            power_capped_us: sum(|it| it.power_capped_us),
            thermal_us: sum(|it| it.thermal_us),
            power_brake_us: sum(|it| it.power_brake_us),
            errors: sum(|it| it.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::nvml::throttle::ThrottleTimes;

    fn condition(sm: u32, thermal_ns: u64, replays: u64) -> GpuCondition {
        GpuCondition {
            sm_clock_mhz: Some(sm),
            power_mw: Some(500_000),
            throttled: ThrottleTimes { thermal_ns: Some(thermal_ns), ..ThrottleTimes::default() },
            pcie_replays: Some(replays),
            ..GpuCondition::default()
        }
    }

    #[test]
    fn counters_give_their_growth_and_gauges_their_last_value() {
        let row = GpuRow::between("a".into(), &condition(1980, 5_000_000, 7), &condition(1200, 8_000_000, 9));
        assert_eq!((row.sm_mhz, row.power_w, row.power_capped_us), (Some(1200.0), Some(500.0), None));
        assert_eq!((row.thermal_us, row.errors), (Some(3_000), Some(2)));
        let next = GpuRow { sm_mhz: Some(1800.0), errors: None, throttle: Some(4), ..row.clone() };
        let joined = row.followed_by(&next, [1.0, 3.0]);
        assert_eq!((joined.sm_mhz, joined.thermal_us, joined.errors), (Some(1650.0), Some(6_000), None));
        assert_eq!(joined.throttle, Some(4));
    }
}
