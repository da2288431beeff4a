//! Memory of a recording: chunks of records. One thread fills a chunk, the writer of the file reads it, and then it is
//! reused.
//!
//! Threads share only the list of free chunks. From the threads' marks, the reader knows when all records made up to
//! some time are in memory.

use super::event::Record;
use common::mapping::{Mapping, Zeroed};
use common::thread::{MOST_THREADS, ThreadCell};
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Records per chunk; a chunk has 16 KiB.
const RECORDS: usize = (16 * 1024 - 8) / size_of::<Record>();

/// Records of one thread; all zero is empty.
#[repr(C, align(64))]
#[derive(Debug)]
struct Chunk {
    /// Number of the thread's next chunk, or of the next free chunk; 0 for none.
    next: AtomicU32,
    /// Number of records that are complete.
    used: AtomicU32,
    records: [UnsafeCell<MaybeUninit<Record>>; RECORDS],
}

// SAFETY: the chunk consists of atomics, valid as zeros, and of records that are read only once written; none needs
// drop.
unsafe impl Zeroed for Chunk {}
// SAFETY: the thread that owns the list writes a record before it raises `used` above it, and others read records below
// `used` only. A chunk is written again after the only reader, which has read it, has put it into the free list.
unsafe impl Sync for Chunk {}

/// The chunks of one thread, as a list. A chunk's number is its index plus one; 0 is none.
#[derive(Debug)]
struct ChunkList {
    first: AtomicU32,
    last: AtomicU32,
    /// Odd while the thread is inside a callback; different in each callback.
    mark: AtomicU64,
}

// SAFETY: the list consists of atomic integers, which are valid as zeros and need no drop.
unsafe impl Zeroed for ChunkList {}

/// All chunks of the recording.
#[derive(Debug)]
pub(super) struct Memory {
    chunks: Mapping<Chunk>,
    /// Number of chunks that were ever used.
    fresh: AtomicU32,
    /// Free list: the number of its first chunk, below a count of changes. The count reveals a chunk that was taken and
    /// given back between a load and the exchange (ABA).
    free: AtomicU64,
    in_use: AtomicU32,
    lists: Mapping<ChunkList>,
}

/// Marks the calling thread as inside a callback until this is dropped.
#[derive(Debug)]
pub(super) struct InsideCallback<'a> {
    memory: &'a Memory,
    list: &'a ChunkList,
    thread: u32,
}

impl Drop for InsideCallback<'_> {
    fn drop(&mut self) {
        let mark = self.list.mark.load(Ordering::Relaxed);
        // even also if a signal handler has made a callback inside this one
        self.list.mark.store(mark & !1, Ordering::Release);
    }
}

impl InsideCallback<'_> {
    /// Returns the number of the thread.
    pub(super) fn thread(&self) -> u32 {
        self.thread
    }

    /// Keeps a record. Returns false if there is no memory.
    #[inline]
    pub(super) fn push(&self, record: Record) -> bool {
        let Self { memory, list, .. } = self;
        let last = memory.chunk(list.last.load(Ordering::Relaxed));
        let Some(chunk) = last
            .filter(|chunk| (chunk.used.load(Ordering::Relaxed) as usize) < RECORDS)
            .or_else(|| memory.extend(list))
        else {
            return false;
        };
        let used = chunk.used.load(Ordering::Relaxed);
        // SAFETY: `used` is below RECORDS: checked above, or 0 in a chunk that was free. Only this thread writes here,
        // and nobody reads the record before the store below.
        unsafe { (*chunk.records[used as usize].get()).write(record) };
        chunk.used.store(used + 1, Ordering::Release);
        true
    }
}

