//! Memory of a recording: chunks of records, each filled by one thread, read by whoever writes the file, and then used
//! again.
//!
//! A thread fills chunks of its own, so nothing is shared but the list of free chunks. Who reads knows by the threads'
//! marks when all that was recorded up to some time is there.

use super::event::Record;
use common::mapping::{Mapping, Zeroed};
use common::thread::{MOST_THREADS, ThreadCell};
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, compiler_fence};

/// Records in a chunk: 16 KiB.
const RECORDS: usize = (16 * 1024 - 8) / size_of::<Record>();

/// All zero is empty.
#[repr(C, align(64))]
#[derive(Debug)]
struct Chunk {
    /// The thread's next chunk, or the next free one, plus one; 0 for none.
    next: AtomicU32,
    /// Records that are whole.
    used: AtomicU32,
    records: [UnsafeCell<MaybeUninit<Record>>; RECORDS],
}

// SAFETY: zero atomics, and records that are not looked at before they are written; no drop.
unsafe impl Zeroed for Chunk {}
// SAFETY: a record is written by the thread that owns the chunk's lane, before `used` is raised over it; others read
// records below `used` only. Written again it is when the chunk has come back from the free list, where the one reader
// has put it, having read it.
unsafe impl Sync for Chunk {}

/// The chunks of one thread after the other; numbers are chunks plus one, 0 is none.
#[derive(Debug)]
struct Lane {
    first: AtomicU32,
    last: AtomicU32,
    /// Odd while the thread is inside a callback, and never the same in two callbacks.
    mark: AtomicU64,
}

// SAFETY: atomic integers, valid as zeros, without drop.
unsafe impl Zeroed for Lane {}

/// All chunks.
#[derive(Debug)]
pub(super) struct Memory {
    chunks: Mapping<Chunk>,
    /// Chunks from here on were never used.
    fresh: AtomicU32,
    /// Free list: the first chunk, plus one, under a count of changes, by which a chunk that comes back between a look
    /// and the exchange (ABA) is noticed.
    free: AtomicU64,
    in_use: AtomicU32,
    lanes: Mapping<Lane>,
}

/// The calling thread is inside a callback until this is dropped.
#[derive(Debug)]
pub(super) struct Inside<'a> {
    memory: &'a Memory,
    lane: &'a Lane,
    thread: u32,
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mark = self.lane.mark.load(Ordering::Relaxed);
        // even also behind a callback that a handler has made in the midst of this one
        self.lane.mark.store(mark & !1, Ordering::Release);
    }
}

impl Inside<'_> {
    /// Number of the thread.
    pub(super) fn thread(&self) -> u32 {
        self.thread
    }

    /// Keeps a record; false when there is no room.
    #[inline]
    pub(super) fn push(&self, record: Record) -> bool {
        let Self { memory, lane, .. } = self;
        let last = memory.chunk(lane.last.load(Ordering::Relaxed));
        let Some(chunk) = last
            .filter(|chunk| (chunk.used.load(Ordering::Relaxed) as usize) < RECORDS)
            .or_else(|| memory.extend(lane))
        else {
            return false;
        };
        let used = chunk.used.load(Ordering::Relaxed);
        // SAFETY: `used` is below RECORDS: checked above, 0 in a chunk that was free. Only this thread writes here, and
        // nobody reads before the store below.
        unsafe { (*chunk.records[used as usize].get()).write(record) };
        chunk.used.store(used + 1, Ordering::Release);
        true
    }
}

