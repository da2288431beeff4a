//! A recording (`NCCL_SCOREP_RECORD`): every callback of this process, in the format of captures, for replay elsewhere.
//!
//! ```text
//! callbacks ──► event (88 bytes) ──► memory (chunks, one thread each) ──► at exit: file (lines in true order, gzip)
//! ```
//! Callbacks take their places in the order by one shared counter and keep what they were told in memory; nothing is written before
//! the process ends. When the memory is full, the recording is over: it holds all callbacks up to that moment, and counts the rest.
//! A callback of a thread whose own storage is gone, or that is beyond the most threads, is lost alone, and counted too.

mod event;
mod file;
mod line;
mod memory;
mod strings;

use crate::descriptor::Descriptor;
use crate::introduction::Introduction;
use common::guard::contain;
use common::launch::{self, KernelTime};
use common::thread::ThreadCell;
use common::{control, log};
use event::{Event, Record, What};
use file::{Meta, Place};
use line::{Communicator, Words};
use memory::Memory;
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use strings::Strings;

/// How long the end of the process waits for what events tell.
const PATIENCE: Duration = Duration::from_millis(500);

static RECORDING: OnceLock<Option<Recording>> = OnceLock::new();

/// When a callback began, and which place it has among all.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    time: u64,
    sequence: u64,
}

/// The recording of this process.
#[derive(Debug)]
pub struct Recording {
    memory: Memory,
    strings: Strings,
    communicators: Mutex<Vec<Communicator>>,
    /// Callbacks so far, but for those that were missed.
    sequence: AtomicU64,
    /// Callbacks of threads that have no memory of their own.
    missed: AtomicU64,
    /// Set when the memory is full, and when the recording is written.
    over: AtomicBool,
    written: AtomicBool,
    mask: AtomicU64,
    version: u32,
    place: Place,
    pid: u32,
    real0: u64,
    mono0: u64,
}

