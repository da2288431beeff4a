//! The process' GPUs: those that NCCL has made communicators on.
//!
//! NCCL does not name the GPU to a profiler. It calls a profiler's init on a thread whose current CUDA device is the
//! communicator's, so CUDA's driver is asked there, once for each communicator. CUDA numbers GPUs in its own order, and
//! only those in CUDA_VISIBLE_DEVICES; the place on the PCI bus is the same for everybody.

use crate::base::lock;
use crate::base::symbols::SharedLibrary;
use crate::base::unseen::Unseen;
use crate::hardware::nvml::place;
use crate::sums::run_sums::CommunicatorRank;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, OnceLock};

/// Most ranks whose GPU is kept at a time.
const MAX_RANKS: usize = 4096;
/// Longest name of a place on the PCI bus, with its zero; CUDA's documentation asks for 13.
const LONGEST: usize = 32;

/// GPUs in the order in which they were met, and the GPU of each rank, as an index among them.
#[derive(Debug)]
struct KnownGpus {
    gpus: Vec<String>,
    ranks: BTreeMap<CommunicatorRank, usize>,
}

static KNOWN: Mutex<KnownGpus> = Mutex::new(KnownGpus { gpus: Vec::new(), ranks: BTreeMap::new() });

/// The driver's functions, declared as CUDA's driver interface documents them.
#[derive(Debug)]
struct Driver {
    device: unsafe extern "C" fn(*mut c_int) -> c_int,
    bus: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
    unseen: Unseen,
}

impl Driver {
    /// Returns the loaded driver. `None` where there is none.
    fn look_up() -> Option<Self> {
        let library = SharedLibrary::find(c"libcuda.so.1")?;
        // SAFETY: CUDA's functions of these names have these types.
        let (device, bus) = unsafe { (library.symbol(c"cuCtxGetDevice")?, library.symbol(c"cuDeviceGetPCIBusId")?) };
        Some(Self { device, bus, unseen: Unseen::look_up() })
    }

    /// Returns the place of the calling thread's current GPU on the PCI bus.
    fn current(&self) -> Option<String> {
        let _unseen = self.unseen.enter();
        let mut device = 0;
        // SAFETY: the function writes one number.
        let result = unsafe { (self.device)(&raw mut device) };
        let mut name = [0; LONGEST];
        // SAFETY: the function writes at most so many characters, the last one 0.
        if result != 0 || unsafe { (self.bus)(name.as_mut_ptr(), LONGEST as c_int - 1, device) } != 0 {
            return None;
        }
        // SAFETY: the last character is 0 whatever the function has written, which ends one before it.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        Some(place(name.to_str().ok()?)).filter(|name| !name.is_empty())
    }
}

/// Notes the current GPU of the calling thread, as the GPU of a new communicator. `rank` is the rank in it, where NCCL
/// has said it already. Returns whether the GPU was not known before.
pub(super) fn note(rank: Option<CommunicatorRank>) -> bool {
    static DRIVER: OnceLock<Option<Driver>> = OnceLock::new();
    let Some(gpu) = DRIVER.get_or_init(Driver::look_up).as_ref().and_then(Driver::current) else { return false };
    let Some(mut known) = lock::hold(&KNOWN) else { return false };
    let met = known.gpus.iter().position(|other| *other == gpu);
    let index = met.unwrap_or(known.gpus.len());
    if met.is_none() {
        known.gpus.push(gpu);
    }
    if let Some(rank) = rank.filter(|_| known.ranks.len() < MAX_RANKS) {
        known.ranks.insert(rank, index);
    }
    met.is_none()
}

/// Forgets a rank, whose communicator has ended.
pub(super) fn forget(rank: CommunicatorRank) {
    if let Some(mut known) = lock::hold(&KNOWN) {
        known.ranks.remove(&rank);
    }
}

/// Returns all GPUs, by their places on the PCI bus.
pub(super) fn all() -> Vec<String> {
    lock::hold(&KNOWN).map(|known| known.gpus.clone()).unwrap_or_default()
}

/// Returns their number.
pub(super) fn count() -> usize {
    lock::hold(&KNOWN).map_or(0, |known| known.gpus.len())
}

/// Returns the GPU of a rank: the one that it was noted with, or the only one of the process.
pub(super) fn of(rank: CommunicatorRank) -> Option<String> {
    let known = lock::hold(&KNOWN)?;
    let only = (known.gpus.len() == 1).then_some(0);
    known.ranks.get(&rank).copied().or(only).and_then(|index| known.gpus.get(index).cloned())
}
