//! Score-P's communication between the processes of a run, which a substrate plugin may use on the main thread, from
//! `init_mpp` to `write_data`, if all processes use it in the same order (see `roll_call`).

use crate::sys::{IPC_BYTE, IPC_INT, IPC_MAX, IPC_UINT32_T, SubstratePluginCallbacks};
use std::ffi::{c_int, c_void};

/// The process that gathers.
const ROOT: c_int = 0;

/// What was to be done, and failed.
#[derive(Debug, thiserror::Error)]
#[error("Score-P's {0} failed or is missing")]
pub(crate) struct IpcError(&'static str);

/// Score-P's functions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ipc<'a>(&'a SubstratePluginCallbacks);

/// The outcome of a function: 0 when it has succeeded, `None` when there is none.
fn checked(name: &'static str, outcome: Option<c_int>) -> Result<(), IpcError> {
    if outcome == Some(0) { Ok(()) } else { Err(IpcError(name)) }
}

/// A length as Score-P takes it.
fn length(name: &'static str, bytes: usize) -> Result<c_int, IpcError> {
    c_int::try_from(bytes).map_err(|_| IpcError(name))
}

impl<'a> Ipc<'a> {
    /// # Safety
    /// The functions are Score-P's, and the caller is on the main thread, between `init_mpp` and `write_data`.
    pub(crate) unsafe fn new(callbacks: &'a SubstratePluginCallbacks) -> Self {
        Self(callbacks)
    }

    /// Processes in the run; 1 without MPI.
    pub(crate) fn size(self) -> usize {
        // SAFETY: by `new`; takes nothing.
        let size = self.0.SCOREP_Ipc_GetSize.map(|get| unsafe { get() });
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or(1).max(1)
    }

    /// Which one this is.
    pub(crate) fn rank(self) -> usize {
        // SAFETY: by `new`; takes nothing.
        let rank = self.0.SCOREP_Ipc_GetRank.map(|get| unsafe { get() });
        rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(0)
    }

    /// Sends to another process.
    ///
    /// # Errors
    /// What Score-P says.
    pub(crate) fn send(self, bytes: &[u8], to: usize) -> Result<(), IpcError> {
        let (count, to) = (length("Ipc_Send", bytes.len())?, length("Ipc_Send", to)?);
        // SAFETY: by `new`; the buffer is as long as told.
        checked(
            "Ipc_Send",
            self.0.SCOREP_Ipc_Send.map(|send| unsafe { send(bytes.as_ptr().cast(), count, IPC_BYTE, to) }),
        )
    }

    /// Waits for as many bytes of another process.
    ///
    /// # Errors
    /// What Score-P says.
    pub(crate) fn receive(self, bytes: &mut [u8], from: usize) -> Result<(), IpcError> {
        let (count, from) = (length("Ipc_Recv", bytes.len())?, length("Ipc_Recv", from)?);
        // SAFETY: by `new`; the buffer is as long as told.
        let receive = |receive: unsafe extern "C" fn(*mut c_void, c_int, u32, c_int) -> c_int| unsafe {
            receive(bytes.as_mut_ptr().cast(), count, IPC_BYTE, from)
        };
        checked("Ipc_Recv", self.0.SCOREP_Ipc_Recv.map(receive))
    }

    /// What each process gives, in the order of ranks, to all of them.
    ///
    /// # Errors
    /// What Score-P says.
    pub(crate) fn all_gather<const N: usize>(self, own: [u8; N]) -> Result<Vec<[u8; N]>, IpcError> {
        let count = length("Ipc_Allgather", N)?;
        let mut all = vec![[0; N]; self.size()];
        // SAFETY: by `new`; there is room for what each process gives.
        let gather = |gather: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, u32) -> c_int| unsafe {
            gather(own.as_ptr().cast(), all.as_mut_ptr().cast(), count, IPC_BYTE)
        };
        checked("Ipc_Allgather", self.0.SCOREP_Ipc_Allgather.map(gather))?;
        Ok(all)
    }

    /// The greatest of what the processes give, to all of them.
    ///
    /// # Errors
    /// What Score-P says.
    pub(crate) fn greatest(self, own: u32) -> Result<u32, IpcError> {
        let mut greatest = own;
        let reduce = |reduce: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, u32, u32) -> c_int| {
            let (own, greatest) = ((&raw const own).cast(), (&raw mut greatest).cast());
            // SAFETY: by `new`; both are one value of the type told.
            unsafe { reduce(own, greatest, 1, IPC_UINT32_T, IPC_MAX) }
        };
        checked("Ipc_Allreduce", self.0.SCOREP_Ipc_Allreduce.map(reduce))?;
        Ok(greatest)
    }

    /// Brings the bytes of each process to the first one, which gets them in the order of ranks; the others get
    /// nothing.
    ///
    /// # Errors
    /// What Score-P says. Together they must be less than 2 GiB.
    pub(crate) fn gather(self, own: &[u8]) -> Result<Vec<Vec<u8>>, IpcError> {
        let count = length("Ipc_Gatherv", own.len())?;
        let here = self.rank() == 0;
        let mut counts: Vec<c_int> = vec![0; if here { self.size() } else { 0 }];
        // SAFETY: by `new`; the first process has room for a number of each.
        let gather = |gather: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, u32, c_int) -> c_int| unsafe {
            gather((&raw const count).cast(), counts.as_mut_ptr().cast(), 1, IPC_INT, ROOT)
        };
        checked("Ipc_Gather", self.0.SCOREP_Ipc_Gather.map(gather))?;
        let lengths: Vec<usize> = counts.iter().map(|&count| usize::try_from(count).unwrap_or(0)).collect();
        let mut all = vec![0_u8; lengths.iter().sum()];
        type Gather = unsafe extern "C" fn(*const c_void, c_int, *mut c_void, *const c_int, u32, c_int) -> c_int;
        // SAFETY: by `new`; the first process has room for as many bytes as the others have told.
        let gather = |gather: Gather| unsafe {
            gather(own.as_ptr().cast(), count, all.as_mut_ptr().cast(), counts.as_ptr(), IPC_BYTE, ROOT)
        };
        checked("Ipc_Gatherv", self.0.SCOREP_Ipc_Gatherv.map(gather))?;
        let mut rest = all.as_slice();
        let parts = lengths.iter().map(|&length| {
            let (part, behind) = rest.split_at(length);
            rest = behind;
            part.to_vec()
        });
        Ok(parts.collect())
    }
}
