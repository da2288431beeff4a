//! Memory of a recording: chunks of records, each written by one thread and read when the recording is over.
//!
//! A thread fills chunks of its own, so nothing is shared but the number of the next fresh chunk. Chunks are not given back: what is
//! recorded stays until it is written to the file.

use super::event::Record;
use common::mapping::{Mapping, Zeroed};
use common::thread::{MOST_THREADS, ThreadCell};
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

/// Records in a chunk: 16 KiB.
const RECORDS: usize = (16 * 1024 - 8) / size_of::<Record>();

/// All zero is empty.
#[repr(C, align(64))]
#[derive(Debug)]
struct Chunk {
    /// The thread's next chunk, plus one; 0 for none.
    next: AtomicU32,
    /// Records that are whole.
    used: AtomicU32,
    records: [UnsafeCell<MaybeUninit<Record>>; RECORDS],
}

// SAFETY: zero atomics, and records that are not looked at before they are written; no drop.
unsafe impl Zeroed for Chunk {}
// SAFETY: a record is written once, by the thread that owns the chunk's lane, before `used` is raised over it; others read records
// below `used` only.
unsafe impl Sync for Chunk {}

/// The chunks of one thread after the other; numbers are chunks plus one, 0 is none.
#[derive(Debug)]
struct Lane {
    first: AtomicU32,
    last: AtomicU32,
}

// SAFETY: atomic integers, valid as zeros, without drop.
unsafe impl Zeroed for Lane {}

/// All chunks.
#[derive(Debug)]
pub(super) struct Memory {
    chunks: Mapping<Chunk>,
    fresh: AtomicU32,
    lanes: Mapping<Lane>,
}

impl Memory {
    /// Room for that many bytes of records, committed as they come.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let chunks = (bytes / size_of::<Chunk>()).clamp(1, u32::MAX as usize / 2);
        Ok(Self { chunks: Mapping::new(chunks)?, fresh: AtomicU32::new(0), lanes: Mapping::new(MOST_THREADS)? })
    }

    /// Keeps a record of the calling thread; false when there is no room, or the thread has no cell.
    #[inline]
    pub(super) fn push(&self, record: Record) -> bool {
        // a cell has one thread at a time, and so has the lane of its number
        let Some((_, number)) = ThreadCell::current() else { return false };
        let Some(lane) = self.lanes.get(number) else { return false };
        let last = self.chunk(lane.last.load(Ordering::Relaxed));
        let Some(chunk) =
            last.filter(|chunk| (chunk.used.load(Ordering::Relaxed) as usize) < RECORDS).or_else(|| self.extend(lane))
        else {
            return false;
        };
        let used = chunk.used.load(Ordering::Relaxed);
        // SAFETY: `used` is below RECORDS: checked above, 0 in a fresh chunk. Only this thread writes here, and nobody reads before
        // the store below.
        unsafe { (*chunk.records[used as usize].get()).write(record) };
        chunk.used.store(used + 1, Ordering::Release);
        true
    }

    /// A fresh chunk at the end of the lane.
    #[cold]
    fn extend(&self, lane: &Lane) -> Option<&Chunk> {
        // looked at first, so that the number does not go round
        if self.fresh.load(Ordering::Relaxed) as usize >= self.chunks.len() {
            return None;
        }
        let index = self.fresh.fetch_add(1, Ordering::Relaxed);
        let chunk = self.chunks.get(index as usize)?;
        match self.chunk(lane.last.load(Ordering::Relaxed)) {
            Some(last) => last.next.store(index + 1, Ordering::Release),
            None => lane.first.store(index + 1, Ordering::Release),
        }
        lane.last.store(index + 1, Ordering::Relaxed);
        Some(chunk)
    }

    fn chunk(&self, number: u32) -> Option<&Chunk> {
        self.chunks.get((number as usize).checked_sub(1)?)
    }

    /// The records of each lane, in the order in which they were made.
    pub(super) fn lanes(&self) -> impl Iterator<Item = Records<'_>> {
        let begun = self.lanes.iter().map(|lane| lane.first.load(Ordering::Acquire)).filter(|first| *first != 0);
        begun.map(|first| Records { memory: self, chunk: self.chunk(first), next: 0 })
    }
}

/// The records of one lane.
pub(super) struct Records<'a> {
    memory: &'a Memory,
    chunk: Option<&'a Chunk>,
    next: u32,
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let chunk = self.chunk?;
            if self.next < chunk.used.load(Ordering::Acquire) {
                // SAFETY: below `used` records are whole, and not written again.
                let record = unsafe { (*chunk.records.get(self.next as usize)?.get()).assume_init() };
                self.next += 1;
                return Some(record);
            }
            if (self.next as usize) < RECORDS {
                return None;
            }
            self.chunk = self.memory.chunk(chunk.next.load(Ordering::Acquire));
            self.next = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::What;
    use super::*;

    fn record(sequence: u64) -> Record {
        Record { sequence, time: 0, thread: 1, rank: 0, what: What::Stop { handle: sequence } }
    }

    #[test]
    fn every_thread_finds_its_records_in_order_until_there_is_no_room() {
        let memory = Memory::new(6 * 16 * 1024).unwrap();
        std::thread::scope(|scope| {
            for first in [0, 1_000_000] {
                let memory = &memory;
                scope.spawn(move || {
                    // two chunks and a bit
                    assert!((first..first + RECORDS as u64 * 2 + 5).all(|sequence| memory.push(record(sequence))));
                });
            }
        });
        let lanes: Vec<Vec<u64>> = memory.lanes().map(|lane| lane.map(|record| record.sequence).collect()).collect();
        assert_eq!(lanes.iter().map(Vec::len).sum::<usize>(), 2 * (RECORDS * 2 + 5));
        assert!(lanes.iter().all(|lane| lane.windows(2).all(|pair| pair[0] + 1 == pair[1] || pair[1] % 1_000_000 == 0)));
        // six chunks are taken: each thread of the two may go on in its last one, this one may not begin
        while memory.push(record(0)) {}
        assert!(!memory.push(record(0)));
    }
}
