//! `scorep-nccl watch DIR --relay`: a node's status files as lines on standard output.

use super::message::{RelayMessage, RelayedLife, RelayedLook};
use super::piece;
use crate::output;
use crate::statuses::Observed;
use common::host_name;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Looks after which a process that does not write is sent again: its lines may have been torn.
const AGAIN: u32 = 8;

/// The relay of a node.
pub(in crate::watch) struct RelaySender {
    /// A random number, which tells its lines from those of other nodes.
    relay: u64,
    /// Host and directories.
    place: String,
    interval: f64,
    messages: u32,
    looks: u32,
    /// Number of each file's newest writing that was sent.
    sent: BTreeMap<String, u64>,
}

impl RelaySender {
    /// Begins a relay of these directories, with a look each `interval` seconds.
    pub(in crate::watch) fn new(directories: &str, interval: f64) -> Self {
        let host = host_name::of_machine();
        let place = format!("{}:{directories}", String::from_utf8_lossy(&host));
        let relay = RandomState::new().build_hasher().finish();
        Self { relay, place, interval, messages: 0, looks: 0, sent: BTreeMap::new() }
    }

    /// Writes a look. Returns a line on processes that are too large for a message.
    ///
    /// # Errors
    /// When standard output takes nothing more; in words.
    pub(in crate::watch) fn put(&mut self, found: Vec<Observed>, is_whole: bool) -> Result<Option<String>, String> {
        let all = self.looks.is_multiple_of(AGAIN);
        self.looks = self.looks.wrapping_add(1);
        let mut look = RelayedLook { place: self.place.clone(), interval: self.interval, is_whole, processes: vec![] };
        let (before, mut too_large) = (std::mem::take(&mut self.sent), None);
        for process in found {
            let (file, beat) = (process.file.clone(), process.status.beat);
            let (life, beats) = (process.life, process.beats);
            if (all || before.get(&file) != Some(&beat)) && !self.send(&RelayMessage::Process(Box::new(process)))? {
                too_large.get_or_insert_with(|| format!("{file}: it is too large for a relay"));
                look.is_whole = false;
                continue;
            }
            self.sent.insert(file.clone(), beat);
            look.processes.push(RelayedLife { file, beat, life, beats });
        }
        self.send(&RelayMessage::Look(look))?;
        Ok(too_large)
    }

    /// Writes that the relay ends.
    ///
    /// # Errors
    /// As [`Self::put`].
    pub(in crate::watch) fn end(&mut self) -> Result<(), String> {
        self.send(&RelayMessage::End).map(|_| ())
    }

    /// Writes a message, each line by itself: a pipe of several relays takes a line at once. Returns whether it has few
    /// enough lines.
    fn send(&mut self, message: &RelayMessage) -> Result<bool, String> {
        let packed = message.packed().map_err(|error| error.to_string())?;
        self.messages = self.messages.wrapping_add(1);
        let Some(pieces) = piece::pieces(self.relay, self.messages, &packed) else { return Ok(false) };
        pieces.map(|piece| piece.line()).try_for_each(output::write)?;
        Ok(true)
    }
}
