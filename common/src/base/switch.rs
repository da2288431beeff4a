//! The switch that turns the plugin off: after a fault of its own, in a forked child, and when memory has run out.
//!
//! While the plugin is off, it records nothing and every callback returns at once. Events recorded before are still
//! evaluated if there is memory.

use crate::base::pause::pause_while;
use crate::base::{log, notes, shortage};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Returns whether the plugin is switched off.
#[inline(always)]
pub fn is_off() -> bool {
    IS_OFF.load(Ordering::Relaxed)
}

/// Switches the plugin off. Returns whether it was off before.
fn off() -> bool {
    IS_OFF.swap(true, Ordering::Relaxed)
}

/// Switches the plugin off because memory has run out. [`tell_out_of_memory`] reports it later, because the failed
/// allocation may be anywhere.
#[cold]
pub(crate) fn out_of_memory() {
    off();
    shortage::note();
}

/// Set once the line is written that says that memory has run out.
static SAID: AtomicBool = AtomicBool::new(false);

/// Warns once if memory has run out. Called where none of the library's work is under way on the thread.
#[inline]
pub(crate) fn tell_out_of_memory() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if shortage::is_out_of_memory() && !TOLD.swap(true, Ordering::Relaxed) {
        log::warn_of_no_memory(
            "the process is out of memory: nothing of NCCL is recorded from here on, and no files are written; the job goes on",
        );
        SAID.store(true, Ordering::Release);
    }
}

/// Waits for the line of [`tell_out_of_memory`], which another thread may be about to write, for at most 200 ms. For the
/// end of the process.
pub(crate) fn await_line() {
    pause_while(200, || shortage::is_out_of_memory() && !SAID.load(Ordering::Acquire));
}

/// The line that says why the plugin is off after a fault.
static REASON: OnceLock<String> = OnceLock::new();

/// Returns why the plugin is off, if it is.
pub(crate) fn reason() -> Option<String> {
    let unsaid = || "the plugin is off: memory has run out".to_owned();
    is_off().then(|| REASON.get().cloned().unwrap_or_else(unsaid))
}

/// Place and message of the first fault.
static FAULT: OnceLock<String> = OnceLock::new();

/// Switches the plugin off after a fault in one of its callbacks, and warns once. Events recorded before the fault
/// count.
#[cold]
pub fn off_after_fault(callback: &str) {
    if !off() {
        let fault = FAULT.get().map_or("unknown place", String::as_str);
        let line = format!(
            "a fault in {callback} was stopped ({fault}); the plugin is off from here on, the job goes on. Please report this."
        );
        log::warn(&line);
        let _ = REASON.set(line.clone());
        notes::add(line);
    }
}

/// Keeps panics of this library from printing a report, from the first callback on. Later calls cost one atomic load.
#[inline]
pub fn quiet() {
    // no `Once`: a child that is forked while `Once` runs would wait for its end for ever
    static DONE: AtomicBool = AtomicBool::new(false);
    // the hook belongs to this library's own copy of the standard library; an application in Rust has its own hook
    if !DONE.load(Ordering::Relaxed) && !DONE.swap(true, Ordering::Relaxed) {
        std::panic::set_hook(Box::new(|panic| {
            let payload = panic.payload();
            let text = payload
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let what = text.unwrap_or("no message");
            let _ = FAULT.set(panic.location().map_or_else(|| what.to_owned(), |place| format!("{place}: {what}")));
        }));
    }
}

/// Switches recording off in forked children, which have no collector. Must be called before recording begins.
pub fn prepare() {
    // no `Once`: a child that is forked while `Once` runs would wait for its end for ever
    static DONE: AtomicBool = AtomicBool::new(false);
    extern "C" fn in_child() {
        off();
    }
    if !DONE.swap(true, Ordering::Relaxed) {
        // SAFETY: `in_child` is a function of this library, which is never unloaded, and does nothing but set a flag.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0 {
            out_of_memory();
        }
    }
}

/// Panics if a test asks for it (`NCCL_SCOREP_PANIC=callback`). Does nothing in a release build.
#[inline]
pub fn inject_fault(callback: &str) {
    #[cfg(debug_assertions)]
    {
        static WANTED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
        let wanted = WANTED.get_or_init(|| std::env::var("NCCL_SCOREP_PANIC").ok());
        #[expect(clippy::panic, reason = "that is what the test asks for")]
        if wanted.as_deref() == Some(callback) {
            panic!("asked for by a test");
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = callback;
}
