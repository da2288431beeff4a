//! Joins the library's operations with the facts of the recording's lines, in the order in which the host enqueued them.

use super::facts::OperationFacts;
use super::sorter::{Sorted, Sorter};
use common::name::NcclName;
use common::timeline::{Settled, Timeline};
use report::job::{RankOperation, Time};
use std::io;
use std::path::Path;

/// Bytes of the time that the joined operations are sorted by.
const TIME: usize = 8;
/// Bytes of a joined operation: the time of its enqueue, the operation, its facts.
const JOINED: usize = TIME + Settled::BYTES + OperationFacts::BYTES;

/// The operations of a process with their facts.
pub(super) struct JoinedOperations {
    sorted: Sorted<JOINED>,
    /// Operations that the library has left out.
    pub(super) left_out: u64,
    /// Operations that no line of the recording has started.
    pub(super) unmatched: u64,
}

impl JoinedOperations {
    /// Joins the operations of a timeline with facts.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(super) fn of(
        mut timeline: Timeline,
        facts: Sorter<{ OperationFacts::RECORD }>,
        scratch: &Path,
    ) -> io::Result<Self> {
        let mut operations = Sorter::<{ Settled::BYTES }>::new(scratch);
        timeline.settle(|operation| operations.push(operation.encode()))?;
        let (mut operations, mut facts) = (operations.sorted()?, facts.sorted()?);
        let mut joined = Sorter::new(scratch);
        let mut unmatched = 0;
        while let Some(operation) = operations.take()? {
            let key = &operation[..Settled::KEY];
            while facts.peek().is_some_and(|facts| &facts[..Settled::KEY] < key) {
                facts.take()?;
            }
            let is_same = facts.peek().is_some_and(|facts| &facts[..Settled::KEY] == key);
            let mut of_line = [0; OperationFacts::BYTES];
            if let Some(found) = if is_same { facts.take()? } else { None } {
                of_line.copy_from_slice(&found[Settled::KEY..]);
            } else {
                unmatched += 1;
                of_line[..TIME].copy_from_slice(&operation[..TIME]);
            }
            let mut record = [0; JOINED];
            record[..TIME].copy_from_slice(&of_line[..TIME]);
            record[TIME..TIME + Settled::BYTES].copy_from_slice(&operation);
            record[TIME + Settled::BYTES..].copy_from_slice(&of_line);
            joined.push(record)?;
        }
        Ok(Self { sorted: joined.sorted()?, left_out: timeline.left_out(), unmatched })
    }

    /// Returns the next operation; `None` behind the last.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Option<RankOperation>> {
        let Some(record) = self.sorted.take()? else { return Ok(None) };
        let (mut settled, mut facts) = ([0; Settled::BYTES], [0; OperationFacts::BYTES]);
        settled.copy_from_slice(&record[TIME..TIME + Settled::BYTES]);
        facts.copy_from_slice(&record[TIME + Settled::BYTES..]);
        Ok(Some(operation(&Settled::decode(&settled), &OperationFacts::decode(&facts))))
    }
}

/// Returns an operation of the table. Without a line, facts have no type.
fn operation(settled: &Settled, facts: &OperationFacts) -> RankOperation {
    let time = settled.begin.map(|begin| Time {
        start: begin.start,
        stop: begin.start.saturating_add(settled.duration),
        clock: begin.clock,
        ahead: begin.ahead,
    });
    let is_message = settled.peer >= 0;
    RankOperation {
        comm: settled.rank.comm,
        rank: settled.rank.rank,
        function: settled.function,
        sequence: (!is_message).then_some(settled.sequence),
        replay: facts.replay,
        order: settled.order,
        peer: is_message.then_some(settled.peer),
        root: facts.root,
        count: (facts.datatype != NcclName::none()).then_some(facts.count),
        datatype: facts.datatype,
        bytes: settled.bytes,
        algorithm: settled.algorithm,
        protocol: settled.protocol,
        channels: settled.channels.into(),
        enqueued: facts.enqueued,
        launched: settled.launched,
        source: settled.source.into(),
        duration: settled.duration,
        time,
        kernel: settled.kernel,
        alone: settled.alone,
        group: facts.group,
        stream: facts.stream.into(),
        tag: facts.tag,
        unfinished: settled.unfinished,
    }
}
