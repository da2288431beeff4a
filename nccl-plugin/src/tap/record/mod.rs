//! A recording (`NCCL_SCOREP_RECORD`): every callback of this process, in the format of captures, for replay elsewhere.
//!
//! ```text
//! callbacks ──► event (96 bytes) ──► memory (chunks, one thread each) ──► at intervals, and at exit: file (lines in true order, gzip)
//! ```
//! A callback takes its place in the order from one shared counter and keeps its arguments in memory. A thread of the
//! library writes them to the file, part by part, and frees the memory. No callback waits for it.
//!
//! When the memory is full, because the file system was slower than the job for too long, the recording is over. The
//! file holds all callbacks up to that moment and counts the other ones. A callback of a thread without a cell (too
//! many threads, or no memory for the cell) is lost alone, and counted too.

mod begun;
mod end;
mod event;
mod file;
mod grace;
mod memory;
mod numbers;
mod order;
mod strings;
mod thread;
mod writer;

use crate::interface::descriptor::Descriptor;
use crate::interface::introduction::Introduction;
use common::clock::{CLOCK, nanoseconds};
use common::launch::Anchor;
use common::launch::KernelTime;
use common::origin::{self, Origin};
use common::signal::Blocked;
use common::{control, log, missing, patience, shortage};
use end::{LAST, RecordingEnd};
use event::{CallbackFields, Record, recorded};
use file::{FileParts, complain};
use memory::{InsideCallback, Memory};
use recording::{IntroducedCommunicator, Meta, PROCESS};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use strings::RecordedStrings;
use writer::{RecordWriter, Span};

/// The name of the file in warnings.
const WRITTEN: &str = "the recording";

/// How long the end of the process waits for GPU times of the last kernels.
const PATIENCE: Duration = Duration::from_millis(500);

/// The time of a callback and its place among all callbacks. Once this is dropped, the callback's record is in memory
/// or never will be.
#[derive(Debug)]
pub struct RecordedMoment<'a> {
    time: u64,
    sequence: u64,
    inside: InsideCallback<'a>,
}

/// The recording of this process.
#[derive(Debug)]
pub struct Recording {
    memory: Memory,
    strings: RecordedStrings,
    /// Number of the first communicator that is not written yet, and all communicators from there on.
    communicators: Mutex<(u32, Vec<IntroducedCommunicator>)>,
    /// Number of callbacks so far, without the missed ones.
    sequence: AtomicU64,
    /// Number of callbacks of threads without a cell.
    missed: AtomicU64,
    /// Set when the memory is full and when the recording has ended.
    over: AtomicBool,
    /// When the memory became full, nanoseconds since `mono0`; 0 before.
    full: AtomicU64,
    ended: AtomicBool,
    mask: AtomicU64,
    version: u32,
    writer: Mutex<RecordWriter>,
    pid: u32,
    real0: u64,
    mono0: u64,
}

impl Recording {
    fn new(directory: &Path, bytes: usize, version: u32) -> io::Result<Self> {
        Ok(Self {
            writer: Mutex::new(RecordWriter::new(FileParts::new(directory)?)),
            memory: Memory::new(bytes)?,
            strings: RecordedStrings::new()?,
            communicators: Mutex::default(),
            sequence: AtomicU64::new(0),
            missed: AtomicU64::new(0),
            over: AtomicBool::new(false),
            full: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            mask: AtomicU64::new(0),
            version,
            pid: std::process::id(),
            real0: nanoseconds(libc::CLOCK_REALTIME),
            mono0: nanoseconds(libc::CLOCK_MONOTONIC),
        })
    }

    /// Takes the time and the place of a callback that begins. Returns `None` if the thread has no cell: then the
    /// callback counts as missed and takes no place in the order.
    pub fn moment(&self) -> Option<RecordedMoment<'_>> {
        let Some(inside) = self.memory.enter() else {
            self.missed.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let time = self.now();
        // the thread's mark is set before: whoever reads this counter sees the marks of all callbacks whose places are
        // below it
        Some(RecordedMoment { time, sequence: self.sequence.fetch_add(1, Ordering::AcqRel), inside })
    }

