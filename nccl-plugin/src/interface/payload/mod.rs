//! The structures that NCCL's event descriptors consist of, shared by the versions of the interface.
//!
//! The structures have the order and types of NCCL's plugin interface (repository NVIDIA/nccl,
//! src/include/plugin/profiler); the names are scorep-nccl's own. A version's descriptor contains a union of its
//! structures. tests/layouts of the workspace proves that the fields lie where a C compiler lays them.

mod api;
mod arguments;
mod coll;
mod copy_engine;
mod frame;
mod kernel;
pub(crate) mod network;
pub(crate) mod numbered;
mod p2p;

pub use api::{CollApi, GroupApi, P2pApi};
pub use arguments::{
    Appended, KernelStop, NetUpdate, OldArguments, OperationProgress, ProxyStepArguments, StateArguments, StateUnion,
};
pub use coll::{Coll, CollV2, CollV7, Grouped, Named};
pub use copy_engine::{CeBatch, CeColl, CeSync};
pub use frame::{Frame, Narrow, Wide};
pub use kernel::{KernelChannel, KernelLaunch, KernelPhase, UntimedKernelChannel};
pub use network::{InfinibandEvent, NetPlugin, ProxyOperation, ProxyStep, SocketEvent, SocketTransfer, WorkRequest};
pub use numbered::{NumberedColl, NumberedP2p};
pub use p2p::{NamedP2p, P2p};

use common::text::CText;
use std::ffi::c_char;

/// A structure followed by the user's tag (v7 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Tagged<T> {
    /// The structure of v6.
    pub inner: T,
    /// The user's tag; 0 for none.
    pub tag: u64,
}

/// Plain data of C, for which all bytes zero is a value.
///
/// # Safety
/// The type consists of integers and raw pointers alone.
pub(crate) unsafe trait Plain: Copy {
    /// Returns a value with all bytes zero, padding included, as NCCL's wrappers begin with.
    fn zeroed() -> Self {
        // SAFETY: the implementer of the trait guarantees that zeros are a value.
        unsafe { std::mem::zeroed() }
    }
}

/// Returns the address of the string; NULL for none.
pub(crate) fn pointer(text: Option<CText<'_>>) -> *const c_char {
    text.map_or(std::ptr::null(), CText::as_ptr)
}
