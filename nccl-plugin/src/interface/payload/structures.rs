//! The structures in NCCL's descriptors, with the order and types of NCCL's plugin interface (repository NVIDIA/nccl,
//! src/include/plugin/profiler).
//!
//! A structure is named after the oldest version that has it; one whose members are the same in all versions has no
//! number. Its members are named after the descriptor's fields, which document them. C's bool is a byte here, because
//! NCCL may write values other than 0 and 1.

use super::number::{AlgorithmNumber, DatatypeNumber, FunctionNumber, ProtocolNumber};
use super::structure::{CMember, CType, CommunicatorId, Structure, members};
use crate::interface::descriptor::{self, Payload};
use crate::interface::kind::event;
use std::ffi::{c_char, c_int, c_void};

/// A payload, or a pattern for it: its variant has a struct of the descriptor's, or fields.
macro_rules! payload {
    ($variant:ident ($struct:ident) { $($fields:tt)* }) => { Payload::$variant(descriptor::$struct { $($fields)* }) };
    ($variant:ident { $($fields:tt)* }) => { Payload::$variant { $($fields)* } };
}

/// Declares structures: `NAME = TYPE PAYLOAD { member: C type }`. A member after `_` has no field in the descriptor: it
/// is not read, and written as 0. `without` names a field that the structure lacks, and its value.
macro_rules! structures {
    ($(
        $(#[$doc:meta])*
        $name:ident = $kind:ident $variant:ident $(($struct:ident))? {
            $($(_ $unread:ident)? $($field:ident)?: $type:ty),* $(,)? $(; without $absent:ident = $value:expr)?
        }
    )*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name {
            $($($unread: $type,)? $($field: $type,)?)*
        }

        impl Structure for $name {
            const KIND: u64 = event::$kind;
            const MEMBERS: &'static [CMember] = members!(Self: $($($unread)? $($field)?),*);

            #[inline(always)]
            #[allow(clippy::needless_update, reason = "some structures have all fields")]
            unsafe fn decode<'a>(&self) -> Payload<'a> {
                // SAFETY: the caller upholds the condition for all strings.
                unsafe {
                    payload!($variant $(($struct))? {
                        $($($field: CType::read(self.$field),)?)*
                        $($absent: $value,)?
                        $(..descriptor::$struct::default())?
                    })
                }
            }

            fn encode(payload: &Payload<'_>) -> Option<Self> {
                let payload!($variant $(($struct))? { $($($field,)?)* .. }) = *payload else { return None };
                Some(Self { $($($unread: 0,)? $($field: CType::write($field)?,)?)* })
            }
        }
    )*};
}

