//! The records that a copy of an archive gets.

use super::communicators::Communicators;
use super::heard::{HeardMoments, MovedMoment};
use super::messages::MatchedMessages;
use super::speaker::{Speaker, SpokenEvent, SpokenMoment};
use crate::otf2::copy::{Adds, Message};
use crate::otf2::reader::{ArchiveEvent, Attributes, Definitions};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// See the module.
pub(super) struct Spoken<'a> {
    communicators: &'a Communicators,
    known: LaneNumbers<'a>,
    pub(super) matched: MatchedMessages,
    /// Moments of other lanes that have no record yet, by the lane that gets it.
    moved: BTreeMap<u64, VecDeque<MovedMoment>>,
    without_collectives: BTreeSet<usize>,
    speakers: BTreeMap<u64, Speaker>,
    /// Records of sends, and of ends of collectives.
    pub(super) messages: u64,
    pub(super) collectives: u64,
    /// Collectives without a record.
    pub(super) rootless: u64,
    pub(super) overlapping: u64,
}

impl<'a> Spoken<'a> {
    pub(super) fn of(communicators: &'a Communicators, known: LaneNumbers<'a>, mut heard: HeardMoments) -> Self {
        // the moments of a lane come in order already, those of several lanes do not
        heard.moved.values_mut().for_each(|moments| moments.make_contiguous().sort_by_key(|(time, ..)| *time));
        Self {
            communicators,
            known,
            matched: heard.messages.matched(),
            moved: heard.moved,
            without_collectives: heard.overlapping,
            speakers: BTreeMap::new(),
            messages: 0,
            collectives: 0,
            rootless: 0,
            overlapping: 0,
        }
    }

    /// Returns the record of a moment of a rank, and counts it.
    fn record(&mut self, place: usize, rank: i32, said: &SpokenMoment) -> Option<Message> {
        let is_end = matches!(said, SpokenMoment::End { .. });
        if !said.is_of_message() && self.without_collectives.contains(&place) {
            self.overlapping += u64::from(is_end);
            return None;
        }
        let has = self.matched.has(place, rank, said);
        let message = self.communicators.message(place, rank, said).filter(|_| has);
        match message {
            Some(Message::Send { .. }) => self.messages += 1,
            Some(Message::End { .. }) => self.collectives += 1,
            None if is_end => self.rootless += 1,
            _ => {}
        }
        message
    }
}

impl Adds for Spoken<'_> {
    fn due(&mut self, lane: u64, until: u64) -> Option<(u64, Message)> {
        loop {
            let moments = self.moved.get_mut(&lane)?;
            let (time, place, rank, said) = *moments.front().filter(|(time, ..)| *time <= until)?;
            moments.pop_front();
            if let Some(message) = self.record(place, rank, &said) {
                return Some((time, message));
            }
        }
    }

    fn with(&mut self, lane: u64, event: ArchiveEvent<'_>) -> Option<Message> {
        let (place, rank) = self.communicators.rank_of(lane)?;
        let said = self.speakers.entry(lane).or_default().see(self.known.seen(&event)?)?;
        let is_moved = said.is_of_message() && self.communicators.home_of(lane).is_some();
        if is_moved { None } else { self.record(place, rank, &said) }
    }
}

/// The archive's numbers of the lanes' attributes and metrics.
pub(super) struct LaneNumbers<'a> {
    definitions: &'a Definitions,
    peer: Option<&'a u32>,
    root: Option<&'a u32>,
}

impl<'a> LaneNumbers<'a> {
    pub(super) fn of(definitions: &'a Definitions) -> Self {
        let attribute = |name| definitions.attributes.get(name);
        Self { definitions, peer: attribute("nccl_peer"), root: attribute("nccl_root") }
    }

    fn enter(&self, region: u32, attributes: Attributes<'_>) -> SpokenEvent<'a> {
        let rank = |attribute| attributes.number(attribute).and_then(|rank| i32::try_from(rank).ok());
        let region = self.definitions.regions.get(&region).map_or("", String::as_str);
        SpokenEvent::Enter { region, other: rank(self.peer).or(rank(self.root)) }
    }

    fn metric(&self, metric: u32, value: u64) -> Option<SpokenEvent<'a>> {
        let is_bytes = self.definitions.metrics.get(&metric).is_some_and(|name| name == "nccl_op_bytes");
        is_bytes.then_some(SpokenEvent::Bytes(value))
    }

    pub(super) fn seen(&self, event: &ArchiveEvent<'_>) -> Option<SpokenEvent<'a>> {
        match *event {
            ArchiveEvent::Enter(region, attributes) => Some(self.enter(region, attributes)),
            ArchiveEvent::Metric(metric, value) => self.metric(metric, value),
            ArchiveEvent::Leave => Some(SpokenEvent::Leave),
        }
    }
}
