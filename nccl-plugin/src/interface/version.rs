//! The versions of NCCL's profiler interface, each with the structures that its descriptor may have.

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::kind::event;
use crate::interface::payload::structures::*;
use crate::interface::payload::{CMember, NetPlugin, OldArguments, StateArguments, StateUnion, Structure, members};
use std::ffi::{c_int, c_void};

/// A version of the interface.
pub trait Version: Sized {
    /// Type of an event's type.
    type Kind: Copy + Into<u64> + TryFrom<u64>;
    /// The union in a descriptor.
    type Payloads: PayloadUnion;
    /// The C union that NCCL passes when an event's state changes.
    type Arguments: StateUnion;
    /// Version number.
    const NUMBER: u32;
    /// Event types that this version has, as NCCL's bits.
    const ALL_TYPES: u64;
    /// Those of them that the library may request.
    const TYPES: u64;
    /// Whether NCCL reports API calls in this version.
    const API_CALLS: bool = Self::NUMBER >= 5;
    /// Whether an operation's group is its parent. Otherwise the group has a field of its own.
    const GROUP_IS_PARENT: bool = Self::NUMBER <= 4;

    /// Reads a descriptor.
    ///
    /// # Safety
    /// `raw` points to NCCL's descriptor of this version. Its strings live as long as `'a`: until the callback returns.
    #[inline(always)]
    unsafe fn decode<'a>(raw: *const RawDescriptor<Self>) -> Descriptor<'a> {
        // SAFETY: the caller upholds the condition. NCCL fills in the member of the union that the type selects.
        unsafe {
            let payload = (*raw).payload.decode((*raw).kind());
            Descriptor { parent: (*raw).parent as u64, rank: (*raw).rank, payload }
        }
    }

    /// Writes a descriptor for a plugin of this version, without the fields that the version lacks. The strings are
    /// borrowed from `descriptor`. An event of an unknown type has its number alone.
    ///
    /// Returns `None` if the version lacks the event's type, or requires a field whose value is unknown.
    fn encode(descriptor: &Descriptor<'_>) -> Option<RawDescriptor<Self>> {
        let Descriptor { parent, rank, payload } = descriptor;
        let group = match payload {
            Payload::Coll(coll) if Self::GROUP_IS_PARENT => coll.group,
            Payload::P2p(p2p) if Self::GROUP_IS_PARENT => p2p.group,
            _ => 0,
        };
        Some(RawDescriptor {
            kind: Self::Kind::try_from(payload.bits()).ok()?,
            parent: if group == 0 { *parent } else { group } as *mut c_void,
            rank: *rank,
            payload: Self::Payloads::encode(payload)?,
        })
    }
}

/// The C structure that NCCL passes when an event starts.
#[repr(C)]
pub struct RawDescriptor<V: Version> {
    kind: V::Kind,
    parent: *mut c_void,
    rank: c_int,
    payload: V::Payloads,
}

impl<V: Version> RawDescriptor<V> {
    /// Returns the event's type.
    #[inline(always)]
    pub fn kind(&self) -> u64 {
        self.kind.into()
    }

    /// Returns the structures that the descriptor consists of: name, offset, and members by their offset in it.
    pub fn structures() -> impl Iterator<Item = (&'static str, usize, &'static [CMember])> {
        let payload = std::mem::offset_of!(Self, payload);
        let of_union = V::Payloads::STRUCTURES.iter().map(move |&(name, members)| (name, payload, members));
        std::iter::once(("descriptor", 0, members!(Self: kind, parent, rank))).chain(of_union)
    }
}

/// The union in a version's descriptor.
pub trait PayloadUnion: Copy {
    /// Names and members of the structures in the union.
    const STRUCTURES: &'static [(&'static str, &'static [CMember])];

    /// Reads the structure that an event's type selects.
    ///
    /// # Safety
    /// NCCL has written that structure, and its strings live as long as `'a`.
    unsafe fn decode<'a>(&self, kind: u64) -> Payload<'a>;