structures! {
    /// A collective operation of v1.
    CollV1 = COLL Coll(Coll) {
        name: *const c_char, communicator: CommunicatorId, sequence: u64, function: FunctionNumber, send: *const c_void,
        receive: *mut c_void, count: usize, root: c_int, datatype: DatatypeNumber, _ reduction: u32, _ traffic: usize,
        channels: u8, warps: u8, algorithm: AlgorithmNumber, protocol: ProtocolNumber, _ collnet: c_int, _ nvls: c_int,
    }
    /// A collective operation of v2.
    CollV2 = COLL Coll(Coll) {
        name: *const c_char, communicator: CommunicatorId, sequence: u64, function: *const c_char, send: *const c_void,
        receive: *mut c_void, count: usize, root: c_int, datatype: *const c_char, _ traffic: usize, channels: u8,
        warps: u8, algorithm: *const c_char, protocol: *const c_char,
    }
    /// A collective operation of v3.
    CollV3 = COLL Coll(Coll) {
        name: *const c_char, communicator: CommunicatorId, sequence: u64, function: *const c_char, send: *const c_void,
        receive: *mut c_void, count: usize, root: c_int, datatype: *const c_char, channels: u8, warps: u8,
        algorithm: *const c_char, protocol: *const c_char,
    }
    /// A collective operation of v4.
    CollV4 = COLL Coll(Coll) {
        sequence: u64, function: *const c_char, send: *const c_void, receive: *mut c_void, count: usize, root: c_int,
        datatype: *const c_char, channels: u8, warps: u8, algorithm: *const c_char, protocol: *const c_char,
    }
    /// A collective operation of v5 and v6.
    CollV5 = COLL Coll(Coll) {
        sequence: u64, function: *const c_char, send: *const c_void, receive: *mut c_void, count: usize, root: c_int,
        datatype: *const c_char, channels: u8, warps: u8, algorithm: *const c_char, protocol: *const c_char,
        group: *mut c_void,
    }
    /// A collective operation of v7.
    CollV7 = COLL Coll(Coll) {
        sequence: u64, function: *const c_char, send: *const c_void, receive: *mut c_void, count: usize, root: c_int,
        datatype: *const c_char, channels: u8, warps: u8, algorithm: *const c_char, protocol: *const c_char,
        group: *mut c_void, variant: *const c_char, symmetric: u8, tag: u64,
    }

    /// A send or receive of v1.
    P2pV1 = P2P P2p(P2p) {
        name: *const c_char, communicator: CommunicatorId, function: FunctionNumber, buffer: *mut c_void,
        datatype: DatatypeNumber, count: usize, peer: c_int,
    }
    /// A send or receive of v2 and v3.
    P2pV2 = P2P P2p(P2p) {
        name: *const c_char, communicator: CommunicatorId, function: *const c_char, buffer: *mut c_void,
        datatype: *const c_char, count: usize, peer: c_int,
    }
    /// A send or receive of v4.
    P2pV4 = P2P P2p(P2p) {
        function: *const c_char, buffer: *mut c_void, datatype: *const c_char, count: usize, peer: c_int, channels: u8,
    }
    /// A send or receive of v5 and v6.
    P2pV5 = P2P P2p(P2p) {
        function: *const c_char, buffer: *mut c_void, datatype: *const c_char, count: usize, peer: c_int, channels: u8,
        group: *mut c_void,
    }
    /// A send or receive of v7.
    P2pV7 = P2P P2p(P2p) {
        function: *const c_char, buffer: *mut c_void, datatype: *const c_char, count: usize, peer: c_int, channels: u8,
        group: *mut c_void, tag: u64,
    }

    /// A proxy operation.
    ProxyOp = PROXY_OP ProxyOp(ProxyOp) {
        pid: libc::pid_t, channel: u8, peer: c_int, steps: c_int, chunk: c_int, send: c_int,
    }
    /// A step of a proxy operation.
    ProxyStep = PROXY_STEP ProxyStep { step: c_int }

    /// A kernel channel of v3.
    KernelChV3 = KERNEL_CH KernelCh { channel: u8; without ptimer = None }
    /// A kernel channel of v4 and later.
    KernelChV4 = KERNEL_CH KernelCh { channel: u8, ptimer: u64 }
    /// The launch of a kernel.
    KernelLaunch = KERNEL_LAUNCH KernelLaunch { stream: *mut c_void }
    /// A phase within a kernel channel.
    KernelPhase = KERNEL_PHASE KernelPhase { channel: u8, phase: u8, name: *const c_char, ptimer: u64 }

    /// A group of API calls.
    GroupApi = GROUP_API GroupApi { captured: u8, depth: c_int }
    /// A call of a collective function, in v5 and v6.
    CollApiV5 = COLL_API CollApi(CollApi) {
        function: *const c_char, count: usize, datatype: *const c_char, root: c_int, stream: *mut c_void, captured: u8,
    }
    /// A call of a collective function, in v7.
    CollApiV7 = COLL_API CollApi(CollApi) {
        function: *const c_char, count: usize, datatype: *const c_char, root: c_int, stream: *mut c_void, captured: u8,
        tag: u64,
    }
    /// A call of a point-to-point function, in v5 and v6.
    P2pApiV5 = P2P_API P2pApi(P2pApi) {
        function: *const c_char, count: usize, datatype: *const c_char, stream: *mut c_void, captured: u8,
    }
    /// A call of a point-to-point function, in v7.
    P2pApiV7 = P2P_API P2pApi(P2pApi) {
        function: *const c_char, count: usize, datatype: *const c_char, stream: *mut c_void, captured: u8, tag: u64,
    }

    /// A collective by copy engine, in v6.
    CeCollV6 = CE_COLL CeColl(CeColl) {
        sequence: u64, function: *const c_char, send: *const c_void, receive: *mut c_void, count: usize, root: c_int,
        datatype: *const c_char, strategy: *const c_char, intra_batch_sync: u8, batch_size: u32, batches: u32,
        ce_sequence: u32, stream: *mut c_void,
    }
    /// A collective by copy engine, in v7.
    CeCollV7 = CE_COLL CeColl(CeColl) {
        sequence: u64, function: *const c_char, send: *const c_void, receive: *mut c_void, count: usize, root: c_int,
        datatype: *const c_char, strategy: *const c_char, intra_batch_sync: u8, batch_size: u32, batches: u32,
        ce_sequence: u32, stream: *mut c_void, tag: u64,
    }
    /// Synchronisation of a collective by copy engine.
    CeSync = CE_SYNC CeSync { complete: u8, ranks: c_int }
    /// A batch of copies of a collective by copy engine.
    CeBatch = CE_BATCH CeBatch { operations: c_int, bytes: usize, intra_sync: u8 }
}
