//! NVML's functions, looked up when its library is loaded. A function that this driver lacks fails alone.

use super::layout::{
    BusId, EventData, FieldValue, GpmMetricsGet, GpmSupport, NOT_SUPPORTED, PciInfo, SUCCESS, Utilization, text,
};
use crate::base::symbols::SharedLibrary;
use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong};

/// NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE and NVML_DEVICE_UUID_V2_BUFFER_SIZE.
const VERSION_BYTES: usize = 80;
const UUID_BYTES: usize = 96;

/// A handle of NVML's, as wide as a pointer and never used as one.
pub(super) type Handle = usize;

/// Why NVML does not tell something, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The words.
    pub why: String,
    /// NVML's number.
    pub(super) result: c_int,
}

impl Refusal {
    /// Of a thing that the GPU, or this driver, never has.
    pub(super) fn never(why: impl Into<String>) -> Self {
        Self { why: why.into(), result: NOT_SUPPORTED }
    }

    /// Returns whether the GPU, or this driver, never has it.
    pub fn is_final(&self) -> bool {
        self.result == NOT_SUPPORTED
    }
}

/// Returns what a call of NVML writes.
pub(super) fn written<T: Default>(call: impl FnOnce(&mut T) -> Result<(), Refusal>) -> Result<T, Refusal> {
    let mut value = T::default();
    call(&mut value).map(|()| value)
}

/// Declares NVML's functions as its documentation has them, each with a method that calls it.
macro_rules! functions {
    ($($vis:vis fn $name:ident($($argument:ident: $type:ty),*) = $symbol:literal $(, before $since:literal $old:literal)?;)*) => {
        /// NVML's functions, each where this driver has it.
        #[derive(Debug, Clone, Copy)]
        pub(super) struct Functions {
            error: Option<unsafe extern "C" fn(c_int) -> *const c_char>,
            $($name: Option<unsafe extern "C" fn($($type),*) -> c_int>,)*
        }

        impl Functions {
            pub(super) fn look_up(library: SharedLibrary) -> Self {
                // SAFETY: the types are those of NVML's interface, whose functions keep their types within a name.
                unsafe {
                    Self {
                        error: library.symbol(c"nvmlErrorString"),
                        $($name: library.symbol($symbol)$(.or_else(|| library.symbol($old)))?,)*
                    }
                }
            }

            $(
                #[doc = stringify!($symbol)]
                $vis fn $name(&self, $($argument: $type),*) -> Result<(), Refusal> {
                    let absent = || Refusal::never(format!("this driver's NVML has no {}", $symbol.to_string_lossy()));
                    let function = self.$name.ok_or_else(absent)?;
                    // SAFETY: handles are those that NVML gave; it writes into the places that the types give it.
                    self.check(&$symbol.to_string_lossy(), unsafe { function($($argument),*) })
                }
            )*
        }
    };
}

