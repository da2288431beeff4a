//! Score-P's communication between the processes of a run.
//!
//! A substrate plugin may use it on the main thread, from `init_mpp` to `write_data`, if all processes use it in the
//! same order (see `roll_call`).

use crate::sys::{IPC_BYTE, IPC_INT, SubstratePluginCallbacks};
use std::ffi::{c_int, c_void};

/// The process that gathers.
const ROOT: usize = 0;
/// The byte with which the first process asks for a part. Any other one says that it wants none.
const ASKED: u8 = 1;

/// A function of Score-P's that failed or is missing.
#[derive(Debug, thiserror::Error)]
#[error("Score-P's {0} failed or is missing")]
pub(crate) struct IpcError(&'static str);

/// Score-P's communication functions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ipc<'a>(&'a SubstratePluginCallbacks);

/// Checks the result of a function: 0 is success, `None` means that the function is missing.
fn checked(name: &'static str, outcome: Option<c_int>) -> Result<(), IpcError> {
    if outcome == Some(0) { Ok(()) } else { Err(IpcError(name)) }
}

/// Converts a length to Score-P's type.
fn length(name: &'static str, bytes: usize) -> Result<c_int, IpcError> {
    c_int::try_from(bytes).map_err(|_| IpcError(name))
}

impl<'a> Ipc<'a> {
    /// # Safety
    /// The functions are Score-P's. The value is used on the main thread only, from `init_mpp` to `write_data`.
    pub(crate) unsafe fn new(callbacks: &'a SubstratePluginCallbacks) -> Self {
        Self(callbacks)
    }

    /// Returns the number of processes in the run; 1 without MPI.
    pub(crate) fn size(self) -> usize {
        // SAFETY: the caller of `new` upholds the conditions; the function takes nothing.
        let size = self.0.SCOREP_Ipc_GetSize.map(|get| unsafe { get() });
        size.and_then(|size| usize::try_from(size).ok()).unwrap_or(1).max(1)
    }

    /// Returns this process's rank.
    pub(crate) fn rank(self) -> usize {
        // SAFETY: the caller of `new` upholds the conditions; the function takes nothing.
        let rank = self.0.SCOREP_Ipc_GetRank.map(|get| unsafe { get() });
        rank.and_then(|rank| usize::try_from(rank).ok()).unwrap_or(0)
    }

    /// Sends bytes to another process.
    ///
    /// # Errors
    /// If Score-P reports an error.
    pub(crate) fn send(self, bytes: &[u8], to: usize) -> Result<(), IpcError> {
        let (count, to) = (length("Ipc_Send", bytes.len())?, length("Ipc_Send", to)?);
        // SAFETY: the caller of `new` upholds the conditions; the buffer has `count` bytes.
        checked(
            "Ipc_Send",
            self.0.SCOREP_Ipc_Send.map(|send| unsafe { send(bytes.as_ptr().cast(), count, IPC_BYTE, to) }),
        )
    }

    /// Waits for bytes from another process, until the buffer is full.
    ///
    /// # Errors
    /// If Score-P reports an error.
    pub(crate) fn receive(self, bytes: &mut [u8], from: usize) -> Result<(), IpcError> {
        let (count, from) = (length("Ipc_Recv", bytes.len())?, length("Ipc_Recv", from)?);
        // SAFETY: the caller of `new` upholds the conditions; the buffer has `count` bytes.
        let receive = |receive: unsafe extern "C" fn(*mut c_void, c_int, u32, c_int) -> c_int| unsafe {
            receive(bytes.as_mut_ptr().cast(), count, IPC_BYTE, from)
        };
        checked("Ipc_Recv", self.0.SCOREP_Ipc_Recv.map(receive))
    }

    /// Gathers the bytes of every process in every process, in the order of ranks.
    ///
    /// # Errors
    /// If Score-P reports an error.
    pub(crate) fn all_gather<const N: usize>(self, own: [u8; N]) -> Result<Vec<[u8; N]>, IpcError> {
        let count = length("Ipc_Allgather", N)?;
        let mut all = vec![[0; N]; self.size()];
        // SAFETY: the caller of `new` upholds the conditions; there is room for the bytes of each process.
        let gather = |gather: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, u32) -> c_int| unsafe {
            gather(own.as_ptr().cast(), all.as_mut_ptr().cast(), count, IPC_BYTE)
        };
        checked("Ipc_Allgather", self.0.SCOREP_Ipc_Allgather.map(gather))?;
        Ok(all)
    }

    /// Passes the bytes of every process to `each`, in the first process and in the order of ranks. The first process
    /// asks one process after the other, so that neither it nor MPI holds the bytes of several processes at once.
    ///
    /// # Errors
    /// If Score-P reports an error.
    pub(crate) fn gather(self, own: &[u8], mut each: impl FnMut(&[u8])) -> Result<(), IpcError> {
        let count = length("Ipc_Gather", own.len())?;
        let here = self.rank() == ROOT;
        let mut counts: Vec<c_int> = vec![0; if here { self.size() } else { 0 }];
        // SAFETY: the caller of `new` upholds the conditions; the first process has room for one count of each process.
        let gather = |gather: unsafe extern "C" fn(*const c_void, *mut c_void, c_int, u32, c_int) -> c_int| unsafe {
            gather((&raw const count).cast(), counts.as_mut_ptr().cast(), 1, IPC_INT, ROOT as c_int)
        };
        checked("Ipc_Gather", self.0.SCOREP_Ipc_Gather.map(gather))?;
        if !here {
            let mut asked = [0];
            self.receive(&mut asked, ROOT)?;
            return if asked == [ASKED] { self.send(own, ROOT) } else { Err(IpcError("Ipc_Gather")) };
        }
        each(own);
        let (mut outcome, mut bytes) = (Ok(()), Vec::new());
        for (rank, &count) in counts.iter().enumerate().skip(1) {
            let length = usize::try_from(count).unwrap_or(0);
            bytes.clear();
            // also after a failure: each process waits for its turn
            let asks = outcome.is_ok() && bytes.try_reserve(length).is_ok();
            let met = self.send(&[if asks { ASKED } else { 0 }], rank).and_then(|()| {
                if !asks {
                    return Err(IpcError("Ipc_Gather"));
                }
                bytes.resize(length, 0);
                self.receive(&mut bytes, rank)
            });
            if met.is_ok() {
                each(&bytes);
            }
            outcome = outcome.and(met);
        }
        outcome
    }
}
