//! What a relay says of its directories.

use crate::statuses::{Foreign, Life, Observed, parsed, shown};
use flate2::Compression;
use flate2::read::{DeflateDecoder, DeflateEncoder};
use serde::{Deserialize, Serialize};
use std::io::{self, Read};

/// Longest message as JSON, bytes: the longest status file, and room for what stands around it.
const LONGEST: u64 = 5 << 20;

/// A message of a relay.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum RelayMessage {
    /// A process, which the end of the look names.
    Process(Box<Observed>),
    /// The end of a look.
    Look(RelayedLook),
    /// The relay ends.
    End,
}

/// All processes of a look: those that are not named are gone.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RelayedLook {
    /// Host and directories.
    pub(super) place: String,
    /// Seconds up to the next look.
    pub(super) interval: f64,
    /// Whether no file was left out.
    pub(super) is_whole: bool,
    pub(super) processes: Vec<RelayedLife>,
}

/// A process in a look. Its own host alone knows whether it lives.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RelayedLife {
    pub(super) file: String,
    /// As of its status.
    pub(super) beat: u64,
    pub(super) life: Life,
    pub(super) beats: bool,
}

impl RelayMessage {
    /// Returns the message in few bytes.
    ///
    /// # Errors
    /// When memory for it cannot be had.
    pub(super) fn packed(&self) -> io::Result<Vec<u8>> {
        let (text, mut packed) = (serde_json::to_vec(self)?, vec![]);
        DeflateEncoder::new(&*text, Compression::fast()).read_to_end(&mut packed)?;
        Ok(packed)
    }

    /// Reads a packed message, which may be anybody's. Returns it with an estimate of its memory, bytes.
    pub(super) fn unpacked(packed: &[u8]) -> Option<(Self, usize)> {
        let mut text = vec![];
        DeflateDecoder::new(packed).take(LONGEST + 1).read_to_end(&mut text).ok()?;
        (text.len() as u64 <= LONGEST).then(|| parsed(&text).ok())?
    }
}

impl Foreign for RelayMessage {
    fn clean(&mut self) {
        match self {
            Self::Process(process) => {
                process.file = shown(&process.file);
                process.status.clean();
                process.moved.resize(process.status.communicators.len(), false);
            }
            Self::Look(look) => {
                look.place = shown(&look.place);
                look.processes.iter_mut().for_each(|process| process.file = shown(&process.file));
            }
            Self::End => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_grows_without_bound_or_is_none_is_refused() {
        let mut packed = vec![];
        DeflateEncoder::new(io::repeat(b' ').take(1 << 30), Compression::fast()).read_to_end(&mut packed).unwrap();
        assert!(RelayMessage::unpacked(&packed).is_none());
        assert!(RelayMessage::unpacked(b"").is_none());
        let end = RelayMessage::End.packed().unwrap();
        assert!(matches!(RelayMessage::unpacked(&end), Some((RelayMessage::End, _))));
    }
}
