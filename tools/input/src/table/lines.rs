//! Reads the recording's own lines: what each operation was called with, by which API call, in which group.

use super::api_calls::ApiCalls;
use super::replays::Replays;
use super::row::OperationFacts;
use common::event::datatype::type_name;
use common::name::NcclName;
use common::run_sums::CommunicatorRank;
use nccl_plugin::release::{Release, learn_types};
use recording::{Callback, CallbackKind, IntroducedCommunicator, RecordedEvent, RecordingSurvey};
use report::table::MadeCommunicator;
use std::collections::HashMap;

/// The lines so far.
pub(super) struct OperationLines {
    mono0: u64,
    api: u32,
    /// The living communicators, by context.
    contexts: HashMap<u32, CommunicatorRank>,
    made: Vec<MadeCommunicator>,
    calls: ApiCalls,
    /// The group that a thread has started and not stopped, by context and thread.
    groups: HashMap<(u32, u32), u64>,
    replays: Replays,
    names: HashMap<String, NcclName>,
}

/// An operation of the lines: when it started, in nanoseconds of the process' clock, its communicator and rank, and its
/// facts.
pub(super) type LineOperation = (u64, CommunicatorRank, OperationFacts);

impl OperationLines {
    pub(super) fn new(survey: &RecordingSurvey) -> Self {
        learn_types(survey.meta.origin.releases().map(Release));
        Self {
            mono0: survey.meta.mono0,
            api: survey.meta.api,
            contexts: HashMap::new(),
            made: Vec::new(),
            calls: ApiCalls::default(),
            groups: HashMap::new(),
            replays: Replays::default(),
            names: HashMap::new(),
        }
    }

    /// Returns the communicators in the order in which they were made.
    pub(super) fn into_made(self) -> Vec<MadeCommunicator> {
        self.made
    }

    /// Takes a line in. Returns the operation that it starts.
    pub(super) fn take(&mut self, call: &Callback) -> Option<LineOperation> {
        let time = self.mono0.saturating_add(call.t);
        match &call.what {
            CallbackKind::Init { ctx, communicator: IntroducedCommunicator { comm, name, nnodes, nranks, rank } } => {
                self.contexts.insert(*ctx, CommunicatorRank { comm: *comm, rank: *rank });
                let (comm, name) = (format!("{comm:016x}"), name.as_deref().unwrap_or_default().to_owned());
                self.made.push(MadeCommunicator {
                    comm,
                    name,
                    nranks: *nranks,
                    nnodes: *nnodes,
                    rank: *rank,
                    made: time,
                });
                None
            }
            CallbackKind::Finalize { ctx } => {
                self.contexts.remove(ctx);
                None
            }
            CallbackKind::Start { ctx, h, parent, rank, event } => {
                self.start((*ctx, call.tid, time), (*h, *parent), *rank, event)
            }
            CallbackKind::Stop { h } => {
                self.groups.retain(|_, group| group != h);
                None
            }
            CallbackKind::State { .. } => None,
        }
    }

    fn start(
        &mut self,
        (ctx, tid, time): (u32, u32, u64),
        (h, parent): (u64, u64),
        rank: i32,
        event: &RecordedEvent,
    ) -> Option<LineOperation> {
        let (own_call, stream) = match event {
            RecordedEvent::Group => {
                self.groups.insert((ctx, tid), h);
                return None;
            }
            RecordedEvent::GroupApi { captured, .. } => {
                self.calls.add_group(h, time, *captured);
                return None;
            }
            RecordedEvent::CollApi { stream, captured, .. } | RecordedEvent::P2pApi { stream, captured, .. } => {
                (Some(h), Some(self.calls.add_call(h, parent, (*stream, time, *captured))))
            }
            RecordedEvent::CeColl { stream, .. } => (None, Some(self.calls.stream(*stream))),
            _ => (None, None),
        };
        let (function, &count, datatype, root, sequence, &tag) = match event {
            // NCCL may report a broadcast no further, so the call itself is the library's operation
            RecordedEvent::CollApi { function, count, datatype, root, tag, .. } => {
                (function.as_deref(), count, datatype, Some(*root), None, tag)
            }
            RecordedEvent::Coll { sequence, function, count, datatype, root, tag, .. }
            | RecordedEvent::CeColl { sequence, function, count, datatype, root, tag, .. } => {
                (function.as_deref(), count, datatype, Some(*root), Some(*sequence), tag)
            }
            RecordedEvent::P2p { function, count, datatype, tag, .. } => {
                (function.as_deref(), count, datatype, None, None, tag)
            }
            _ => return None,
        };
        let of_context = *self.contexts.get(&ctx)?;
        // up to v3, NCCL gives the rank with the operations alone
        let rank = if self.api > 3 { of_context } else { CommunicatorRank { rank, ..of_context } };
        // a captured call says nothing of the graph's replays: neither when nor where nor in which group they run
        let called = self.calls.called(own_call.unwrap_or(parent)).filter(|called| !called.is_captured);
        let named = self.name(function);
        let facts = OperationFacts {
            enqueued: called.map_or(time, |called| called.time),
            count,
            root: root.filter(|_| matches!(function, Some("Broadcast" | "Reduce" | "Gather" | "Scatter"))),
            datatype: self.name(datatype.as_deref().map(type_name)),
            group: called.and_then(|called| called.group).or_else(|| self.groups.get(&(ctx, tid)).copied()),
            stream: called.map(|called| called.stream).or(stream).unwrap_or_default(),
            replay: sequence.map_or(0, |sequence| self.replays.next(rank, named, sequence)),
            tag,
        };
        Some((time, rank, facts))
    }

