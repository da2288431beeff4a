//! The conditions of a GPU in an interval.

use super::joined;
use crate::hardware::nvml::condition::GpuCondition;
use crate::hardware::nvml::throttle::ThrottleReason;
use serde::{Deserialize, Serialize};

/// The conditions of one of the process' GPUs in an interval, by NVML: those of all processes that use it. A figure that
/// NVML does not give is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuRow {
    /// Its place on the PCI bus.
    pub bus: String,
    /// Clock of the multiprocessors, MHz, while something ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<f64>,
    /// Its maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sm_max_mhz: Option<f64>,
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
    /// Share (0 to 1) of the looks at which the limit of the power held the clocks down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_capped: Option<f64>,
    /// Share of the looks at which a temperature did, by the driver or by the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot: Option<f64>,
    /// Share of the looks at which the hardware did for an external power brake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_brake: Option<f64>,
    /// Memory errors, corrected and uncorrected, rows to be remapped, packets that PCIe and NVLinks sent again, and NVLinks
    /// trained anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
}

impl GpuRow {
    /// Returns the conditions at a reading, with the errors since the reading before.
    pub(super) fn of(bus: String, now: &GpuCondition, errors: Option<u64>) -> Self {
        let number = |number: Option<u32>| number.map(f64::from);
        let thousandth = |number: Option<u32>| number.map(|number| f64::from(number) / 1e3);
        // an idle GPU lowers its clock, which says nothing of its work
        let is_idle = now.throttle.is_some_and(|bits| bits & ThrottleReason::Idle as u64 != 0);
        let held = |reasons: [ThrottleReason; 2]| {
            let bits = now.throttle?;
            Some(if reasons.iter().any(|&reason| bits & reason as u64 != 0) { 1.0 } else { 0.0 })
        };
        Self {
            bus,
            sm_mhz: number(now.sm_clock_mhz).filter(|_| !is_idle),
            sm_max_mhz: number(now.sm_clock_max_mhz),
            power_w: thousandth(now.power_mw),
            power_limit_w: thousandth(now.power_limit_mw),
            temperature_c: number(now.temperature_c),
            use_percent: number(now.gpu_use_percent),
            throttle: now.throttle,
            power_capped: held([ThrottleReason::PowerCap; 2]),
            hot: held([ThrottleReason::SoftwareThermal, ThrottleReason::HardwareThermal]),
            power_brake: held([ThrottleReason::PowerBrake; 2]),
            errors,
        }
    }

    /// Joins the row with the one that follows it, by their lengths.
    pub(super) fn followed_by(&self, next: &Self, lengths: [f64; 2]) -> Self {
        let mean = |of: fn(&Self) -> Option<f64>| joined::mean([of(self), of(next)], lengths);
        let sum = |of: fn(&Self) -> Option<u64>| joined::sum([of(self), of(next)]);
        Self {
            bus: self.bus.clone(),
            sm_mhz: mean(|it| it.sm_mhz),
            sm_max_mhz: self.sm_max_mhz.or(next.sm_max_mhz),
            power_w: mean(|it| it.power_w),
            power_limit_w: mean(|it| it.power_limit_w),
            temperature_c: mean(|it| it.temperature_c),
            use_percent: mean(|it| it.use_percent),
            throttle: match (self.throttle, next.throttle) {
                (Some(own), Some(other)) => Some(own | other),
                (own, other) => own.or(other),
            },
            power_capped: mean(|it| it.power_capped),
            hot: mean(|it| it.hot),
            power_brake: mean(|it| it.power_brake),
            errors: sum(|it| it.errors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_rows_have_the_means_and_all_reasons() {
        let now = GpuCondition { sm_clock_mhz: Some(1200), power_mw: Some(500_000), ..GpuCondition::default() };
        let row = GpuRow::of("a".into(), &GpuCondition { throttle: Some(0x40), ..now }, Some(2));
        assert_eq!((row.sm_mhz, row.power_w, row.power_limit_w), (Some(1200.0), Some(500.0), None));
        assert_eq!((row.hot, row.power_capped, row.errors), (Some(1.0), Some(0.0), Some(2)));
        let next = GpuRow { sm_mhz: Some(1800.0), errors: None, throttle: Some(4), hot: Some(0.0), ..row.clone() };
        let joined = row.followed_by(&next, [1.0, 3.0]);
        assert_eq!((joined.sm_mhz, joined.hot, joined.errors), (Some(1650.0), Some(0.25), None));
        assert_eq!(joined.throttle, Some(0x44));
    }
}