impl Recording {
    /// Begins, to end when the process exits. What is in the way is told in one line; then there is no recording.
    pub fn begin(directory: &Path, bytes: usize, version: u32) -> Option<&'static Self> {
        let recording = RECORDING.get_or_init(|| {
            let made = Self::new(directory, bytes, version).and_then(|made| at_exit().map(|()| made));
            launch::watch(|number, time| {
                if let Some(recording) = RECORDING.get().and_then(Option::as_ref) {
                    recording.kernel(number, time);
                }
            });
            let complain = |error| log::warn(&format!("no recording in {}: {error}", directory.display()));
            made.map_err(complain).ok()
        });
        recording.as_ref()
    }

    fn new(directory: &Path, bytes: usize, version: u32) -> io::Result<Self> {
        Ok(Self {
            place: Place::new(directory)?,
            memory: Memory::new(bytes)?,
            strings: Strings::new()?,
            communicators: Mutex::default(),
            sequence: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            over: AtomicBool::new(false),
            written: AtomicBool::new(false),
            mask: AtomicU64::new(0),
            version,
            pid: std::process::id(),
            real0: nanoseconds(libc::CLOCK_REALTIME),
            mono0: nanoseconds(libc::CLOCK_MONOTONIC),
        })
    }

    /// A callback begins. `None` when it cannot be kept whatever it is: then it takes no place in the order, which must have no holes.
    pub fn moment(&self) -> Option<Moment> {
        if ThreadCell::current().is_none() {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let time = nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(self.mono0);
        Some(Moment { time, sequence: self.sequence.fetch_add(1, Ordering::Relaxed) })
    }

    /// NCCL made a communicator; `mask` is what it was asked for. Not for the hot path: it locks and allocates.
    pub fn init(&self, moment: Moment, context: u64, introduction: &Introduction<'_>, mask: u64) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        self.mask.store(mask, Ordering::Relaxed);
        let Introduction { id, name, nodes, ranks, rank, .. } = *introduction;
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let mut communicators = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        let introduction = communicators.len() as u32;
        communicators.push(Communicator { id, name, nodes, ranks, rank });
        self.keep(moment, 0, What::Init { context, introduction });
    }

    /// NCCL starts an event, and will call it `handle`.
    pub fn start(&self, moment: Moment, handle: u64, context: u64, parent: u64, start: &Descriptor<'_>) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let event = Event::new(&start.payload, &self.strings);
        self.keep(moment, start.rank, What::Start { context, handle, parent, event });
    }

    /// NCCL tells that an event's state changed.
    pub fn state(&self, handle: u64, state: i32, value: Option<u64>) {
        self.keep_now(What::State { handle, state, value });
    }

    /// NCCL stops an event.
    pub fn stop(&self, handle: u64) {
        self.keep_now(What::Stop { handle });
    }

    /// The two events around a launch have happened. On the collector's thread.
    fn kernel(&self, handle: u64, KernelTime { first, start: begin, stop: last, .. }: KernelTime) {
        self.keep_now(What::Kernel { handle, first, begin, last });
    }

    /// NCCL destroyed a communicator.
    pub fn finalize(&self, context: u64) {
        self.keep_now(What::Finalize { context });
    }

    fn keep_now(&self, what: What) {
        if let Some(moment) = self.moment() {
            self.keep(moment, 0, what);
        }
    }

    fn keep(&self, moment: Moment, rank: i32, what: What) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let Moment { time, sequence } = moment;
        if !self.memory.push(Record { sequence, time, thread: thread(), rank, what }) {
            // the file ends at the first place in the order that is missing, so what other threads still have is not worth keeping
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the file, once, in the process that began the recording.
    fn finish(&self) {
        if self.pid != std::process::id() || self.written.swap(true, Ordering::AcqRel) {
            return;
        }
        // what events tell of the last kernels is learnt by then
        control::flush(PATIENCE);
        let callbacks = self.sequence.load(Ordering::Acquire);
        self.over.store(true, Ordering::Relaxed);
        let communicators = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        let words = Words::new(&self.strings, &communicators);
        let meta = Meta {
            missed: self.missed.load(Ordering::Relaxed),
            version: self.version,
            mask: self.mask.load(Ordering::Relaxed),
            pid: self.pid,
            real0: self.real0,
            mono0: self.mono0,
        };
        match file::write(&self.place, &meta, callbacks, &self.memory, &words) {
            Ok(0) => log::info(&format!("recording in {}", self.place.file().display())),
            Ok(dropped) => log::info(&format!("recording in {}, without {dropped} callbacks", self.place.file().display())),
            Err(error) => log::warn(&format!("the recording could not be written to {}: {error}", self.place.file().display())),
        }
    }
}

/// Has the recording written when the process exits.
fn at_exit() -> io::Result<()> {
    extern "C" fn finish() {
        contain("exit", None, || RECORDING.get().and_then(Option::as_ref).map(Recording::finish));
    }
    // SAFETY: `finish` is a function of this library, which is never unloaded (linked with -z nodelete).
    if unsafe { libc::atexit(finish) } == 0 { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) }
}

/// Number of the calling thread, in the order of first calls.
fn thread() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static OWN: Cell<u32> = const { Cell::new(0) };
    }
    OWN.with(|own| {
        if own.get() == 0 {
            own.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        own.get()
    })
}

fn nanoseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for the answer.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn communicators_take_no_memory_once_it_is_over() {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-record-{}", std::process::id()));
        let recording = Recording::new(&directory, 1, 6).unwrap();
        let introduction = Introduction { id: 1, name: None, nodes: 1, ranks: 2, rank: 0, logger: std::ptr::null() };
        let init = || recording.init(recording.moment().unwrap(), 7, &introduction, 1);
        while !recording.over.load(Ordering::Relaxed) {
            init();
        }
        let kept = || recording.communicators.lock().unwrap().len();
        let before = kept();
        (0..100).for_each(|_| init());
        assert_eq!(kept(), before);
        std::fs::remove_dir(directory).unwrap();
    }
}
