//! The records of communication of an archive's lanes, each at its time. All of a rank are on its first lane, the
//! location that is the rank in its communicator.

use super::heard::HeardOperation;
use common::name::NcclName;
use std::collections::{BTreeMap, VecDeque};

/// The moment of an operation that a record stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// A message is sent.
    Send,
    /// A message has come.
    Receive,
    /// A collective begins.
    Begin,
    /// A collective ends.
    End,
}

/// A record of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RankRecord {
    /// Ticks.
    pub(super) time: u64,
    /// Bytes of the operation.
    pub(super) bytes: u64,
    /// Peer or root; -1 where there is none.
    pub(super) other: i32,
    pub(super) function: NcclName,
    pub(super) kind: RecordKind,
}

impl RankRecord {
    pub(super) fn new(kind: RecordKind, time: u64, of: &HeardOperation) -> Self {
        Self { time, bytes: of.bytes, other: of.other, function: of.function, kind }
    }

    /// Returns whether it lies behind the events of its time, as a region's begin is; otherwise it lies before them.
    fn is_behind(&self) -> bool {
        matches!(self.kind, RecordKind::Send | RecordKind::Begin)
    }
}

/// The records of all lanes.
#[derive(Debug, Default)]
pub(super) struct Records(BTreeMap<u64, VecDeque<RankRecord>>);

impl Records {
    /// Adds a record to a lane.
    pub(super) fn add(&mut self, lane: u64, record: RankRecord) {
        self.0.entry(lane).or_default().push_back(record);
    }

    /// Puts the records of each lane in the order of their times. Those of one time stay in the order in which they were
    /// added, except that a message comes before anything that begins then.
    pub(super) fn sort(&mut self) {
        let key = |record: &RankRecord| (record.time, record.kind != RecordKind::Receive);
        self.0.values_mut().for_each(|records| records.make_contiguous().sort_by_key(key));
    }

    /// Takes the next record of a lane that lies before an event at `until`.
    pub(super) fn due(&mut self, lane: u64, until: u64) -> Option<RankRecord> {
        let records = self.0.get_mut(&lane)?;
        let is_due = |record: &&RankRecord| record.time < until || record.time == until && !record.is_behind();
        records.front().filter(is_due)?;
        records.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begins_lie_behind_the_events_of_their_time_and_ends_before_them() {
        let mut records = Records::default();
        let record = |kind, time| RankRecord { time, bytes: 0, other: -1, function: NcclName::default(), kind };
        let all = [(RecordKind::Begin, 10), (RecordKind::End, 20), (RecordKind::Send, 20), (RecordKind::Receive, 20)];
        all.iter().for_each(|&(kind, time)| records.add(1, record(kind, time)));
        records.sort();
        let order: Vec<RecordKind> = records.0[&1].iter().map(|record| record.kind).collect();
        assert_eq!(order, [RecordKind::Begin, RecordKind::Receive, RecordKind::End, RecordKind::Send]);
        assert!(records.0[&1].iter().map(RankRecord::is_behind).eq([true, false, false, true]));
    }
}