    fn name(&mut self, text: Option<&str>) -> NcclName {
        let Some(text) = text else { return NcclName::none() };
        if let Some(&name) = self.names.get(text) {
            return name;
        }
        let name = NcclName::of_text(text);
        self.names.insert(text.to_owned(), name);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::Meta;

    fn lines(api: u32) -> OperationLines {
        let origin = Default::default();
        OperationLines::new(&RecordingSurvey::new(Meta {
            api,
            mask: 0,
            pid: 1,
            real0: 0,
            mono0: 1000,
            dropped: 0,
            full: None,
            origin,
        }))
    }

    /// Takes an event of thread 1 in context 1 in, at the time `t`.
    fn start(
        lines: &mut OperationLines,
        t: u64,
        (h, parent): (u64, u64),
        event: RecordedEvent,
    ) -> Option<LineOperation> {
        lines.take(&Callback { t, tid: 1, line: 1, what: CallbackKind::Start { ctx: 1, h, parent, rank: 6, event } })
    }

    fn init(lines: &mut OperationLines) {
        let communicator = IntroducedCommunicator { comm: 7, name: Some("dp".into()), nnodes: 1, nranks: 8, rank: 5 };
        let what = CallbackKind::Init { ctx: 1, communicator };
        assert!(lines.take(&Callback { t: 1, tid: 1, line: 1, what }).is_none());
    }

    fn coll(sequence: u64) -> RecordedEvent {
        let (function, datatype) = (Some("Reduce".into()), Some("ncclFloat32".into()));
        RecordedEvent::Coll {
            sequence,
            function,
            count: 10,
            datatype,
            root: 3,
            channels: 1,
            warps: 1,
            algorithm: None,
            protocol: None,
            symmetric: None,
            tag: 77,
        }
    }

    fn api(stream: u64, captured: bool) -> RecordedEvent {
        let function = Some("Reduce".into());
        RecordedEvent::CollApi { function, count: 10, datatype: None, root: 3, stream, captured, tag: 77 }
    }

    fn p2p() -> RecordedEvent {
        RecordedEvent::P2p {
            function: Some("Send".into()),
            count: 4,
            datatype: Some("ncclInt8".into()),
            peer: 2,
            channels: 1,
            tag: 0,
        }
    }

    #[test]
    fn an_operation_has_the_facts_of_its_call() {
        let mut lines = lines(5);
        init(&mut lines);
        start(&mut lines, 10, (1, 0), RecordedEvent::GroupApi { depth: 1, captured: false });
        start(&mut lines, 20, (2, 1), api(0xabc, false));
        start(
            &mut lines,
            30,
            (3, 1),
            RecordedEvent::P2pApi { function: None, count: 4, datatype: None, stream: 0xdef, captured: false, tag: 0 },
        );
        let (begin, rank, reduce) = start(&mut lines, 40, (4, 2), coll(0)).unwrap();
        let (_, _, send) = start(&mut lines, 50, (5, 3), p2p()).unwrap();
        assert_eq!((begin, rank), (1040, CommunicatorRank { comm: 7, rank: 5 }));
        let facts =
            |facts: OperationFacts| (facts.enqueued, facts.count, facts.root, facts.group, facts.stream, facts.replay);
        assert_eq!(facts(reduce), (1020, 10, Some(3), Some(1), 1, 0));
        assert_eq!(facts(send), (1030, 4, None, Some(1), 2, 0));
        assert_eq!([reduce, send].map(|facts| facts.tag), [77, 0]);
        assert_eq!([reduce, send].map(|facts| facts.datatype.text()), ["ncclFloat32", "ncclInt8"]);
        let made = lines.into_made();
        let expected = ("0000000000000007", "dp", 8, 1, 5, 1001);
        let made = (&*made[0].comm, &*made[0].name, made[0].nranks, made[0].nnodes, made[0].rank, made[0].made);
        assert_eq!(made, expected);
    }

    #[test]
    fn replays_of_a_captured_call_have_their_own_groups_and_no_stream() {
        let mut lines = lines(5);
        init(&mut lines);
        start(&mut lines, 10, (1, 0), RecordedEvent::GroupApi { depth: 1, captured: true });
        start(&mut lines, 20, (2, 1), api(0xabc, false));
        let mut replays = Vec::new();
        for (t, h) in [(100, 10), (200, 20)] {
            start(&mut lines, t, (h, 0), RecordedEvent::Group);
            let facts = start(&mut lines, t + 1, (h + 1, 2), coll(9)).unwrap().2;
            replays.push((facts.enqueued, facts.group, facts.stream, facts.replay));
            lines.take(&Callback { t: t + 2, tid: 1, line: 1, what: CallbackKind::Stop { h } });
        }
        assert_eq!(replays, [(1101, Some(10), 0, 0), (1201, Some(20), 0, 1)]);
        // the group has stopped
        assert_eq!(start(&mut lines, 300, (30, 2), coll(9)).unwrap().2.group, None);
    }

    /// Up to v4 there are no API calls, up to v3 the rank is known from operations alone.
    #[test]
    fn older_interfaces_tell_of_groups_alone() {
        let mut lines = lines(3);
        init(&mut lines);
        start(&mut lines, 10, (1, 0), RecordedEvent::Group);
        let (_, rank, send) = start(&mut lines, 20, (2, 1), p2p()).unwrap();
        assert_eq!((rank.rank, send.group, send.enqueued), (6, Some(1), 1020));
    }

    #[test]
    fn nothing_starts_in_a_communicator_that_is_over() {
        let mut lines = lines(5);
        init(&mut lines);
        lines.take(&Callback { t: 1, tid: 1, line: 1, what: CallbackKind::Finalize { ctx: 1 } });
        assert!(start(&mut lines, 1, (1 << 40, 0), coll(0)).is_none());
    }
}
