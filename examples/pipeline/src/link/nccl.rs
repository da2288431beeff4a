//! NCCL: a communicator of two ranks for each pair of neighbours.
//!
//! NCCL takes no two ranks of a communicator on one GPU. Neighbours are on different GPUs, so that more stages than
//! GPUs can run: stage i on GPU i mod G.

use super::Link;
use crate::device::Gpu;
use crate::rendezvous::Store;
use crate::schedule::Side;
use anyhow::{Context, Result, anyhow};
use cudarc::driver::{CudaSlice, DevicePtr, DevicePtrMut};
use cudarc::nccl::{Id, result, sys};
use std::ffi::{c_char, c_void};

/// A communicator of two stages: the left one is its rank 0.
#[derive(Debug)]
pub struct Nccl {
    communicator: sys::ncclComm_t,
    peer: i32,
}

impl Nccl {
    /// Makes the communicator of a stage with its neighbour, once the neighbour does so, too. The left one makes the
    /// id; the store passes it on.
    ///
    /// # Errors
    ///
    /// NCCL's, or the store's.
    pub fn connect(store: &mut Store, left: usize, side: Side) -> Result<Self> {
        let key = format!("nccl.{left}");
        let (id, rank) = match side {
            Side::Right => {
                let id = Id::new().map_err(|error| failed("ncclGetUniqueId", error))?;
                store.put(&key, &id.internal().map(|byte| byte as u8))?;
                (id, 0)
            }
            Side::Left => {
                let bytes = store.get(&key)?;
                let bytes: [u8; 128] = bytes.try_into().map_err(|_| anyhow!("NCCL's id has not 128 bytes"))?;
                (Id::uninit(bytes.map(|byte| byte as c_char)), 1)
            }
        };
        let id = sys::ncclUniqueId { internal: *id.internal() };
        let mut communicator = std::ptr::null_mut();
        // SAFETY: the place lives; the calling thread's CUDA context is that of the stage's GPU
        unsafe { result::comm_init_rank(&mut communicator, 2, id, rank) }
            .map_err(|error| failed("ncclCommInitRank", error))
            .with_context(|| format!("stages {left} and {} do not connect", left + 1))?;
        Ok(Self { communicator, peer: 1 - rank })
    }
}

fn failed(call: &str, error: result::NcclError) -> anyhow::Error {
    anyhow!("{call}: {:?} (NCCL_DEBUG=WARN says more)", error.0)
}

impl Link<Gpu> for Nccl {
    fn exchange(
        &mut self,
        device: &Gpu,
        send: Option<&CudaSlice<f32>>,
        receive: Option<&mut CudaSlice<f32>>,
    ) -> Result<()> {
        let stream = device.stream();
        let raw = stream.cu_stream() as sys::cudaStream_t;
        let number = sys::ncclDataType_t::ncclFloat32;
        let is_group = send.is_some() && receive.is_some();
        if is_group {
            result::group_start().map_err(|error| failed("ncclGroupStart", error))?;
        }
        if let Some(memory) = send {
            let (begin, _) = memory.device_ptr(stream);
            // SAFETY: the memory is of this GPU and lives as long as the stage, whose stream orders its use
            unsafe { result::send(begin as *const c_void, memory.len(), number, self.peer, self.communicator, raw) }
                .map_err(|error| failed("ncclSend", error))?;
        }
        if let Some(memory) = receive {
            let length = memory.len();
            let (begin, _) = memory.device_ptr_mut(stream);
            // SAFETY: as above
            unsafe { result::recv(begin as *mut c_void, length, number, self.peer, self.communicator, raw) }
                .map_err(|error| failed("ncclRecv", error))?;
        }
        if is_group {
            result::group_end().map_err(|error| failed("ncclGroupEnd", error))?;
        }
        Ok(())
    }
}

impl Drop for Nccl {
    fn drop(&mut self) {
        // SAFETY: the communicator is this link's alone. Should it fail, the process is about to end
        let _ = unsafe { result::comm_destroy(self.communicator) };
    }
}
