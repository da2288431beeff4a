//! The first reading: finds the operation, its ancestors and the roles of all threads.

use super::threads::ThreadRoles;
use super::wanted::{GROUP, WantedOperation};
use common::run_sums::CommunicatorRank;
use recording::{CallbackKind, Content, Contents, RecordedEvent, RecordingError, Text};
use std::collections::{BTreeMap, HashMap};

/// Most events from an event up to its outermost ancestor. NCCL nests 6: of a group, a call, an operation, a proxy
/// operation, a step, and the network plugin.
pub(super) const DEEPEST: usize = 16;

/// Most operations that are named beside the one shown.
const NAMED: usize = 8;

/// The operation to show.
#[derive(Debug)]
pub(super) struct ChosenEvent {
    pub(super) handle: u64,
    /// Its parent, the parent's parent and so on, as far as they are API calls.
    pub(super) ancestors: Vec<u64>,
    /// Its type with its function.
    pub(super) name: String,
    /// What it was called with.
    pub(super) arguments: String,
    pub(super) of: Option<CommunicatorRank>,
    /// Handles of further operations that the same words name.
    pub(super) others: Vec<u64>,
    /// Number of these.
    pub(super) other_count: u64,
}

/// Results of the first reading.
#[derive(Debug, Default)]
pub(super) struct FirstReading {
    pub(super) chosen: Option<ChosenEvent>,
    pub(super) threads: ThreadRoles,
    pub(super) operations: NumberedOperations,
}

/// The least and the largest number of each function.
#[derive(Debug, Default)]
pub(super) struct NumberedOperations(BTreeMap<String, (u64, u64)>);

impl NumberedOperations {
    /// Returns the function and the number of an event that has them.
    fn number<'a>(&mut self, event: &'a RecordedEvent) -> Option<(&'a str, u64)> {
        let (name, sequence) = match event {
            RecordedEvent::Coll { function, sequence, .. } | RecordedEvent::CeColl { function, sequence, .. } => {
                (function.as_deref()?, Some(*sequence))
            }
            RecordedEvent::P2p { function, .. } => (function.as_deref()?, None),
            RecordedEvent::GroupApi { .. } => (GROUP, None),
            _ => return None,
        };
        let number = sequence.or_else(|| Some(self.0.get(name)?.1.saturating_add(1))).unwrap_or(0);
        let range = self.0.entry(name.to_owned()).or_insert((number, number));
        *range = (range.0.min(number), range.1.max(number));
        Some((name, number))
    }

    /// Returns all functions with their numbers.
    pub(super) fn text(&self) -> String {
        if self.0.is_empty() {
            return "it has no operations".into();
        }
        let one = |(name, (first, last)): (&String, &(u64, u64))| {
            if first == last { format!("{name}:{first}") } else { format!("{name}:{first} to {name}:{last}") }
        };
        format!("it has {}", self.0.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// Finds an operation. Of several that the words name, the first is chosen.
///
/// # Errors
/// The recording cannot be read.
pub(super) fn find(wanted: &WantedOperation, mut contents: Contents) -> Result<FirstReading, RecordingError> {
    let mut reading = FirstReading::default();
    let mut ranks: HashMap<u32, CommunicatorRank> = HashMap::new();
    // parents of API calls, which operations follow long after
    let mut parents: HashMap<u64, u64> = HashMap::new();
    while let Some(content) = contents.next_line()? {
        let Content::Call(call) = content else { continue };
        reading.threads.take(call.tid, &call.what);
        match &call.what {
            CallbackKind::Init { ctx, communicator } => {
                ranks.insert(*ctx, CommunicatorRank { comm: communicator.comm, rank: communicator.rank });
            }
            CallbackKind::Start { ctx, h, parent, event, .. } => {
                if matches!(event, RecordedEvent::CollApi { .. } | RecordedEvent::P2pApi { .. }) {
                    parents.insert(*h, *parent);
                }
                let number = reading.operations.number(event);
                let is_wanted = match wanted {
                    WantedOperation::Handle(handle) => handle == h,
                    WantedOperation::Numbered { function, number: wanted } => {
                        number.is_some_and(|(name, number)| name == function && number == *wanted)
                    }
                };
                match &mut reading.chosen {
                    _ if !is_wanted => {}
                    Some(chosen) => {
                        chosen.other_count += 1;
                        if chosen.others.len() < NAMED {
                            chosen.others.push(*h);
                        }
                    }
                    none => *none = Some(ChosenEvent::new(*h, *parent, event, ranks.get(ctx).copied(), &parents)),
                }
            }
            _ => {}
        }
    }
    Ok(reading)
}

impl ChosenEvent {
    fn new(
        handle: u64,
        parent: u64,
        event: &RecordedEvent,
        of: Option<CommunicatorRank>,
        parents: &HashMap<u64, u64>,
    ) -> Self {
        // the reader has checked that a parent was given out before its child, so there is no circle
        let ancestors = std::iter::successors(Some(parent), |handle| parents.get(handle).copied());
        Self {
            handle,
            ancestors: ancestors.take_while(|&handle| handle != 0).take(DEEPEST).collect(),
            name: super::kinds::event(event),
            arguments: arguments(event),
            of,
            others: Vec::new(),
            other_count: 0,
        }
    }
}

fn arguments(event: &RecordedEvent) -> String {
    let said = |text: &Text| text.as_deref().unwrap_or("?").to_owned();
    match event {
        RecordedEvent::Coll { sequence, count, datatype, channels, algorithm, protocol, .. } => {
            let [datatype, algorithm, protocol] = [datatype, algorithm, protocol].map(said);
            format!("sequence number {sequence}, {count} {datatype}, {algorithm} {protocol}, channels: {channels}")
        }
        RecordedEvent::P2p { count, datatype, peer, channels, .. } => {
            format!("peer {peer}, {count} {}, channels: {channels}", said(datatype))
        }
        RecordedEvent::CeColl { sequence, count, datatype, .. } => {
            format!("sequence number {sequence}, {count} {}", said(datatype))
        }
        RecordedEvent::ProxyOp { peer, channel, steps, .. } => {
            format!("peer {peer}, channel {channel}, steps: {steps}")
        }
        _ => String::new(),
    }
}
