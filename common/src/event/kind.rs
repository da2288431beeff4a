//! Kinds of events that are recorded.

/// Kind of the event that a slot holds; part of the event's handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EventKind {
    /// A collective operation.
    Coll = 1,
    /// A point-to-point operation.
    P2p = 2,
    /// A call of a collective function.
    CollApi = 3,
    /// A call of a point-to-point function.
    P2pApi = 4,
    /// A connection's share of an operation on the network.
    ProxyOp = 5,
    /// One transfer of a proxy operation.
    ProxyStep = 6,
    /// A channel's share of an operation on the GPU.
    KernelCh = 7,
    /// A collective by copy engine; its slot has the layout of a Coll.
    CeColl = 8,
    /// An operation that is too small to be recorded with its children. It is kept for its place in the order of works;
    /// its slot has the layout of a Coll.
    Skipped = 9,
}

impl EventKind {
    /// Returns the kind with that number in a handle; `None` for other numbers.
    #[inline(always)]
    pub fn from_bits(bits: u64) -> Option<Self> {
        Some(match bits {
            1 => Self::Coll,
            2 => Self::P2p,
            3 => Self::CollApi,
            4 => Self::P2pApi,
            5 => Self::ProxyOp,
            6 => Self::ProxyStep,
            7 => Self::KernelCh,
            8 => Self::CeColl,
            9 => Self::Skipped,
            _ => return None,
        })
    }
}
