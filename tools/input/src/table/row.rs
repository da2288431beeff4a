//! A row of the operations' table before its times are certain: an operation as the library gives it, and the facts
//! from the recording's lines.

use super::packed::{Packed, packed};
use common::name::NcclName;
use common::run_sums::CommunicatorRank;
use common::timeline::{KeptOperation, OperationKey, SettledTimes, TimelineEntry};
use report::job::{RankOperation, Time};
use std::cmp::Ordering;
use std::io::{self, Read, Write};

/// Facts of an operation that the recording's own lines have and the library does not give out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct OperationFacts {
    /// When the host called for it: the begin of the API call, or of the operation's own start where there is no call or
    /// where the call was captured in a CUDA graph. Nanoseconds of the process' clock.
    pub(super) enqueued: u64,
    /// Number of elements.
    pub(super) count: u64,
    /// Root, if the function has one.
    pub(super) root: Option<i32>,
    /// Type of the elements.
    pub(super) datatype: NcclName,
    /// Number of the group of API calls.
    pub(super) group: Option<u64>,
    /// Number of its stream; 0 where it is unknown.
    pub(super) stream: u32,
    /// Number of earlier collectives of the rank with the same function and number.
    pub(super) replay: u32,
    /// The user's tag; 0 for none.
    pub(super) tag: u64,
}

/// A row. Rows are in the order in which the host called for their operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OperationRow {
    pub(super) kept: KeptOperation,
    /// Without a line, facts have no type.
    pub(super) facts: OperationFacts,
}

packed! {
    CommunicatorRank { comm rank }
    OperationKey { enqueued rank order }
    TimelineEntry {
        start stop bytes sequence peer root place order launched function algorithm protocol source alone
    }
    KeptOperation { key entry distance channels unfinished }
    OperationFacts { enqueued count root datatype group stream replay tag }
    OperationRow { kept facts }
}

impl Ord for OperationRow {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |row: &Self| {
            let OperationKey { enqueued, rank: CommunicatorRank { comm, rank }, order } = row.kept.key;
            // -1 comes last
            (row.facts.enqueued, enqueued, comm, rank.cast_unsigned(), order)
        };
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for OperationRow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl OperationRow {
    /// Returns the operation of the table.
    pub(super) fn with_times(&self, SettledTimes { duration, begin, launched }: SettledTimes) -> RankOperation {
        let Self { kept: KeptOperation { key, entry, distance, channels, unfinished }, facts } = *self;
        let time = begin.map(|begin| Time {
            start: begin.start,
            stop: begin.start.saturating_add(duration),
            clock: begin.clock,
            ahead: begin.ahead,
        });
        let is_message = entry.peer >= 0;
        RankOperation {
            comm: key.rank.comm,
            rank: key.rank.rank,
            function: entry.function,
            sequence: (!is_message).then_some(entry.sequence),
            replay: facts.replay,
            order: key.order,
            peer: is_message.then_some(entry.peer),
            root: facts.root,
            count: (facts.datatype != NcclName::none()).then_some(facts.count),
            datatype: facts.datatype,
            bytes: entry.bytes,
            algorithm: entry.algorithm,
            protocol: entry.protocol,
            channels: channels.into(),
            enqueued: facts.enqueued,
            launched,
            source: entry.source.into(),
            duration,
            time,
            kernel: key.order.saturating_sub(distance.into()),
            alone: entry.alone,
            group: facts.group,
            stream: facts.stream.into(),
            tag: facts.tag,
            unfinished,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::operation::TimeSource;

    #[test]
    fn rows_come_back() {
        let [function, algorithm, protocol] = [c"Reduce", c"TREE", c"LL128"].map(|name| NcclName::of(Some(name)));
        let row = |number: u64| OperationRow {
            kept: KeptOperation {
                key: OperationKey {
                    enqueued: number + 4,
                    rank: CommunicatorRank { comm: 7, rank: -1 },
                    order: number + 5,
                },
                entry: TimelineEntry {
                    start: number,
                    stop: number + 1,
                    bytes: number + 2,
                    sequence: number + 3,
                    peer: -1,
                    root: 7,
                    place: 254,
                    order: (number + 5) as u32,
                    launched: number + 6,
                    function,
                    algorithm,
                    protocol,
                    source: TimeSource::ALL[number as usize % 4],
                    alone: number.is_multiple_of(2),
                },
                distance: 513,
                channels: 24,
                unfinished: number.is_multiple_of(3),
            },
            facts: OperationFacts {
                enqueued: number << 33,
                count: 2,
                root: Some(-3).filter(|_| number.is_multiple_of(2)),
                datatype: NcclName::of(Some(c"ncclBfloat16")),
                group: Some(4).filter(|_| number.is_multiple_of(3)),
                stream: 5,
                replay: 6,
                tag: u64::MAX - 7,
            },
        };
        for row in (0..9).map(row) {
            let mut bytes = Vec::new();
            row.write(&mut bytes).unwrap();
            assert_eq!(OperationRow::read(&mut bytes.as_slice()).unwrap(), row);
        }
    }
}
