//! A recording (`NCCL_SCOREP_RECORD`): every callback of this process, in the format of captures, for replay elsewhere.
//!
//! ```text
//! callbacks ──► event (88 bytes) ──► memory (chunks, one thread each) ──► at exit: file (lines in true order, gzip)
//! ```
//! Callbacks take their places in the order by one shared counter and keep what they were told in memory; nothing is written before
//! the process ends. When the memory is full, the recording is over: it holds all callbacks up to that moment, and counts the rest.

mod event;
mod file;
mod line;
mod memory;
mod strings;

use crate::descriptor::Descriptor;
use crate::tap::Introduction;
use common::log;
use event::{Event, Record, What};
use file::{Meta, Place};
use line::{Communicator, Words};
use memory::Memory;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use strings::Strings;

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
    /// Callbacks so far.
    sequence: AtomicU64,
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
        let begin = || -> io::Result<Self> {
            let place = Place::new(directory)?;
            let (memory, strings) = (Memory::new(bytes)?, Strings::new()?);
            at_exit()?;
            Ok(Self {
                memory,
                strings,
                communicators: Mutex::default(),
                sequence: AtomicU64::new(0),
                over: AtomicBool::new(false),
                written: AtomicBool::new(false),
                mask: AtomicU64::new(0),
                version,
                place,
                pid: std::process::id(),
                real0: nanoseconds(libc::CLOCK_REALTIME),
                mono0: nanoseconds(libc::CLOCK_MONOTONIC),
            })
        };
        let recording = RECORDING.get_or_init(|| {
            let complain = |error| log::warn(&format!("no recording in {}: {error}", directory.display()));
            begin().map_err(complain).ok()
        });
        recording.as_ref()
    }

    /// A callback begins.
    pub fn moment(&self) -> Moment {
        let time = nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(self.mono0);
        Moment { time, sequence: self.sequence.fetch_add(1, Ordering::Relaxed) }
    }

    /// NCCL made a communicator; `mask` is what it was asked for. Not for the hot path: it locks and allocates.
    pub fn init(&self, moment: Moment, context: u64, introduction: &Introduction<'_>, mask: u64) {
        self.mask.store(mask, Ordering::Relaxed);
        let Introduction { id, name, nodes, ranks, rank, .. } = *introduction;
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let mut communicators = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        let introduction = communicators.len() as u32;
        communicators.push(Communicator { id, name, nodes, ranks, rank });
        self.keep(moment, What::Init { context: context as u32, introduction });
    }

    /// NCCL starts an event. Handles and contexts are serials, 0 for what is none of ours.
    pub fn start(&self, handle: u64, context: u64, parent: u64, start: &Descriptor<'_>) {
        let moment = self.moment();
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let event = Event::new(&start.payload, &self.strings);
        self.keep(moment, What::Start { context: context as u32, rank: start.rank, handle, parent, event });
    }

    /// NCCL tells that an event's state changed.
    pub fn state(&self, handle: u64, state: i32, value: Option<u64>) {
        self.keep(self.moment(), What::State { handle, state, value });
    }

    /// NCCL stops an event.
    pub fn stop(&self, handle: u64) {
        self.keep(self.moment(), What::Stop { handle });
    }

    /// NCCL destroyed a communicator.
    pub fn finalize(&self, context: u64) {
        self.keep(self.moment(), What::Finalize { context: context as u32 });
    }

    fn keep(&self, moment: Moment, what: What) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let Moment { time, sequence } = moment;
        if !self.memory.push(Record { sequence, time, thread: thread(), what }) {
            // the file ends at the first place in the order that is missing, so what other threads still have is not worth keeping
            self.over.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the file, once, in the process that began the recording.
    fn finish(&self) {
        if self.pid != std::process::id() || self.written.swap(true, Ordering::AcqRel) {
            return;
        }
        let callbacks = self.sequence.load(Ordering::Acquire);
        self.over.store(true, Ordering::Relaxed);
        let communicators = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
        let words = Words::new(&self.strings, &communicators);
        let meta = Meta {
            version: self.version,
            mask: self.mask.load(Ordering::Relaxed),
            pid: self.pid,
            real0: self.real0,
            mono0: self.mono0,
        };
        match file::write(&self.place, &meta, callbacks, &self.memory, &words) {
            Ok(0) => log::info(&format!("recording in {}", self.place.file().display())),
            Ok(dropped) => {
                log::info(&format!("recording in {}, without the last {dropped} callbacks", self.place.file().display()))
            }
            Err(error) => log::warn(&format!("the recording could not be written to {}: {error}", self.place.file().display())),
        }
    }
}

/// Has the recording written when the process exits.
fn at_exit() -> io::Result<()> {
    extern "C" fn finish() {
        let finish = || RECORDING.get().and_then(Option::as_ref).map(Recording::finish);
        if let Err(payload) = catch_unwind(AssertUnwindSafe(finish)) {
            // its destructor is of unknown origin
            std::mem::forget(payload);
        }
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
