//! A call of which nothing is known, for tests that set a few of its fields.

use common::name::NcclName;
use report::job::TimedBy;
use report::stream::{Call, CallKind, CallTags};

/// Returns a collective of which nothing is known.
pub(crate) fn blank() -> Call {
    Call {
        communicator: 0,
        rank: 0,
        gpu: 0,
        kind: CallKind::Collective,
        function: NcclName::none(),
        sequence: None,
        bytes: 0,
        count: None,
        datatype: NcclName::none(),
        root: None,
        messages: Box::default(),
        tags: CallTags::One(0),
        algorithm: NcclName::none(),
        protocol: NcclName::none(),
        channels: 0,
        enqueued: 0,
        enqueued_own: 0,
        launched: None,
        source: TimedBy::Enqueue,
        duration: 0,
        time: None,
        stream: 0,
        is_fused: false,
        unfinished: false,
    }
}