    /// Returns the nanoseconds since the recording began.
    fn now(&self) -> u64 {
        nanoseconds(libc::CLOCK_MONOTONIC).saturating_sub(self.mono0)
    }

    /// Records the init of a communicator; `mask` are the event types that NCCL is asked for. It locks and allocates,
    /// so it is not for frequent callbacks.
    pub fn init(&self, moment: RecordedMoment<'_>, context: u64, introduction: &Introduction<'_>, mask: u64) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        self.mask.store(mask, Ordering::Relaxed);
        let Introduction { id: comm, name, nodes: nnodes, ranks: nranks, rank, .. } = *introduction;
        let name = name.map(|name| name.to_string_lossy().into());
        let introduction = {
            let _whole = Blocked::all();
            let mut communicators = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
            let (first, communicators) = &mut *communicators;
            communicators.push(IntroducedCommunicator { comm, name, nnodes, nranks, rank });
            first.wrapping_add(communicators.len() as u32 - 1)
        };
        self.keep(moment, 0, CallbackFields::Init { context, introduction });
    }

    /// Records the start of an event that NCCL will call `handle`.
    pub fn start(&self, moment: RecordedMoment<'_>, handle: u64, context: u64, parent: u64, start: &Descriptor<'_>) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let event = recorded(&start.payload, &self.strings);
        self.keep(moment, start.rank, CallbackFields::Start { context, handle, parent, event });
    }

    /// Records a state change.
    pub fn state(&self, handle: u64, state: i32, value: Option<u64>) {
        self.keep_now(CallbackFields::State { handle, state, value });
    }

    /// Records the stop of an event.
    pub fn stop(&self, handle: u64) {
        self.keep_now(CallbackFields::Stop { handle });
    }

    /// Records the GPU times of a launch, and their anchor. Runs on the collector's thread.
    fn kernel(&self, handle: u64, time: KernelTime) {
        let KernelTime { first, start: begin, stop: last, before, anchor, .. } = time;
        // the recording's clock around the other one: who loses the processor in between says times that are farther
        // apart, not closer
        let (early, ticks, late) = (self.now(), CLOCK.now(), self.now());
        let scale = CLOCK.last_scale();
        let ago = |then: u64| scale.map(|scale| ticks.saturating_sub(then) as f64 * scale);
        let not_before = |then| ago(then).map(|ago| early.saturating_sub(ago.ceil() as u64));
        let not_behind = |then| ago(then).map(|ago| late.saturating_sub(ago as u64));
        if let Some(Anchor { from, until, time }) = anchor
            && let (Some(from), Some(until)) = (not_before(from), not_behind(until))
        {
            self.keep_now(CallbackFields::Anchor { handle, time, from, until });
        }
        self.keep_now(CallbackFields::Kernel { handle, first, begin, last, at: not_before(before) });
    }

    /// Records the end of a communicator.
    pub fn finalize(&self, context: u64) {
        self.keep_now(CallbackFields::Finalize { context });
    }

    fn keep_now(&self, what: CallbackFields) {
        if let Some(moment) = self.moment() {
            self.keep(moment, 0, what);
        }
    }

    fn keep(&self, moment: RecordedMoment<'_>, rank: i32, what: CallbackFields) {
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let RecordedMoment { time, sequence, ref inside } = moment;
        if !inside.push(Record { sequence, time, thread: inside.thread(), rank, what }) {
            // the recording ends for all threads: it promises all callbacks up to one moment
            self.end(time);
        }
    }

    /// Ends the recording because the memory is full. The callback logs nothing; the collector does so soon.
    #[cold]
    fn end(&self, time: u64) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.full.compare_exchange(0, time.max(1), Ordering::Relaxed, Ordering::Relaxed);
        missing::recording_is_full();
    }

    /// Returns the number of callbacks with a place in the order. From here on, the marks of their threads are visible.
    fn callbacks(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// Finds out whether there can be a file, so that the user learns of it early. If not, writes one line, and the
    /// recording is over.
    fn look_for_place(&self) {
        let Some(mut writer) = patience::hold(&self.writer, WRITTEN) else { return };
        if let Err(error) = writer.parts.look_for_place() {
            self.over.store(true, Ordering::Relaxed);
            writer.is_over = true;
            complain(writer.parts.place().parent().unwrap_or(Path::new(".")), &error);
        }
    }

    /// Writes all records whose places are below `callbacks`. Returns false if nothing more can be written.
    fn write(&self, callbacks: u64, end: Option<u64>) -> bool {
        let Some(mut writer) = patience::hold(&self.writer, WRITTEN) else { return false };
        if writer.is_over {
            return false;
        }
        // the lock is short: an init waits neither for the file nor for an allocation
        let (first, new) = {
            let mut communicators = self.communicators.lock().unwrap_or_else(PoisonError::into_inner);
            let (next, communicators) = &mut *communicators;
            let (first, new) = (*next, std::mem::take(communicators));
            *next = first.wrapping_add(new.len() as u32);
            (first, new)
        };
        for (place, communicator) in (0..).zip(new) {
            writer.communicators.insert(first.wrapping_add(place), communicator);
        }
        let Self { version, pid, real0, mono0, .. } = *self;
        let mut origin = Origin { interface: None, started: None, ..origin::own() };
        if end.is_none() {
            // before the end, the time of the end is unknown; the last line has it
            origin.ended = None;
        }
        let [mask, full] = [&self.mask, &self.full].map(|number| number.load(Ordering::Relaxed));
        let (full, origin) = (Some(full).filter(|&full| full > 0), origin.known_within(PROCESS));
        let meta = Meta { api: version, mask, pid: pid.cast_signed(), real0, mono0, dropped: 0, full, origin };
        let span = Span { callbacks, missed: self.missed.load(Ordering::Relaxed), end };
        let was_elsewhere = writer.parts.is_elsewhere();
        let written = writer.write(&self.memory, &self.strings, meta, span);
        let place = writer.parts.place().display();
        if writer.parts.is_elsewhere() && !was_elsewhere {
            log::warn(&format!(
                "the recording of this process is in {place}: the name without the last number is taken"
            ));
        }
        match written {
            Ok(0) if end.is_some() => log::info(&format!("recording in {place}")),
            Ok(dropped) if end.is_some() => log::info(&format!("recording in {place}, without {dropped} callbacks")),
            Ok(_) => {}
            Err(error) => {
                self.over.store(true, Ordering::Relaxed);
                log::warn(&format!("the recording could not be written to {place}: {error}"));
            }
        }
        !writer.is_over
    }

    /// Has the rest written, once, in the process that began the recording.
    fn finish(&self) {
        let is_elsewhere = self.pid != std::process::id();
        if is_elsewhere || shortage::is_out_of_memory() || self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        // by then, the GPU times of the last kernels are known
        control::flush(PATIENCE);
        let callbacks = self.callbacks();
        self.over.store(true, Ordering::Relaxed);
        // if the collector had no time for it
        missing::tell_of_full_recording();
        if let Err(end) = LAST.have_done(RecordingEnd { callbacks, time: self.now() }, WRITTEN) {
            self.write_last(end);
        }
    }

    fn write_last(&self, RecordingEnd { callbacks, time }: RecordingEnd) {
        self.write(callbacks, Some(time));
    }
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
        let kept = || recording.communicators.lock().unwrap().1.len();
        let before = kept();
        (0..100).for_each(|_| init());
        assert_eq!(kept(), before);
        assert!(!directory.exists());
    }
}
