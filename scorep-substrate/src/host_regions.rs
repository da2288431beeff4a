//! NCCL's API calls as regions on the calling thread's location (`NCCL_SCOREP_HOST_REGIONS=on`).
//!
//! Regions are written only on threads that Score-P knows. For an unknown thread, Score-P would create a location or
//! write into the main thread's. A thread is known once Score-P has called the plugin on it.

use crate::lanes::kind;
use crate::measurement::{LaneTarget, Measurement, address};
use crate::sys::measurement::{EnterRegion, GetInMeasurement, MeasurementPhase, PHASE_WITHIN};
use crate::sys::{REGION_FUNCTION, RegionHandle};
use common::config::LaneChoice;
use common::host_region::{HostRegion, RegionWatcher, watch};
use common::name::{FUNCTIONS, NcclName};
use common::{config, log};
use once_cell::sync::OnceCell;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::sync::Once;

/// Score-P's functions and the regions.
struct Regions {
    enter: EnterRegion,
    exit: EnterRegion,
    in_measurement: GetInMeasurement,
    phase: *const MeasurementPhase,
    /// The regions of the API's functions, in the order of [`FUNCTIONS`].
    handles: [RegionHandle; FUNCTIONS.len()],
    group_end: RegionHandle,
}

// SAFETY: `phase` points to a variable of Score-P's that all threads read; the functions are called on threads that
// Score-P knows.
unsafe impl Send for Regions {}
// SAFETY: as for Send.
unsafe impl Sync for Regions {}

static REGIONS: OnceCell<Regions> = OnceCell::new();

thread_local! {
    /// Whether Score-P knows this thread.
    static IS_KNOWN: Cell<bool> = const { Cell::new(false) };
}

/// Notes that Score-P knows the calling thread.
pub(crate) fn know_thread() {
    let _ = IS_KNOWN.try_with(|known| known.set(true));
}

/// Creates the regions at the begin of the measurement, if the settings ask for them.
pub(crate) fn begin() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if !config::settings().host_regions {
            return;
        }
        match Regions::find() {
            Ok(regions) => {
                let _ = REGIONS.set(regions);
                watch(RegionWatcher { entered, left });
            }
            Err(reason) => log::warn(&format!("NCCL's API calls are no regions in Score-P: {reason}")),
        }
    });
}

impl Regions {
    fn find() -> Result<Self, String> {
        let measurement = Measurement::find()?;
        if Measurement::tried().is_none() && config::settings().lanes != LaneChoice::Always {
            return Err("this release of Score-P was not tried, and the trial has no part for them; \
                        NCCL_SCOREP_LANES=always makes them"
                .into());
        }
        let address = |name: &CStr| {
            address(name).ok_or_else(|| format!("Score-P's library does not export {}", name.to_string_lossy()))
        };
        let [enter, exit] = [address(c"SCOREP_EnterRegion")?, address(c"SCOREP_ExitRegion")?];
        let in_measurement = address(c"scorep_get_in_measurement")?;
        let handles = FUNCTIONS.map(|function| {
            let name = NcclName::of(CString::new(function).ok().as_deref());
            measurement.region(&format!("nccl{function}"), kind(name))
        });
        let group_end = measurement.region("ncclGroupEnd", REGION_FUNCTION);
        let phase = address(c"scorep_measurement_phase")?.cast_const().cast();
        // SAFETY: the library is of a release that was tried, whose symbols of these names have these types, or the
        // user forces it.
        unsafe {
            Ok(Self {
                enter: std::mem::transmute::<*mut c_void, EnterRegion>(enter),
                exit: std::mem::transmute::<*mut c_void, EnterRegion>(exit),
                in_measurement: std::mem::transmute::<*mut c_void, GetInMeasurement>(in_measurement),
                phase,
                handles,
                group_end,
            })
        }
    }

    /// Enters or exits a region under the conditions of Score-P's own adapters: the measurement is in progress, and the
    /// thread is not inside Score-P. Returns whether it did.
    fn call(&self, function: EnterRegion, region: HostRegion) -> bool {
        let handle = match region {
            HostRegion::Call(name) => name.function().and_then(|index| self.handles.get(index)),
            HostRegion::GroupEnd => Some(&self.group_end),
        };
        let Some(&region) = handle else { return false };
        // SAFETY: a variable of Score-P's, which lives as long as the process.
        let within = unsafe { self.phase.read_volatile() } == PHASE_WITHIN;
        // SAFETY: Score-P returns the calling thread's own count.
        let Some(depth) = (unsafe { (self.in_measurement)().as_mut() }) else { return false };
        if !within || *depth > 0 {
            return false;
        }
        *depth += 1;
        // SAFETY: the region was created above, and Score-P knows the calling thread.
        unsafe { function(region) };
        *depth -= 1;
        true
    }
}

fn entered(region: HostRegion) -> bool {
    let known = IS_KNOWN.try_with(Cell::get).unwrap_or(false);
    REGIONS.get().is_some_and(|regions| known && regions.call(regions.enter, region))
}

fn left(region: HostRegion) {
    if let Some(regions) = REGIONS.get() {
        regions.call(regions.exit, region);
    }
}
