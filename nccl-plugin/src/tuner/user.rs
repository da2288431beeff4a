//! The user's own tuner: its table, called in its own version as NCCL calls it.
//!
//! Newer NCCLs translate for older tables, and so does this file, in NCCL's way (`src/plugin/tuner/tuner_v*.cc`): v2 has
//! no table of times, v3 does not learn whether buffers are registered, and only v6 chooses sizes of chunks.

use super::cost_table::CostTable;
use super::interface::{ChooseChunk, ChooseV2, ChooseV3, ChooseV4, Finalize, InitV2, InitV5};
use crate::library::LoadedLibrary;
use common::image::base_of;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

/// Versions that NCCL looks up, newest first.
const SPOKEN: [(u32, &CStr); 5] = [
    (6, c"ncclTunerPlugin_v6"),
    (5, c"ncclTunerPlugin_v5"),
    (4, c"ncclTunerPlugin_v4"),
    (3, c"ncclTunerPlugin_v3"),
    (2, c"ncclTunerPlugin_v2"),
];

/// A table in the tuner's memory: five pointers in v6, four in the others.
#[repr(C)]
#[derive(Clone, Copy)]
struct UserTable {
    name: *const c_char,
    init: Option<NonNull<c_void>>,
    choose: Option<NonNull<c_void>>,
    finalize: Option<Finalize>,
}

/// The arguments of init.
#[derive(Debug, Clone, Copy)]
pub(super) struct InitArguments {
    /// The communicator's id, since v5.
    pub(super) comm: Option<u64>,
    pub(super) ranks: usize,
    pub(super) nodes: usize,
    pub(super) logger: *const c_void,
    /// NCCL's structure of NVLink domains, since v5.
    pub(super) domains: *mut c_void,
    /// NCCL's constants, since v5.
    pub(super) constants: *mut c_void,
}

/// The arguments of getCollInfo, but for the context.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectiveArguments {
    pub(super) function: c_int,
    pub(super) bytes: usize,
    pub(super) pipelined: c_int,
    /// NCCL's table of times.
    pub(super) times: *mut f32,
    pub(super) algorithms: c_int,
    pub(super) protocols: c_int,
    /// Whether buffers can be registered, since v4.
    pub(super) registered: c_int,
    /// Place for the number of channels.
    pub(super) channels: *mut c_int,
}

/// The user's tuner. The user, who chose it, answers for its functions, as when NCCL calls them.
#[derive(Debug)]
pub(super) struct UserTuner {
    version: u32,
    init: NonNull<c_void>,
    choose: NonNull<c_void>,
    finalize: Finalize,
    choose_chunk: Option<ChooseChunk>,
}

// SAFETY: the functions are constants of a library that is never unloaded; NCCL calls tuners from any thread.
unsafe impl Send for UserTuner {}
// SAFETY: as for Send.
unsafe impl Sync for UserTuner {}

impl UserTuner {
    /// Looks up the newest table of a library that NCCL would take, if NCCL speaks this version itself. A table of this
    /// library's, which may be found in a program, does not count.
    ///
    /// # Errors
    /// The reason, in words, if there is none.
    pub(super) fn find(library: &LoadedLibrary, spoken: u32) -> Result<Self, String> {
        let of_nccl = SPOKEN.iter().filter(|(version, _)| *version <= spoken);
        let own = base_of(SPOKEN.as_ptr().cast());
        let other = |symbol| library.symbol(symbol).filter(|table| base_of(table.as_ptr()) != own);
        let found = of_nccl.clone().find_map(|(version, symbol)| Some((*version, other(symbol)?)));
        let Some((version, found)) = found else {
            return Err(format!(
                "it has no table ncclTunerPlugin_v2 to ncclTunerPlugin_v{spoken}, which this NCCL knows"
            ));
        };
        // SAFETY: NCCL defines a table of this name to begin with these pointers; the library is never unloaded.
        let table = unsafe { found.cast::<UserTable>().read() };
        let (Some(init), Some(choose), Some(finalize)) = (table.init, table.choose, table.finalize) else {
            return Err(format!("its table ncclTunerPlugin_v{version} lacks a function"));
        };
        let choose_chunk = (version >= 6).then(|| {
            // SAFETY: a table of v6 has one pointer more, to a function of this type or NULL.
            unsafe { found.cast::<UserTable>().add(1).cast::<Option<ChooseChunk>>().read() }
        });
        Ok(Self { version, init, choose, finalize, choose_chunk: choose_chunk.flatten() })
    }

