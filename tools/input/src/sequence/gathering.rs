//! The second reading: gathers the callbacks of the chosen operation, of its ancestors and of all events below it.

use super::arrow::{ArrowKey, ArrowKind, SequenceArrow};
use super::chosen::{ChosenEvent, DEEPEST};
use super::kinds;
use recording::{Callback, CallbackKind, Content, Contents, RecordedEvent, RecordingError};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most events that are followed. The callbacks of further ones are left out.
const MOST_EVENTS: usize = 1 << 20;
/// States whose argument is the bytes of a step: a send's wait for the network, and a receive's flush.
const WITH_BYTES: [u32; 2] = [9, 11];

/// An event of the diagram.
#[derive(Debug, Clone)]
struct SequenceEvent {
    path: Vec<String>,
    channel: Option<u8>,
    peer: Option<i32>,
    /// Process of the operation, where it is another one.
    other: Option<i32>,
    /// Whether events below it are of the diagram.
    is_followed: bool,
}

/// A group that a thread has started and not stopped; its members are not its children.
#[derive(Debug, Clone)]
struct OpenGroup {
    handle: u64,
    start: u64,
    order: u64,
}

struct Gathering<'a> {
    chosen: &'a ChosenEvent,
    pid: i32,
    events: HashMap<u64, SequenceEvent>,
    groups: HashMap<u32, OpenGroup>,
    arrows: BTreeMap<ArrowKey, SequenceArrow>,
    order: u64,
}

/// Returns the callbacks of an operation in the order of their times. Each has its first time and the number of those
/// like it: by one thread, of one kind of event below one kind of parent.
///
/// # Errors
/// The recording cannot be read.
pub(super) fn arrows(
    chosen: &ChosenEvent,
    pid: i32,
    mut contents: Contents,
) -> Result<Vec<SequenceArrow>, RecordingError> {
    let (events, groups, arrows) = Default::default();
    let mut gathering = Gathering { chosen, pid, events, groups, arrows, order: 0 };
    while let Some(content) = contents.next_line()? {
        if let Content::Call(call) = content {
            gathering.order += 1;
            gathering.take(&call);
        }
    }
    let mut arrows: Vec<SequenceArrow> = gathering.arrows.into_values().collect();
    arrows.sort_by_key(|arrow| (arrow.first, arrow.order));
    Ok(arrows)
}

impl Gathering<'_> {
    fn take(&mut self, call: &Callback) {
        match &call.what {
            CallbackKind::Start { h, parent, event, .. } => self.start(*h, *parent, event, call),
            CallbackKind::State { h, state, arg } => {
                let bytes = arg.filter(|_| WITH_BYTES.contains(state)).unwrap_or(0);
                self.add(*h, ArrowKind::State(*state), call, bytes);
            }
            CallbackKind::Stop { h } => {
                self.add(*h, ArrowKind::Stop, call, 0);
                if self.groups.get(&call.tid).is_some_and(|group| group.handle == *h) {
                    self.groups.remove(&call.tid);
                }
            }
            CallbackKind::Init { .. } | CallbackKind::Finalize { .. } => {}
        }
    }

    fn start(&mut self, h: u64, parent: u64, event: &RecordedEvent, call: &Callback) {
        if matches!(event, RecordedEvent::Group) {
            self.groups.insert(call.tid, OpenGroup { handle: h, start: call.t, order: self.order });
        }
        // the parent of another process' operation is a handle of that process
        let other = match event {
            RecordedEvent::ProxyOp { pid, .. } if *pid != self.pid => Some(*pid),
            _ => None,
        };
        let parent = if other.is_some() { None } else { self.events.get(&parent) };
        let is_chosen = h == self.chosen.handle;
        let is_followed = is_chosen || parent.is_some_and(|parent| parent.is_followed);
        // the launch is a child of the API group, beside the operation
        let is_launch = matches!(event, RecordedEvent::KernelLaunch { .. }) && parent.is_some();
        if !(is_followed || is_launch || self.chosen.ancestors.contains(&h)) || self.events.len() >= MOST_EVENTS {
            return;
        }
        if parent.is_some_and(|parent| parent.path.len() >= DEEPEST) {
            return;
        }
        let mut path = parent.map(|parent| parent.path.clone()).unwrap_or_default();
        let (mut channel, mut peer) = parent.map_or((None, None), |parent| (parent.channel, parent.peer));
        match event {
            RecordedEvent::ProxyOp { channel: of, peer: to, .. } => (channel, peer) = (Some(*of), Some(*to)),
            RecordedEvent::P2p { peer: to, .. } => peer = Some(*to),
            RecordedEvent::KernelCh { channel: of, .. } | RecordedEvent::KernelPhase { channel: of, .. } => {
                channel = Some(*of)
            }
            _ => {}
        }
        path.push(kinds::event(event));
        let is_operation =
            matches!(event, RecordedEvent::Coll { .. } | RecordedEvent::P2p { .. } | RecordedEvent::CeColl { .. });
        if is_operation {
            self.group(call);
        }
        self.events.insert(h, SequenceEvent { path, channel, peer, other, is_followed });
        self.add(h, ArrowKind::Start, call, 0);
    }

    /// Adds the group that an operation of the diagram is started in.
    fn group(&mut self, call: &Callback) {
        let Some(group) = self.groups.get(&call.tid).cloned() else { return };
        if self.events.contains_key(&group.handle) {
            return;
        }
        let path = vec![kinds::event(&RecordedEvent::Group)];
        let event = SequenceEvent { path, channel: None, peer: None, other: None, is_followed: false };
        self.events.insert(group.handle, event);
        let order = std::mem::replace(&mut self.order, group.order);
        self.add(group.handle, ArrowKind::Start, &Callback { t: group.start, ..call.clone() }, 0);
        self.order = order;
    }

    fn add(&mut self, h: u64, kind: ArrowKind, call: &Callback, bytes: u64) {
        let Some(event) = self.events.get(&h) else { return };
        let key = ArrowKey { thread: call.tid, kind, path: event.path.clone() };
        let arrow = self.arrows.entry(key.clone()).or_insert_with(|| SequenceArrow {
            key,
            first: call.t,
            last: call.t,
            count: 0,
            order: self.order,
            channels: BTreeSet::new(),
            peers: BTreeSet::new(),
            bytes: 0,
            others: BTreeSet::new(),
        });
        arrow.count += 1;
        (arrow.first, arrow.last) = (arrow.first.min(call.t), arrow.last.max(call.t));
        arrow.bytes = arrow.bytes.saturating_add(bytes);
        arrow.channels.extend(event.channel);
        arrow.peers.extend(event.peer);
        arrow.others.extend(event.other);
    }
}
