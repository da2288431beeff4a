//! NVML's library, as it is loaded and looked up.

use super::Nvml;
use super::events::Events;
use super::function::function;
use super::gpm::Gpm;
use super::sensors::Sensors;
use std::ffi::{CStr, c_int, c_void};

/// File name of NVML, as NVIDIA's driver installs it.
const LIBRARY: &CStr = c"libnvidia-ml.so.1";

/// NVML's functions, looked up and not called yet. The look-up takes the loader's lock, for which no thread of the
/// library's waits; the calls may hang, so no thread of the application's makes them.
#[derive(Debug)]
pub struct NvmlLibrary {
    nvml: Nvml,
    init: unsafe extern "C" fn() -> c_int,
}

impl NvmlLibrary {
    /// Loads NVML. It stays loaded, since its calls may still be under way when the process ends.
    ///
    /// # Errors
    /// Says why there is no NVML, in words.
    pub fn load() -> Result<Self, String> {
        // SAFETY: the driver's library runs no code of the application's when it is loaded.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return Err("NVML (libnvidia-ml.so.1, of NVIDIA's driver) is not there".into());
        }
        Self::of(library)
    }

    /// Looks NVML up if the process has loaded it already, as NCCL does.
    pub fn loaded() -> Option<Self> {
        // SAFETY: with RTLD_NOLOAD nothing is loaded.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        (!library.is_null()).then(|| Self::of(library).ok()).flatten()
    }

    fn of(library: *mut c_void) -> Result<Self, String> {
        // SAFETY: the types are those of NVML's interface, whose functions keep their types within a name.
        unsafe {
            let nvml = Nvml {
                error: function(library, c"nvmlErrorString")?,
                count: function(library, c"nvmlDeviceGetCount_v2")?,
                by_index: function(library, c"nvmlDeviceGetHandleByIndex_v2")?,
                by_bus: function(library, c"nvmlDeviceGetHandleByPciBusId_v2")?,
                pci: function(library, c"nvmlDeviceGetPciInfo_v3")?,
                uuid: function(library, c"nvmlDeviceGetUUID")?,
                fields: function(library, c"nvmlDeviceGetFieldValues")?,
                pcie: function(library, c"nvmlDeviceGetPcieThroughput")?,
                gpm: Gpm::of(library),
                sensors: Sensors::of(library),
                events: Events::of(library),
            };
            Ok(Self { nvml, init: function(library, c"nvmlInit_v2")? })
        }
    }

    /// Initialises NVML.
    ///
    /// # Errors
    /// NVML's, in words.
    pub fn begin(self) -> Result<Nvml, String> {
        let Self { mut nvml, init } = self;
        // SAFETY: the function takes nothing.
        nvml.check("nvmlInit", unsafe { init() }).map_err(|refusal| refusal.why)?;
        nvml.sensors.ask_version();
        Ok(nvml)
    }
}