    /// Returns the version of its table.
    pub(super) fn version(&self) -> u32 {
        self.version
    }

    /// Returns its function for the sizes of chunks.
    pub(super) fn choose_chunk(&self) -> Option<ChooseChunk> {
        self.choose_chunk
    }

    /// Calls init with a place for its context. Returns its result.
    ///
    /// # Safety
    /// The place is writable, and the arguments are NCCL's.
    pub(super) unsafe fn init(&self, theirs: *mut *mut c_void, arguments: &InitArguments) -> c_int {
        let InitArguments { comm, ranks, nodes, logger, domains, constants } = *arguments;
        if self.version >= 5 {
            // SAFETY: the table is v5's or later, whose init has this type.
            let init = unsafe { transmute::<NonNull<c_void>, InitV5>(self.init) };
            // SAFETY: the caller upholds the conditions.
            return unsafe { init(theirs, comm.unwrap_or(0), ranks, nodes, logger, domains, constants) };
        }
        // SAFETY: the table is older than v5, whose init has this type.
        let init = unsafe { transmute::<NonNull<c_void>, InitV2>(self.init) };
        // SAFETY: the caller upholds the conditions.
        unsafe { init(ranks, nodes, logger, theirs) }
    }

    /// Calls getCollInfo. Returns its result.
    ///
    /// # Safety
    /// The context is the tuner's own, and the arguments are NCCL's. `table` is a copy of NCCL's table.
    pub(super) unsafe fn choose(
        &self,
        theirs: *mut c_void,
        arguments: &CollectiveArguments,
        table: Option<&CostTable>,
    ) -> c_int {
        let CollectiveArguments { function, bytes, pipelined, times, algorithms, protocols, registered, channels } =
            *arguments;
        match self.version {
            2 => {
                // SAFETY: the caller upholds the conditions.
                unsafe { self.choose_by_name(theirs, arguments, table) }
            }
            3 => {
                // SAFETY: the table is v3's, whose function has this type.
                let choose = unsafe { transmute::<NonNull<c_void>, ChooseV3>(self.choose) };
                // SAFETY: the caller upholds the conditions.
                unsafe { choose(theirs, function, bytes, pipelined, times, algorithms, protocols, channels) }
            }
            _ => {
                // SAFETY: the table is v4's or later, whose function has this type.
                let choose = unsafe { transmute::<NonNull<c_void>, ChooseV4>(self.choose) };
                // SAFETY: the caller upholds the conditions.
                unsafe {
                    choose(theirs, function, bytes, pipelined, times, algorithms, protocols, registered, channels)
                }
            }
        }
    }

    /// Calls getCollInfo of v2, which names an algorithm and a protocol: their time becomes 0, so that NCCL takes them.
    ///
    /// # Safety
    /// As for [`Self::choose`]; the table is v2's.
    unsafe fn choose_by_name(
        &self,
        theirs: *mut c_void,
        arguments: &CollectiveArguments,
        table: Option<&CostTable>,
    ) -> c_int {
        let CollectiveArguments { function, bytes, pipelined, times, channels, .. } = *arguments;
        let [network, nvlink] = table.map_or([false; 2], CostTable::reductions);
        let (mut algorithm, mut protocol) = (-1, -1);
        // SAFETY: the table is v2's, whose function has this type.
        let choose = unsafe { transmute::<NonNull<c_void>, ChooseV2>(self.choose) };
        let places = [&raw mut algorithm, &raw mut protocol];
        // SAFETY: the caller upholds the conditions, and the places are locals.
        let result = unsafe {
            choose(theirs, function, bytes, network.into(), nvlink.into(), pipelined, places[0], places[1], channels)
        };
        let chosen = table.and_then(|table| table.place(algorithm, protocol)).filter(|_| result == 0);
        if let Some(place) = chosen {
            // SAFETY: `place` is one of the times that were read from NCCL's table, which NCCL lets a tuner change.
            unsafe { *times.add(place) = 0.0 };
        }
        result
    }

    /// Ends a communicator. Returns the result.
    ///
    /// # Safety
    /// The context is the tuner's own.
    pub(super) unsafe fn finalize(&self, theirs: *mut c_void) -> c_int {
        // SAFETY: the caller upholds the condition.
        unsafe { (self.finalize)(theirs) }
    }
}
