//! NVML's library, as it is loaded and looked up.

use super::functions::Functions;
use super::{Nvml, throttle};
use crate::base::symbols::SharedLibrary;
use std::ffi::CStr;

/// File name of NVML, as NVIDIA's driver installs it.
const LIBRARY: &CStr = c"libnvidia-ml.so.1";

/// NVML's functions, looked up and not called yet. The look-up takes the loader's lock, for which no thread of the
/// library's waits; the calls may hang, so no thread of the application's makes them.
#[derive(Debug)]
pub struct NvmlLibrary(Functions);

impl NvmlLibrary {
    /// Loads NVML. It stays loaded, since its calls may still be under way when the process ends.
    ///
    /// # Errors
    /// Says why there is no NVML, in words.
    pub fn load() -> Result<Self, String> {
        // SAFETY: the driver's library runs no code of the application's when it is loaded.
        let library = unsafe { SharedLibrary::open(LIBRARY, libc::RTLD_LOCAL) };
        let library = library.ok_or("NVML (libnvidia-ml.so.1, of NVIDIA's driver) is not there")?;
        Ok(Self(Functions::look_up(library)))
    }

    /// Looks NVML up if the process has loaded it already, as NCCL does.
    pub fn loaded() -> Option<Self> {
        SharedLibrary::find(LIBRARY).map(|library| Self(Functions::look_up(library)))
    }

    /// Initialises NVML.
    ///
    /// # Errors
    /// NVML's, in words.
    pub fn begin(self) -> Result<Nvml, String> {
        let Self(functions) = self;
        functions.init().map_err(|refusal| refusal.why)?;
        let hardware_times = functions.branch().and_then(throttle::hardware_times);
        Ok(Nvml { functions, hardware_times })
    }
}
