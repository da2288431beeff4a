//! Sends and receives that belong together. Between two ranks of a communicator, messages come in the order in which
//! they are sent, so the k-th send is the k-th receive, as every reader of the records takes it. A reader that finds
//! another number of sends than of receives, or other bytes, would draw wrong lines; such a pair gets no record.

use super::heard::HeardOperation;
use super::records::{RankRecord, RecordKind};
use std::collections::BTreeMap;

/// The sender and the receiver.
type SenderReceiver = (i32, i32);

/// Sends and receives without a record, and messages that end before they begin.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MatchedMessages {
    /// Sends and receives of pairs that have no record.
    pub(super) alone: u64,
    /// Messages that end before they begin, and by how many ticks at most.
    pub(super) reversed: (u64, u64),
}

impl MatchedMessages {
    /// Passes the records of a communicator's messages, each with the rank that has it, in the order of each pair.
    pub(super) fn record(&mut self, ranks: &BTreeMap<i32, Vec<HeardOperation>>, mut pass: impl FnMut(i32, RankRecord)) {
        let mut pairs: BTreeMap<SenderReceiver, [Vec<(i32, HeardOperation)>; 2]> = BTreeMap::new();
        for (&rank, operations) in ranks {
            for operation in operations.iter().filter(|operation| operation.is_message()) {
                let is_send = operation.is_send();
                let pair = if is_send { (rank, operation.other) } else { (operation.other, rank) };
                pairs.entry(pair).or_default()[usize::from(!is_send)].push((rank, *operation));
            }
        }
        for [sends, receives] in pairs.into_values() {
            let [sent, received] = [&sends, &receives].map(|moments| moments.iter().map(|(_, it)| it.bytes));
            if !sent.eq(received) {
                self.alone += (sends.len() + receives.len()) as u64;
                continue;
            }
            // a receive that shares its kernel with others may end before an earlier one
            let mut end = 0;
            for ((sender, send), (receiver, receive)) in sends.into_iter().zip(receives) {
                end = receive.end.max(end);
                if end < send.begin {
                    self.reversed = (self.reversed.0 + 1, self.reversed.1.max(send.begin - end));
                }
                pass(sender, RankRecord::new(RecordKind::Send, send.begin, &send));
                pass(receiver, RankRecord::new(RecordKind::Receive, end, &receive));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::name::NcclName;

    fn operation(function: &str, other: i32, [begin, end]: [u64; 2], bytes: u64) -> HeardOperation {
        HeardOperation { begin, end, bytes, sequence: 0, other, function: NcclName::of_text(function), is_timed: true }
    }

    fn recorded(ranks: [Vec<HeardOperation>; 2]) -> (MatchedMessages, Vec<(i32, u64)>) {
        let mut matched = MatchedMessages::default();
        let mut records = Vec::new();
        matched.record(&(0..).zip(ranks).collect(), |rank, record| records.push((rank, record.time)));
        (matched, records)
    }

    #[test]
    fn a_pair_with_a_message_that_has_one_side_gets_no_record() {
        let to_one = [10, 30].map(|time| operation("Send", 1, [time, time + 9], 8));
        let [first, second] = [15, 35].map(|end| operation("Recv", 0, [12, end], 8));
        let to_zero = operation("Send", 0, [40, 41], 8);
        let (matched, records) = recorded([to_one.to_vec(), vec![first, second, to_zero]]);
        assert_eq!(records, [(0, 10), (1, 15), (0, 30), (1, 35)]);
        assert_eq!(matched, MatchedMessages { alone: 1, reversed: (0, 0) });
        // nor does one with other bytes
        let (matched, records) = recorded([to_one.to_vec(), vec![first, HeardOperation { bytes: 9, ..second }]]);
        assert_eq!((matched.alone, records), (4, vec![]));
    }

    #[test]
    fn messages_that_end_before_they_begin_are_counted() {
        let times = [(10, 5), (20, 21), (40, 33)];
        let sends = times.map(|(sent, _)| operation("Send", 1, [sent, sent + 1], sent));
        let receives = times.map(|(sent, end)| operation("Recv", 0, [0, end], sent));
        assert_eq!(recorded([sends.to_vec(), receives.to_vec()]).0.reversed, (2, 7));
    }

    #[test]
    fn receives_of_a_pair_never_fall() {
        let sends = [1, 2].map(|bytes| operation("Send", 1, [0, 9], bytes));
        let receives = [(1, 20), (2, 15)].map(|(bytes, end)| operation("Recv", 0, [0, end], bytes));
        assert_eq!(recorded([sends.to_vec(), receives.to_vec()]).1, [(0, 0), (1, 20), (0, 0), (1, 20)]);
    }
}
