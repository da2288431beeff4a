//! A recorded callback in memory: the content of its line, in few bytes.

use super::strings::{RecordedStrings, StringNumber};
use crate::interface::descriptor::{self, Payload};
use common::event::network::NetworkEvent;

/// A callback. Contexts and handles are the numbers that NCCL held at the time; 0 is none.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    /// Place in the order of all callbacks of the process.
    pub(super) sequence: u64,
    /// Nanoseconds since the recording began.
    pub(super) time: u64,
    /// Number of the thread, in the order in which threads made their first callback.
    pub(super) thread: u32,
    /// Rank in the descriptor of a start, as NCCL passed it, else 0. It is here because there is room for it.
    pub(super) rank: i32,
    /// Type and arguments of the callback.
    pub(super) what: CallbackFields,
}

/// Type and arguments of a callback.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallbackFields {
    /// `introduction` is the number of the communicator's description in [`super::Recording`]'s list.
    Init {
        context: u64,
        introduction: u32,
    },
    Start {
        context: u64,
        handle: u64,
        parent: u64,
        event: EventFields,
    },
    State {
        handle: u64,
        state: i32,
        value: Option<u64>,
    },
    Stop {
        handle: u64,
    },
    Finalize {
        context: u64,
    },
    /// GPU times of a launch, nanoseconds of the events' clock: the event before it, the begin of its kernel, and the
    /// event behind it; and when the first event was recorded, nanoseconds since `mono0`, where the length of a tick is
    /// known.
    Kernel {
        handle: u64,
        first: u64,
        begin: u64,
        last: u64,
        at: Option<u64>,
    },
    /// A moment on the events' clock, nanoseconds, that lies between two times, nanoseconds since `mono0`. It was made in
    /// the context of the launch with that handle.
    Anchor {
        handle: u64,
        time: u64,
        from: u64,
        until: u64,
    },
}

/// Type and fields of an event, as captures have them.
#[derive(Debug, Clone, Copy)]
pub(super) enum EventFields {
    Group,
    Coll {
        sequence: u64,
        count: u64,
        root: i32,
        function: StringNumber,
        datatype: StringNumber,
        algorithm: StringNumber,
        protocol: StringNumber,
        variant: StringNumber,
        channels: u8,
        warps: u8,
        symmetric: bool,
        tag: u64,
    },
    P2p {
        count: u64,
        peer: i32,
        function: StringNumber,
        datatype: StringNumber,
        channels: u8,
        tag: u64,
    },
    ProxyOp {
        pid: i32,
        peer: i32,
        steps: i32,
        chunk: i32,
        send: i32,
        channel: u8,
    },
    ProxyStep {
        step: i32,
    },
    ProxyCtrl,
    KernelCh {
        ptimer: u64,
        channel: u8,
    },
    NetPlugin {
        /// NCCL's id of the network plugin.
        plugin: i64,
        event: NetworkEvent,
    },
    GroupApi {
        depth: i32,
        captured: bool,
    },
    CollApi {
        count: u64,
        stream: u64,
        root: i32,
        function: StringNumber,
        datatype: StringNumber,
        captured: bool,
        tag: u64,
    },
    P2pApi {
        count: u64,
        stream: u64,
        function: StringNumber,
        datatype: StringNumber,
        captured: bool,
        tag: u64,
    },
    KernelLaunch {
        stream: u64,
    },
    CeColl {
        sequence: u64,
        count: u64,
        stream: u64,
        root: i32,
        function: StringNumber,
        datatype: StringNumber,
        tag: u64,
    },
    CeSync,
    CeBatch,
    KernelPhase {
        ptimer: u64,
        channel: u8,
        phase: u8,
    },
    Unknown {
        bits: u64,
    },
}

impl EventFields {
    pub(super) fn new(payload: &Payload<'_>, strings: &RecordedStrings) -> Self {
        match *payload {
            Payload::Group => Self::Group,
            Payload::Coll(coll) => Self::Coll {
                sequence: coll.sequence,
                count: coll.count,
                root: coll.root,
                function: strings.number(coll.function),
                datatype: strings.number(coll.datatype),
                algorithm: strings.number(coll.algorithm),
                protocol: strings.number(coll.protocol),
                variant: strings.number(coll.variant),
                channels: coll.channels,
                warps: coll.warps,
                symmetric: coll.symmetric,
                tag: coll.tag,
            },
            Payload::P2p(p2p) => Self::P2p {
                count: p2p.count,
                peer: p2p.peer,
                function: strings.number(p2p.function),
                datatype: strings.number(p2p.datatype),
                channels: p2p.channels,
                tag: p2p.tag,
            },
            Payload::ProxyOp(descriptor::ProxyOp { pid, channel, peer, steps, chunk, send }) => {
                Self::ProxyOp { pid, peer, steps, chunk, send, channel }
            }
            Payload::ProxyStep { step } => Self::ProxyStep { step },
            Payload::ProxyCtrl => Self::ProxyCtrl,
            Payload::KernelCh { channel, ptimer } => Self::KernelCh { ptimer: ptimer.unwrap_or(0), channel },
            Payload::NetPlugin { id, event, .. } => Self::NetPlugin { plugin: id, event },
            Payload::GroupApi { captured, depth } => Self::GroupApi { depth, captured },
            Payload::CollApi(call) => Self::CollApi {
                count: call.count,
                stream: call.stream as u64,
                root: call.root,
                function: strings.number(call.function),
                datatype: strings.number(call.datatype),
                captured: call.captured,
                tag: call.tag,
            },
            Payload::P2pApi(call) => Self::P2pApi {
                count: call.count,
                stream: call.stream as u64,
                function: strings.number(call.function),
                datatype: strings.number(call.datatype),
                captured: call.captured,
                tag: call.tag,
            },
            Payload::KernelLaunch { stream } => Self::KernelLaunch { stream: stream as u64 },
            Payload::CeColl(coll) => Self::CeColl {
                sequence: coll.sequence,
                count: coll.count,
                stream: coll.stream as u64,
                root: coll.root,
                function: strings.number(coll.function),
                datatype: strings.number(coll.datatype),
                tag: coll.tag,
            },
            Payload::CeSync { .. } => Self::CeSync,
            Payload::CeBatch { .. } => Self::CeBatch,
            Payload::KernelPhase { channel, phase, ptimer, .. } => Self::KernelPhase { ptimer, channel, phase },
            Payload::Unknown { bits } => Self::Unknown { bits },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_takes_96_bytes_at_most() {
        assert!(size_of::<Record>() <= 96, "{}", size_of::<Record>());
    }
}
