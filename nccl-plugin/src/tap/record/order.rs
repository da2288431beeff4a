//! The records of all threads in the order of their callbacks, part by part.

use super::event::Record;
use super::memory::{ChunkReader, Memory};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

/// The position up to which records were read.
#[derive(Debug, Default)]
pub(super) struct ReadOrder {
    reader: ChunkReader,
    /// All places below this were read or given up.
    horizon: u64,
}

impl ReadOrder {
    /// Returns whether there is a record with a place below `horizon`.
    pub(super) fn has(&mut self, memory: &Memory, horizon: u64) -> bool {
        let mut lists = 0..self.reader.lists(memory);
        lists.any(|list| self.reader.next(memory, list).is_some_and(|record| record.sequence < horizon))
    }

    /// Takes all records with places below `horizon`, and says of each whether it is late: an earlier call has taken
    /// records behind it.
    ///
    /// # Errors
    /// The first error of `take`.
    pub(super) fn take(
        &mut self,
        memory: &Memory,
        horizon: u64,
        mut take: impl FnMut(Record, bool) -> io::Result<()>,
    ) -> io::Result<()> {
        let Self { reader, horizon: before } = self;
        let head =
            |reader: &mut ChunkReader, list| reader.next(memory, list).map(|record| Reverse((record.sequence, list)));
        let mut order: BinaryHeap<_> = (0..reader.lists(memory)).filter_map(|list| head(reader, list)).collect();
        while let Some(Reverse((sequence, list))) = order.pop() {
            if sequence >= horizon {
                break;
            }
            let Some(record) = reader.next(memory, list) else { break };
            reader.pass(list);
            order.extend(head(reader, list));
            take(record, sequence < *before)?;
        }
        *before = horizon.max(*before);
        Ok(())
    }
}