impl Memory {
    /// Room for that many bytes of records, committed as they come.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let chunks = (bytes / size_of::<Chunk>()).clamp(1, u32::MAX as usize / 2);
        let [fresh, in_use] = [0, 0].map(AtomicU32::new);
        Ok(Self {
            chunks: Mapping::new(chunks)?,
            fresh,
            free: AtomicU64::new(0),
            in_use,
            lanes: Mapping::new(MOST_THREADS)?,
        })
    }

    /// The calling thread begins a callback; `None` where it has no cell. To be called before the callback takes its
    /// place in the order.
    #[inline]
    pub(super) fn enter(&self) -> Option<Inside<'_>> {
        // a cell has one thread at a time, and so has the lane of its number
        let (cell, number) = ThreadCell::current()?;
        let lane = self.lanes.get(number)?;
        // odd also behind a callback that a handler has left by siglongjmp, whose mark is still there
        let mark = lane.mark.load(Ordering::Relaxed);
        lane.mark.store(mark.wrapping_add(2) | 1, Ordering::Release);
        Some(Inside { memory: self, lane, thread: cell.thread() })
    }

    /// The mark of each thread that has entered so far: odd inside a callback, and never the same in two callbacks.
    pub(super) fn marks(&self) -> impl Iterator<Item = u64> {
        self.lanes().iter().map(|lane| lane.mark.load(Ordering::Acquire))
    }

    /// The mark of one thread, by its lane.
    pub(super) fn mark(&self, lane: usize) -> Option<u64> {
        Some(self.lanes.get(lane)?.mark.load(Ordering::Acquire))
    }

    /// The lanes of all threads that have entered so far, and perhaps more.
    fn lanes(&self) -> &[Lane] {
        &self.lanes[..ThreadCell::all().count().min(self.lanes.len())]
    }

    /// Whether more than half of it is in use.
    pub(super) fn is_pressed(&self) -> bool {
        self.in_use.load(Ordering::Relaxed) as usize > self.chunks.len() / 2
    }

    /// A chunk at the end of the lane.
    #[cold]
    fn extend(&self, lane: &Lane) -> Option<&Chunk> {
        let number = self.take()?;
        let chunk = self.chunk(number)?;
        chunk.next.store(0, Ordering::Relaxed);
        chunk.used.store(0, Ordering::Relaxed);
        self.go_on(lane, number, || {});
        Some(chunk)
    }

    /// The lane's thread goes on in another chunk. `amid` is called where a signal handler that leaves this callback
    /// does most harm.
    #[inline]
    fn go_on(&self, lane: &Lane, number: u32, amid: impl FnOnce()) {
        let before = self.chunk(lane.last.load(Ordering::Relaxed));
        // first of all: a thread that is left must not go on with a chunk that has a successor, which its reader may
        // give back. One left right behind this goes on with chunks that nobody reads: what is in them counts as lost.
        lane.last.store(number, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        amid();
        match before {
            // from here on the one before may be given back
            Some(before) => before.next.store(number, Ordering::Release),
            None => lane.first.store(number, Ordering::Release),
        }
    }

    /// A chunk that is free, or was never used; plus one. Lock-free.
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

    /// What is in it was read. Only the reader calls this, of a chunk that has a successor: its thread is done with it.
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

/// How far each lane was read: its chunk, plus one, and the next record there. One reader at a time has it.
#[derive(Debug, Default)]
pub(super) struct Reader(Vec<(u32, u32)>);

impl Reader {
    /// Lanes that are known now.
    pub(super) fn lanes(&mut self, memory: &Memory) -> usize {
        let lanes = memory.lanes().len();
        self.0.resize(lanes.max(self.0.len()), (0, 0));
        lanes
    }

    /// The next record of a lane, in the order in which they were made; it stays the next one until it is passed.
    pub(super) fn next(&mut self, memory: &Memory, lane: usize) -> Option<Record> {
        let (number, next) = self.0.get_mut(lane)?;
        if *number == 0 {
            *number = memory.lanes.get(lane)?.first.load(Ordering::Acquire);
        }
        loop {
            let chunk = memory.chunk(*number)?;
            if *next < chunk.used.load(Ordering::Acquire) {
                // SAFETY: below `used` records are whole, and not written again before this reader gives the chunk
                // back.
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

    /// Passes the record that [`Reader::next`] gave last.
    pub(super) fn pass(&mut self, lane: usize) {
        if let Some((_, next)) = self.0.get_mut(lane) {
            *next += 1;
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

    /// All that is there, lane by lane.
    fn read(memory: &Memory, reader: &mut Reader) -> Vec<Vec<u64>> {
        let lanes = reader.lanes(memory);
        let mut all = |lane| {
            std::iter::from_fn(|| {
                let record = reader.next(memory, lane)?;
                reader.pass(lane);
                Some(record.sequence)
            })
            .collect()
        };
        (0..lanes).map(&mut all).collect()
    }

    #[test]
    fn every_thread_finds_its_records_in_order_until_there_is_no_room() {
        let memory = Memory::new(6 * 16 * 1024).unwrap();
        let push = |sequence| memory.enter().unwrap().push(record(sequence));
        std::thread::scope(|scope| {
            for first in [0, 1_000_000] {
                // two chunks and a bit
                scope.spawn(move || assert!((first..first + RECORDS as u64 * 2 + 5).all(push)));
            }
        });
        // six chunks are taken: each thread of the two may go on in its last one, this one may not begin
        assert!(memory.is_pressed());
        while push(0) {}
        assert!(!push(0));
        let mut reader = Reader::default();
        let lanes = read(&memory, &mut reader);
        assert!(lanes.iter().map(Vec::len).sum::<usize>() >= 2 * (RECORDS * 2 + 5));
        assert!(
            lanes.iter().all(|lane| lane.windows(2).all(|pair| pair[0] + 1 == pair[1] || pair[1] % 1_000_000 == 0))
        );
        // four were read to their ends and have a successor
        assert!(!memory.is_pressed() && push(7));
        assert_eq!(read(&memory, &mut reader).concat(), [7]);
    }

    #[test]
    fn memory_that_was_read_is_used_again() {
        let memory = Memory::new(2 * 16 * 1024).unwrap();
        let mut reader = Reader::default();
        std::thread::scope(|scope| {
            let memory = &memory;
            scope.spawn(move || {
                for sequence in 0..100_000 {
                    // as no callback does: it waits for room
                    while !memory.enter().unwrap().push(record(sequence)) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut expected = 0;
            while expected < 100_000 {
                for sequence in read(memory, &mut reader).concat() {
                    assert_eq!(sequence, expected);
                    expected += 1;
                }
            }
        });
    }

    #[test]
    fn a_thread_that_is_left_amid_an_extension_has_gone_on() {
        let memory = Memory::new(4 * 16 * 1024).unwrap();
        let inside = memory.enter().unwrap();
        assert!(inside.push(record(0)));
        let first = inside.lane.last.load(Ordering::Relaxed);
        let number = memory.take().unwrap();
        memory.go_on(inside.lane, number, || {
            let behind = memory.chunk(first).unwrap().next.load(Ordering::Relaxed);
            assert_eq!(
                (behind, inside.lane.last.load(Ordering::Relaxed)),
                (0, number),
                "it goes on in a chunk that may be given back"
            );
        });
        assert_eq!(memory.chunk(first).unwrap().next.load(Ordering::Relaxed), number);
    }
}