    /// Writes the structure that the payload's type selects. Returns `None` as [`Version::encode`] does.
    fn encode(payload: &Payload<'_>) -> Option<Self>;
}

/// Declares the versions: `VERSION = NUMBER (type of kinds, arguments of states) UNION { structures }`.
macro_rules! versions {
    ($(
        $(#[$doc:meta])*
        $version:ident = $number:literal ($kind:ty, $arguments:ty $(; unrequested $unrequested:path)?) $union:ident {
            $($member:ident: $structure:ident),* $(,)?
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $version;

        impl Version for $version {
            type Kind = $kind;
            type Payloads = $union;
            type Arguments = $arguments;
            const NUMBER: u32 = $number;
            const ALL_TYPES: u64 = event::GROUP | event::PROXY_CTRL $(| $structure::KIND)*;
            const TYPES: u64 = Self::ALL_TYPES $(& !$unrequested)?;
        }

        #[doc = concat!("The union in a descriptor of v", $number, ".")]
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub union $union {
            $($member: $structure,)*
        }

        impl PayloadUnion for $union {
            const STRUCTURES: &'static [(&'static str, &'static [CMember])] =
                &[$((stringify!($member), $structure::MEMBERS)),*];

            #[inline(always)]
            unsafe fn decode<'a>(&self, kind: u64) -> Payload<'a> {
                match kind {
                    event::GROUP => Payload::Group,
                    event::PROXY_CTRL => Payload::ProxyCtrl,
                    // SAFETY: the caller upholds the condition for the structure that the type selects.
                    $($structure::KIND => unsafe { self.$member.decode() },)*
                    bits => Payload::Unknown { bits },
                }
            }

            fn encode(payload: &Payload<'_>) -> Option<Self> {
                // SAFETY: the union consists of integers and raw pointers, for which zeros are a value.
                let mut union: Self = unsafe { std::mem::zeroed() };
                match (payload, payload.bits()) {
                    (Payload::Group | Payload::ProxyCtrl | Payload::Unknown { .. }, _) => {}
                    $((_, $structure::KIND) => union.$member = $structure::encode(payload)?,)*
                    _ => return None,
                }
                Some(union)
            }
        }
    )*};
}

versions! {
    /// Interface v1, NCCL 2.23: functions and types are numbers, and init does not describe the communicator.
    V1 = 1 (u8, OldArguments) UnionV1 { coll: CollV1, p2p: P2pV1, proxy_op: ProxyOp, proxy_step: ProxyStep }

    /// Interface v2, NCCL 2.24 and 2.25: v1 with names instead of numbers.
    V2 = 2 (u8, OldArguments) UnionV2 { coll: CollV2, p2p: P2pV2, proxy_op: ProxyOp, proxy_step: ProxyStep }

    /// Interface v3, NCCL 2.26: v2 without the traffic, plus kernel channels without timestamps, and network plugins.
    ///
    /// The library requests no kernel channels: without a timestamp they cost as much as in later versions.
    V3 = 3 (u8, OldArguments; unrequested event::KERNEL_CH) UnionV3 {
        coll: CollV3, p2p: P2pV2, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelChV3,
        net_plugin: NetPlugin,
    }

    /// Interface v4, NCCL 2.27: init describes the communicator, and kernel channels have timestamps.
    V4 = 4 (u8, StateArguments) UnionV4 {
        coll: CollV4, p2p: P2pV4, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelChV4,
        net_plugin: NetPlugin,
    }

    /// Interface v5, NCCL 2.28: the event type has 64 bits, and NCCL reports API calls.
    V5 = 5 (u64, StateArguments) UnionV5 {
        coll: CollV5, p2p: P2pV5, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelChV4,
        net_plugin: NetPlugin, group_api: GroupApi, coll_api: CollApiV5, p2p_api: P2pApiV5, kernel_launch: KernelLaunch,
    }

    /// Interface v6, NCCL 2.29 and 2.30: v5, plus collectives by copy engine.
    V6 = 6 (u64, StateArguments) UnionV6 {
        coll: CollV5, p2p: P2pV5, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelChV4,
        net_plugin: NetPlugin, group_api: GroupApi, coll_api: CollApiV5, p2p_api: P2pApiV5, kernel_launch: KernelLaunch,
        ce_coll: CeCollV6, ce_sync: CeSync, ce_batch: CeBatch,
    }

    /// Interface v7, NCCL 2.31.2 and later: v6, plus user tags, kernel variants, and phases within kernel channels.
    V7 = 7 (u64, StateArguments) UnionV7 {
        coll: CollV7, p2p: P2pV7, proxy_op: ProxyOp, proxy_step: ProxyStep, kernel_ch: KernelChV4,
        net_plugin: NetPlugin, group_api: GroupApi, coll_api: CollApiV7, p2p_api: P2pApiV7, kernel_launch: KernelLaunch,
        ce_coll: CeCollV7, ce_sync: CeSync, ce_batch: CeBatch, kernel_phase: KernelPhase,
    }
}
