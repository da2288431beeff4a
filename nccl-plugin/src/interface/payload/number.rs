//! The numbers that v1 has in place of names.
//!
//! They are those of NCCL 2.23 (ncclFunc_t, ncclDataType_t, NCCL_ALGO_*, NCCL_PROTO_*), the only release whose newest
//! interface is v1, and of the types that later releases added. NCCL has never renumbered an entry.

use super::structure::CType;
use crate::interface::descriptor::{Coll, P2p, Payload};
use common::text::CText;
use std::ffi::CStr;

/// Declares types of numbers: the name that each number stands for, the number for a name without one, and the name
/// whose number NCCL's wrapper writes then.
macro_rules! numbers {
    ($($(#[$doc:meta])* $type:ident, $unnamed:expr, $wrapped:literal: [$($name:literal),* $(,)?];)*) => { $(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $type(u8);

        impl $type {
            const NAMES: &'static [&'static CStr] = &[$($name),*];

            fn number(name: Option<CText<'_>>) -> Option<u8> {
                let name = name?.c_str();
                u8::try_from(Self::NAMES.iter().position(|&known| known == name)?).ok()
            }

            /// Returns the name that the wrapper's number stands for.
            fn wrapped<'a>(name: Option<CText<'a>>) -> Option<CText<'a>> {
                if Self::number(name).is_some() { name } else { Some($wrapped.into()) }
            }
        }

        impl<'a> CType<Option<CText<'a>>> for $type {
            #[inline(always)]
            unsafe fn read(self) -> Option<CText<'a>> {
                Self::NAMES.get(usize::from(self.0)).copied().map(CText::from)
            }

            fn write(name: Option<CText<'a>>) -> Option<Self> {
                Self::number(name).or($unnamed).map(Self)
            }
        }
    )* };
}

numbers! {
    /// Number of a function.
    FunctionNumber, None, c"Send":
        [c"Broadcast", c"Reduce", c"AllGather", c"ReduceScatter", c"AllReduce", c"SendRecv", c"Send", c"Recv"];
    /// Number of an element type.
    DatatypeNumber, None, c"ncclFloat64": [
        c"ncclInt8", c"ncclUint8", c"ncclInt32", c"ncclUint32", c"ncclInt64", c"ncclUint64", c"ncclFloat16",
        c"ncclFloat32", c"ncclFloat64", c"ncclBfloat16", c"ncclFloat8e4m3", c"ncclFloat8e5m2",
    ];
    /// Number of an algorithm.
    AlgorithmNumber, Some(UNDEFINED), c"PAT":
        [c"TREE", c"RING", c"COLLNET_DIRECT", c"COLLNET_CHAIN", c"NVLS", c"NVLS_TREE", c"PAT"];
    /// Number of a protocol.
    ProtocolNumber, Some(UNDEFINED), c"SIMPLE": [c"LL", c"LL128", c"SIMPLE"];
}

/// NCCL's -1 for no algorithm or protocol, in 8 bits.
const UNDEFINED: u8 = u8::MAX;

/// Returns an operation with the names whose numbers NCCL's wrapper writes for those without a number: a send of 64-bit
/// elements by PAT and SIMPLE.
pub(crate) fn wrapped<'a>(payload: Payload<'a>) -> Payload<'a> {
    match payload {
        Payload::Coll(coll) => Payload::Coll(Coll {
            function: FunctionNumber::wrapped(coll.function),
            datatype: DatatypeNumber::wrapped(coll.datatype),
            algorithm: AlgorithmNumber::wrapped(coll.algorithm),
            protocol: ProtocolNumber::wrapped(coll.protocol),
            ..coll
        }),
        Payload::P2p(p2p) => Payload::P2p(P2p {
            function: FunctionNumber::wrapped(p2p.function),
            datatype: DatatypeNumber::wrapped(p2p.datatype),
            ..p2p
        }),
        other => other,
    }
}
