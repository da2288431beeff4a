//! A recorded callback in memory: the content of its line, in few bytes.

use super::strings::{RecordedStrings, StringNumber};
use crate::interface::descriptor::{Payload, ProxyOp};
use recording::RecordedEvent;

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
        event: RecordedEvent<StringNumber>,
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

/// Returns an event as recordings have it.
pub(super) fn recorded(payload: &Payload<'_>, strings: &RecordedStrings) -> RecordedEvent<StringNumber> {
    let number = |text| strings.number(text);
    match *payload {
        Payload::Group => RecordedEvent::Group,
        Payload::Coll(coll) => RecordedEvent::Coll {
            sequence: coll.sequence,
            function: number(coll.function),
            count: coll.count,
            datatype: number(coll.datatype),
            root: coll.root,
            channels: coll.channels,
            warps: coll.warps,
            algorithm: number(coll.algorithm),
            protocol: number(coll.protocol),
            symmetric: coll.symmetric.then(|| number(coll.variant)),
            tag: coll.tag,
        },
        Payload::P2p(p2p) => RecordedEvent::P2p {
            function: number(p2p.function),
            count: p2p.count,
            datatype: number(p2p.datatype),
            peer: p2p.peer,
            channels: p2p.channels,
            tag: p2p.tag,
        },
        Payload::ProxyOp(ProxyOp { pid, channel, peer, steps, chunk, send }) => {
            RecordedEvent::ProxyOp { pid, channel, peer, steps, chunk, send }
        }
        Payload::ProxyStep { step } => RecordedEvent::ProxyStep { step },
        Payload::ProxyCtrl => RecordedEvent::ProxyCtrl,
        Payload::KernelCh { channel, ptimer } => RecordedEvent::KernelCh { channel, ptimer: ptimer.unwrap_or(0) },
        Payload::NetPlugin { id, event, .. } => RecordedEvent::NetPlugin { plugin: id, event },
        Payload::GroupApi { captured, depth } => RecordedEvent::GroupApi { depth, captured },
        Payload::CollApi(call) => RecordedEvent::CollApi {
            function: number(call.function),
            count: call.count,
            datatype: number(call.datatype),
            root: call.root,
            stream: call.stream as u64,
            captured: call.captured,
            tag: call.tag,
        },
        Payload::P2pApi(call) => RecordedEvent::P2pApi {
            function: number(call.function),
            count: call.count,
            datatype: number(call.datatype),
            stream: call.stream as u64,
            captured: call.captured,
            tag: call.tag,
        },
        Payload::KernelLaunch { stream } => RecordedEvent::KernelLaunch { stream: stream as u64 },
        Payload::CeColl(coll) => RecordedEvent::CeColl {
            sequence: coll.sequence,
            function: number(coll.function),
            count: coll.count,
            datatype: number(coll.datatype),
            root: coll.root,
            stream: coll.stream as u64,
            tag: coll.tag,
        },
        Payload::CeSync { .. } => RecordedEvent::CeSync,
        Payload::CeBatch { .. } => RecordedEvent::CeBatch,
        Payload::KernelPhase { channel, phase, ptimer, .. } => RecordedEvent::KernelPhase { channel, phase, ptimer },
        Payload::Unknown { bits } => RecordedEvent::Unknown { bits },
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
