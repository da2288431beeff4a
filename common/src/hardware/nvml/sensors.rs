//! NVML's functions about the condition of a GPU.

use super::function::{Handle, function};
use super::layout::{DRIVER_VERSION_BYTES, SUCCESS, Utilization, text};
use super::throttle;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};

/// Writes one number about a GPU.
pub(super) type Number = unsafe extern "C" fn(Handle, *mut c_uint) -> c_int;
/// Writes one number of a kind about a GPU.
pub(super) type NumberOf = unsafe extern "C" fn(Handle, c_int, *mut c_uint) -> c_int;

/// NVML's functions about the condition of a GPU, each where this driver has it.
#[derive(Debug)]
pub(super) struct Sensors {
    pub(super) clock: Option<NumberOf>,
    pub(super) max_clock: Option<NumberOf>,
    pub(super) temperature: Option<NumberOf>,
    pub(super) power: Option<Number>,
    pub(super) power_limit: Option<Number>,
    pub(super) pcie_generation: Option<Number>,
    pub(super) pcie_width: Option<Number>,
    pub(super) utilization: Option<unsafe extern "C" fn(Handle, *mut Utilization) -> c_int>,
    pub(super) reasons: Option<unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int>,
    version: Option<unsafe extern "C" fn(*mut c_char, c_uint) -> c_int>,
    /// Fields of the hardware's throttle times in this driver.
    pub(super) hardware_times: Option<[c_uint; 2]>,
}

/// Figures of a GPU that do not change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Constants {
    pub(super) sm_clock_max_mhz: Option<u32>,
    pub(super) nvlinks: c_uint,
}

impl Sensors {
    /// Looks the functions up.
    ///
    /// # Safety
    /// `library` is a handle of NVML's library.
    pub(super) unsafe fn of(library: *mut c_void) -> Self {
        let either = |new: &CStr, old: &CStr| {
            // SAFETY: both have this type in NVML's interface; the caller guarantees the handle.
            unsafe { function(library, new).or_else(|_| function(library, old)).ok() }
        };
        // SAFETY: the types are those of NVML's interface; the caller guarantees the handle.
        unsafe {
            Self {
                clock: function(library, c"nvmlDeviceGetClockInfo").ok(),
                max_clock: function(library, c"nvmlDeviceGetMaxClockInfo").ok(),
                temperature: function(library, c"nvmlDeviceGetTemperature").ok(),
                power: function(library, c"nvmlDeviceGetPowerUsage").ok(),
                power_limit: function(library, c"nvmlDeviceGetEnforcedPowerLimit").ok(),
                pcie_generation: function(library, c"nvmlDeviceGetCurrPcieLinkGeneration").ok(),
                pcie_width: function(library, c"nvmlDeviceGetCurrPcieLinkWidth").ok(),
                utilization: function(library, c"nvmlDeviceGetUtilizationRates").ok(),
                reasons: either(
                    c"nvmlDeviceGetCurrentClocksEventReasons",
                    c"nvmlDeviceGetCurrentClocksThrottleReasons",
                ),
                version: function(library, c"nvmlSystemGetDriverVersion").ok(),
                hardware_times: None,
            }
        }
    }

    /// Asks for the driver's version, after nvmlInit.
    pub(super) fn ask_version(&mut self) {
        let mut version = [0; DRIVER_VERSION_BYTES];
        // SAFETY: the function writes at most so many characters.
        let ask = |of: unsafe extern "C" fn(*mut c_char, c_uint) -> c_int| unsafe {
            of(version.as_mut_ptr(), DRIVER_VERSION_BYTES as c_uint)
        };
        if self.version.map(ask) == Some(SUCCESS) {
            let branch = text(&version).split('.').next().and_then(|branch| branch.parse().ok());
            self.hardware_times = branch.and_then(throttle::hardware_times);
        }
    }
}

/// Asks a function for a number; `None` where it is missing or refuses.
pub(super) fn ask<F, T: Default>(function: Option<F>, call: impl FnOnce(F, *mut T) -> c_int) -> Option<T> {
    let mut number = T::default();
    (call(function?, &raw mut number) == SUCCESS).then_some(number)
}
