//! All that the lanes of an archive say: messages to be matched, and moments that are recorded on another lane than the
//! one that says them.

use super::messages::Messages;
use super::speaker::SpokenMoment;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A moment that is recorded on another lane: time in ticks, place of the communicator, rank, and the moment.
pub(super) type MovedMoment = (u64, usize, i32, SpokenMoment);

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HeardMoments {
    pub(super) messages: Messages,
    /// Sends and receives of further lanes, by the lane that gets their records.
    pub(super) moved: BTreeMap<u64, VecDeque<MovedMoment>>,
    /// Communicators with collectives on such further lanes: where they overlap others of the lane that would get their
    /// records, readers could not take the begins and ends apart.
    pub(super) overlapping: BTreeSet<usize>,
}

impl HeardMoments {
    /// Takes in a moment of a rank of the communicator at `place`. `home` is the lane that gets its record, if that is
    /// another than the one that says it.
    pub(super) fn hear(&mut self, place: usize, rank: i32, time: u64, said: SpokenMoment, home: Option<u64>) {
        self.messages.hear(place, rank, time, said);
        let Some(home) = home else { return };
        if said.is_of_message() {
            self.moved.entry(home).or_default().push_back((time, place, rank, said));
        } else {
            self.overlapping.insert(place);
        }
    }
}
