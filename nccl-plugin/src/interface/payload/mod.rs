//! What an event's descriptor says beyond its type: the structures that the versions of the interface share.
//!
//! Declared in the order and with the types of NCCL's plugin interface (repository NVIDIA/nccl,
//! src/include/plugin/profiler); names are ours. A version's descriptor is a union of those it has. That they lie where
//! a C compiler lays them is proved by tests/layouts.rs of the workspace.

mod api;
mod arguments;
mod coll;
mod copy_engine;
mod frame;
mod kernel;
mod network;
mod numbered;
mod p2p;

pub use api::{CollApi, GroupApi, P2pApi};
pub use arguments::{Appended, Arguments, Change, KernelStop, NetUpdate, OldArguments, OperationProgress, Transfer};
pub use coll::{Coll, CollV2, CollV7, Grouped, Named};
pub use copy_engine::{CeBatch, CeColl, CeSync};
pub use frame::{Frame, Narrow, Wide};
pub use kernel::{KernelChannel, KernelLaunch, KernelPhase, UntimedKernelChannel};
pub use network::{NetPlugin, ProxyOperation, ProxyStep};
pub use numbered::{NumberedColl, NumberedP2p};
pub use p2p::{NamedP2p, P2p};

use common::text::Text;
use std::ffi::c_char;

/// A structure and the user's tag after it (v7 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Tagged<T> {
    /// What v6 says already.
    pub inner: T,
    /// The tag; 0 for none.
    pub tag: u64,
}

/// Plain data of C: all its bytes zero is a value.
///
/// # Safety
/// It consists of integers and raw pointers alone.
pub(crate) unsafe trait Plain: Copy {
    /// All bytes zero, padding included: what NCCL's wrappers begin with.
    fn zeroed() -> Self {
        // SAFETY: whoever implements the trait says that zeros are a value.
        unsafe { std::mem::zeroed() }
    }
}

/// Where the string begins; NULL for none.
pub(crate) fn pointer(text: Option<Text<'_>>) -> *const c_char {
    text.map_or(std::ptr::null(), Text::as_ptr)
}
