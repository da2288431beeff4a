//! Reasons why a GPU's clocks are below their maximum, as NVML has them, and the times for which they were.

use super::layout::{
    BOARD_LIMIT_TIME, FieldValue, HARDWARE_TIMES_FROM_575, HARDWARE_TIMES_FROM_590, POWER_CAP_TIME, SYNC_BOOST_TIME,
    THERMAL_TIME, answered,
};
use std::ffi::c_uint;

/// A reason of NVML's (nvmlClocksEventReasons; nvmlClocksThrottleReasons before driver 535), by its bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub enum ThrottleReason {
    /// Nothing runs on the GPU.
    Idle = 1 << 0,
    /// Somebody has set the clocks of applications.
    ApplicationsClocks = 1 << 1,
    /// The driver holds the power at its limit.
    PowerCap = 1 << 2,
    /// The hardware halves the clocks, or more: temperature, external power brake, or power above what it bears.
    HardwareSlowdown = 1 << 3,
    /// The GPUs of a sync boost group have the clocks of the slowest.
    SyncBoost = 1 << 4,
    /// The driver holds a temperature, of the GPU or of its memory, at its limit.
    SoftwareThermal = 1 << 5,
    /// The hardware halves the clocks, or more, for temperature.
    HardwareThermal = 1 << 6,
    /// The hardware halves the clocks, or more, for an external power brake, as of the power supply.
    PowerBrake = 1 << 7,
    /// A display limits the clocks.
    DisplayClocks = 1 << 8,
}

impl ThrottleReason {
    /// All reasons, in the order of their bits.
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::ApplicationsClocks,
        Self::PowerCap,
        Self::HardwareSlowdown,
        Self::SyncBoost,
        Self::SoftwareThermal,
        Self::HardwareThermal,
        Self::PowerBrake,
        Self::DisplayClocks,
    ];

    /// Returns the reasons in a mask of NVML's. Bits of later drivers are left out.
    pub fn of(bits: u64) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |&reason| bits & reason as u64 != 0)
    }

    /// Returns its name for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::ApplicationsClocks => "applications clocks",
            Self::PowerCap => "power cap",
            Self::HardwareSlowdown => "HW slowdown",
            Self::SyncBoost => "sync boost",
            Self::SoftwareThermal => "SW thermal",
            Self::HardwareThermal => "HW thermal",
            Self::PowerBrake => "power brake",
            Self::DisplayClocks => "display clocks",
        }
    }
}

/// Nanoseconds since the driver was loaded for which a reason has held a GPU's clocks down, each where NVML counts it.
/// Their steps cover a whole interval, whereas the present reasons are those of one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThrottleTimes {
    /// The power limit, as [`ThrottleReason::PowerCap`].
    pub power_cap_ns: Option<u64>,
    /// Thermal limits, as [`ThrottleReason::SoftwareThermal`].
    pub thermal_ns: Option<u64>,
    /// As [`ThrottleReason::SyncBoost`].
    pub sync_boost_ns: Option<u64>,
    /// The limit of the board's power, which has no bit among the reasons of 2026's drivers.
    pub board_limit_ns: Option<u64>,
    /// As [`ThrottleReason::HardwareThermal`]; from driver 575 on.
    pub hardware_thermal_ns: Option<u64>,
    /// As [`ThrottleReason::PowerBrake`]; from driver 575 on.
    pub power_brake_ns: Option<u64>,
}

/// Times that all drivers have under one number.
pub(super) const TIMES: [c_uint; 4] = [POWER_CAP_TIME, THERMAL_TIME, SYNC_BOOST_TIME, BOARD_LIMIT_TIME];

/// Returns the fields of the hardware's times, thermal and power brake, in the drivers of a branch (580 of 580.65.06).
///
/// NVIDIA has changed their numbers: in branch 570 and from 590 on, 251 to 253 are settings of power smoothing.
pub(super) fn hardware_times(branch: u32) -> Option<[c_uint; 2]> {
    match branch {
        0..575 => None,
        575..590 => Some(HARDWARE_TIMES_FROM_575),
        590.. => Some(HARDWARE_TIMES_FROM_590),
    }
}

impl ThrottleTimes {
    /// Returns the times with their names for people, those of [`ThrottleReason::words`].
    pub fn named(&self) -> [(&'static str, Option<u64>); 6] {
        [
            (ThrottleReason::PowerCap.words(), self.power_cap_ns),
            (ThrottleReason::SoftwareThermal.words(), self.thermal_ns),
            (ThrottleReason::SyncBoost.words(), self.sync_boost_ns),
            ("board limit", self.board_limit_ns),
            (ThrottleReason::HardwareThermal.words(), self.hardware_thermal_ns),
            (ThrottleReason::PowerBrake.words(), self.power_brake_ns),
        ]
    }

    /// Finds the times among values that NVML has filled in.
    pub(super) fn among(values: &[FieldValue], hardware: Option<[c_uint; 2]>) -> Self {
        let [power_cap_ns, thermal_ns, sync_boost_ns, board_limit_ns] = TIMES.map(|field| answered(values, field));
        let hardware = hardware.map(|fields| fields.map(|field| answered(values, field)));
        let [hardware_thermal_ns, power_brake_ns] = hardware.unwrap_or_default();
        Self { power_cap_ns, thermal_ns, sync_boost_ns, board_limit_ns, hardware_thermal_ns, power_brake_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// nvmlClocksEventReasons of driver 580's documentation.
    #[test]
    fn reasons_have_nvmls_bits() {
        assert_eq!(ThrottleReason::ALL.map(|reason| reason as u64), std::array::from_fn(|bit| 1 << bit));
        let words = |bits| ThrottleReason::of(bits).map(ThrottleReason::words).collect::<Vec<_>>();
        assert_eq!(words(0x48), ["HW slowdown", "HW thermal"]);
        assert_eq!(words(0x4 | 1 << 40), ["power cap"]);
        assert_eq!(words(0), Vec::<&str>::new());
    }

    /// Headers of CUDA 12.8 (570), 12.9 (575), 13.0 (580), 13.1 (590).
    #[test]
    fn fields_whose_numbers_changed_are_asked_by_branch() {
        assert_eq!([525, 570].map(hardware_times), [None; 2]);
        assert_eq!([575, 580].map(hardware_times), [Some([252, 253]); 2]);
        assert_eq!([590, 610].map(hardware_times), [Some([270, 271]); 2]);
    }
}