impl Memory {
    /// Reserves memory for that many bytes of records; the system commits it at the first use.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let chunks = (bytes / size_of::<Chunk>()).clamp(1, u32::MAX as usize / 2);
        let [fresh, in_use] = [0, 0].map(AtomicU32::new);
        Ok(Self {
            chunks: Mapping::new(chunks)?,
            fresh,
            free: AtomicU64::new(0),
            in_use,
            lists: Mapping::new(MOST_THREADS)?,
        })
    }

    /// Marks the calling thread as inside a callback; `None` if the thread has no cell. The callback must take its
    /// place in the order after this call.
    #[inline]
    pub(super) fn enter(&self) -> Option<InsideCallback<'_>> {
        // a cell belongs to one thread at a time, and so does the list with its number
        let (cell, number) = ThreadCell::current()?;
        let list = self.lists.get(number)?;
        // odd also inside a callback that a signal handler has interrupted to make this one
        let mark = list.mark.load(Ordering::Relaxed);
        list.mark.store(mark.wrapping_add(2) | 1, Ordering::Release);
        Some(InsideCallback { memory: self, list, thread: cell.thread() })
    }

    /// Returns the marks of all threads that have entered so far: odd inside a callback, different in each callback.
    pub(super) fn marks(&self) -> impl Iterator<Item = u64> {
        self.lists().iter().map(|list| list.mark.load(Ordering::Acquire))
    }

    /// Returns the mark of a thread, by its list.
    pub(super) fn mark(&self, list: usize) -> Option<u64> {
        Some(self.lists.get(list)?.mark.load(Ordering::Acquire))
    }

    /// Returns the lists of all threads that have entered so far, and perhaps more.
    fn lists(&self) -> &[ChunkList] {
        &self.lists[..ThreadCell::all().count().min(self.lists.len())]
    }

    /// Returns whether more than half of the chunks are in use.
    pub(super) fn is_pressed(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) as usize > self.chunks.len() / 2
    }

    /// Appends a chunk to the list.
    #[cold]
    fn extend(&self, list: &ChunkList) -> Option<&Chunk> {
        let number = self.take()?;
        let chunk = self.chunk(number)?;
        chunk.next.store(0, Ordering::Relaxed);
        chunk.used.store(0, Ordering::Relaxed);
        let before = self.chunk(list.last.load(Ordering::Relaxed));
        list.last.store(number, Ordering::Relaxed);
        match before {
            // from here on the reader may give back the chunk before
            Some(before) => before.next.store(number, Ordering::Release),
            None => list.first.store(number, Ordering::Release),
        }
        Some(chunk)
    }

    /// Takes a free chunk, or else one that was never used, and returns its number. Lock-free.
    fn take(&self) -> Option<u32> {
        let mut free = self.free.load(Ordering::Acquire);
        while let Some(chunk) = self.chunk(free as u32) {
            let changed = ((free >> 32) + 1) << 32 | u64::from(chunk.next.load(Ordering::Relaxed));
            match self.free.compare_exchange_weak(free, changed, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    self.in_use.fetch_add(1, Ordering::Relaxed);
                    return Some(free as u32);
                }
                Err(now) => free = now,
            }
        }
        let next = |chunk: u32| ((chunk as usize) < self.chunks.len()).then_some(chunk + 1);
        let fresh = self.fresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        self.in_use.fetch_add(1, Ordering::Relaxed);
        Some(fresh + 1)
    }

    /// Puts a chunk that was read into the free list. Only the reader calls this, for a chunk with a successor: its
    /// thread no longer uses it.
    fn give_back(&self, number: u32) {
        let Some(chunk) = self.chunk(number) else { return };
        self.in_use.fetch_sub(1, Ordering::Relaxed);
        let mut free = self.free.load(Ordering::Relaxed);
        loop {
            chunk.next.store(free as u32, Ordering::Relaxed);
            let changed = ((free >> 32) + 1) << 32 | u64::from(number);
            match self.free.compare_exchange_weak(free, changed, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => free = now,
            }
        }
    }

    fn chunk(&self, number: u32) -> Option<&Chunk> {
        self.chunks.get((number as usize).checked_sub(1)?)
    }
}

/// The position up to which each list was read: the number of its chunk and the next record there. There is one reader
/// at a time.
#[derive(Debug, Default)]
pub(super) struct ChunkReader(Vec<(u32, u32)>);

impl ChunkReader {
    /// Returns the number of lists known by now.
    pub(super) fn lists(&mut self, memory: &Memory) -> usize {
        let lists = memory.lists().len();
        self.0.resize(lists.max(self.0.len()), (0, 0));
        lists
    }

    /// Returns the next record of a list, in the order in which the thread made them. It remains the next one until
    /// [`ChunkReader::pass`].
    pub(super) fn next(&mut self, memory: &Memory, list: usize) -> Option<Record> {
        let (number, next) = self.0.get_mut(list)?;
        if *number == 0 {
            *number = memory.lists.get(list)?.first.load(Ordering::Acquire);
        }
        loop {
            let chunk = memory.chunk(*number)?;
            if *next < chunk.used.load(Ordering::Acquire) {
                // SAFETY: a record below `used` is complete, and its thread does not write it again before this reader
                // gives the chunk back.
                return Some(unsafe { (*chunk.records.get(*next as usize)?.get()).assume_init() });
            }
            let behind = chunk.next.load(Ordering::Acquire);
            if (*next as usize) < RECORDS || behind == 0 {
                return None;
            }
            memory.give_back(*number);
            (*number, *next) = (behind, 0);
        }
    }

    /// Goes past the record that [`ChunkReader::next`] returned last.
    pub(super) fn pass(&mut self, list: usize) {
        if let Some((_, next)) = self.0.get_mut(list) {
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests;