functions! {
    pub(super) fn init() = c"nvmlInit_v2";
    fn version(to: &mut [c_char; VERSION_BYTES], bytes: c_uint) = c"nvmlSystemGetDriverVersion";
    pub(super) fn count(to: &mut c_uint) = c"nvmlDeviceGetCount_v2";
    pub(super) fn by_index(index: c_uint, to: &mut Handle) = c"nvmlDeviceGetHandleByIndex_v2";
    pub(super) fn by_bus(bus: &BusId, to: &mut Handle) = c"nvmlDeviceGetHandleByPciBusId_v2";
    pub(super) fn pci(gpu: Handle, to: &mut PciInfo) = c"nvmlDeviceGetPciInfo_v3";
    fn uuid_text(gpu: Handle, to: &mut [c_char; UUID_BYTES], bytes: c_uint) = c"nvmlDeviceGetUUID";
    fn values(gpu: Handle, count: c_int, values: *mut FieldValue) = c"nvmlDeviceGetFieldValues";
    pub(super) fn pcie(gpu: Handle, direction: c_uint, to: &mut c_uint) = c"nvmlDeviceGetPcieThroughput";
    pub(super) fn clock(gpu: Handle, kind: c_int, to: &mut c_uint) = c"nvmlDeviceGetClockInfo";
    pub(super) fn max_clock(gpu: Handle, kind: c_int, to: &mut c_uint) = c"nvmlDeviceGetMaxClockInfo";
    pub(super) fn temperature(gpu: Handle, sensor: c_int, to: &mut c_uint) = c"nvmlDeviceGetTemperature";
    pub(super) fn power(gpu: Handle, to: &mut c_uint) = c"nvmlDeviceGetPowerUsage";
    pub(super) fn power_limit(gpu: Handle, to: &mut c_uint) = c"nvmlDeviceGetEnforcedPowerLimit";
    pub(super) fn pcie_generation(gpu: Handle, to: &mut c_uint) = c"nvmlDeviceGetCurrPcieLinkGeneration";
    pub(super) fn pcie_width(gpu: Handle, to: &mut c_uint) = c"nvmlDeviceGetCurrPcieLinkWidth";
    pub(super) fn utilization(gpu: Handle, to: &mut Utilization) = c"nvmlDeviceGetUtilizationRates";
    pub(super) fn reasons(gpu: Handle, to: &mut c_ulonglong) = c"nvmlDeviceGetCurrentClocksEventReasons",
        before 535 c"nvmlDeviceGetCurrentClocksThrottleReasons";
    pub(super) fn gpm_support(gpu: Handle, to: &mut GpmSupport) = c"nvmlGpmQueryDeviceSupport";
    pub(super) fn gpm_alloc(to: &mut Handle) = c"nvmlGpmSampleAlloc";
    pub(super) fn gpm_free(sample: Handle) = c"nvmlGpmSampleFree";
    pub(super) fn gpm_sample(gpu: Handle, sample: Handle) = c"nvmlGpmSampleGet";
    pub(super) fn gpm_metrics(of: &mut GpmMetricsGet) = c"nvmlGpmMetricsGet";
    pub(super) fn event_set(to: &mut Handle) = c"nvmlEventSetCreate";
    pub(super) fn register(gpu: Handle, events: c_ulonglong, set: Handle) = c"nvmlDeviceRegisterEvents";
    pub(super) fn next_event(set: Handle, to: &mut EventData, milliseconds: c_uint) = c"nvmlEventSetWait_v2";
    pub(super) fn free_events(set: Handle) = c"nvmlEventSetFree";
}

impl Functions {
    /// Has NVML fill fields in. One that it does not fill in has no value.
    pub(super) fn fields(&self, gpu: Handle, fields: &mut [FieldValue]) -> Result<(), Refusal> {
        self.values(gpu, c_int::try_from(fields.len()).unwrap_or(c_int::MAX), fields.as_mut_ptr())
    }

    /// Returns the GPU's UUID, if NVML has it.
    pub(super) fn uuid(&self, gpu: Handle) -> Option<String> {
        let mut uuid = [0; UUID_BYTES];
        self.uuid_text(gpu, &mut uuid, UUID_BYTES as c_uint).ok()?;
        Some(text(&uuid)).filter(|uuid| !uuid.is_empty())
    }

    /// Returns the driver's branch: 580 of 580.65.06.
    pub(super) fn branch(&self) -> Option<u32> {
        let mut version = [0; VERSION_BYTES];
        self.version(&mut version, VERSION_BYTES as c_uint).ok()?;
        text(&version).split('.').next()?.parse().ok()
    }

    /// Says in words why a call, or a field, has failed.
    pub(super) fn check(&self, what: &str, result: c_int) -> Result<(), Refusal> {
        if result == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function returns a constant string for every number, or NULL.
        let words = self.error.map(|error| unsafe { error(result) }).filter(|words| !words.is_null());
        // SAFETY: the pointer is such a string.
        let words = words.map(|words| unsafe { CStr::from_ptr(words) }.to_string_lossy());
        let words = words.filter(|words| !words.is_empty()).unwrap_or("unknown error".into());
        let name = what.split("_v").next().unwrap_or(what);
        Err(Refusal { why: format!("{name} answered {words} ({result})"), result })
    }
}
