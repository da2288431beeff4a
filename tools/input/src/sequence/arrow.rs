//! An arrow of the diagram: a callback, or callbacks that repeat each other.

use std::collections::BTreeSet;
use std::fmt::Display;

/// Kind of a callback of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArrowKind {
    /// `startEvent`.
    Start,
    /// `recordEventState`.
    State(u32),
    /// `stopEvent`.
    Stop,
}

/// What callbacks of one arrow have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ArrowKey {
    /// Number of the calling thread.
    pub(super) thread: u32,
    pub(super) kind: ArrowKind,
    /// Names of the event and its ancestors, the event last.
    pub(super) path: Vec<String>,
}

/// Callbacks of one key. Times are nanoseconds of the recording.
#[derive(Debug, Clone)]
pub(super) struct SequenceArrow {
    pub(super) key: ArrowKey,
    /// When the first and the last of them began.
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) count: u64,
    /// Place of the first one among all callbacks, for those of one time.
    pub(super) order: u64,
    /// Channels and peers of their events.
    pub(super) channels: BTreeSet<u8>,
    pub(super) peers: BTreeSet<i32>,
    /// Sum of the bytes that the states gave.
    pub(super) bytes: u64,
    /// Processes whose operations these are, where it is not this process (PXN).
    pub(super) others: BTreeSet<i32>,
}

impl SequenceArrow {
    /// Returns how deep the event lies below the outermost one.
    pub(super) fn depth(&self) -> usize {
        self.key.path.len().saturating_sub(1)
    }

    /// Returns the callback in words, without its repetitions.
    pub(super) fn text(&self) -> String {
        let event = self.key.path.last().map_or("", String::as_str);
        let mut text = match self.key.kind {
            ArrowKind::Start => format!("start {event}"),
            ArrowKind::State(state) => format!("{event}: {}", super::kinds::state(state)),
            ArrowKind::Stop => format!("stop {event}"),
        };
        text += &several("peer", &self.peers);
        text += &several("channel", &self.channels);
        if self.bytes > 0 {
            text += &format!(", {} B", self.bytes);
        }
        if let Some(process) = self.others.first() {
            text += &format!(", for process {process}{}", if self.others.len() > 1 { " and others" } else { "" });
        }
        text
    }
}

/// Names one, or the number of several.
fn several<T: Display + Ord>(noun: &str, found: &BTreeSet<T>) -> String {
    match (found.first(), found.len()) {
        (Some(one), 1) => format!(", {noun} {one}"),
        (Some(_), count) => format!(", {count} {noun}s"),
        (None, _) => String::new(),
    }
}
