//! The switch that takes the plugin out of a job: after a fault of its own, in a forked child, and where there is no
//! memory.
//!
//! When it is off, nothing is recorded and every callback returns at once; what was recorded before is taken in, if
//! there is memory.

use crate::base::{log, notes, shortage};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static OFF: AtomicBool = AtomicBool::new(false);

/// Whether the plugin is switched off.
#[inline]
pub fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Switches the plugin off since there is no memory. It is told later ([`tell_out_of_memory`]): whoever wants memory
/// may be anywhere.
#[cold]
pub(crate) fn out_of_memory() {
    OFF.store(true, Ordering::Relaxed);
    shortage::note();
}

/// Says once that there was no memory, if so. Called where nothing is under way.
#[inline]
pub(crate) fn tell_out_of_memory() {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if shortage::is_out_of_memory() && !TOLD.swap(true, Ordering::Relaxed) {
        log::warn_of_no_memory(
            "the process is out of memory: nothing of NCCL is recorded from here on, and no files are written; the job goes on",
        );
    }
}

/// Where the first fault was, and what.
static FAULT: OnceLock<String> = OnceLock::new();

/// Switches the plugin off after a fault in one of its callbacks, and says so once. What was recorded before counts.
#[cold]
pub fn off_after_fault(callback: &str) {
    if !OFF.swap(true, Ordering::Relaxed) {
        let fault = FAULT.get().map_or("unknown place", String::as_str);
        let line = format!(
            "a fault in {callback} was stopped ({fault}); the plugin is off from here on, the job goes on. Please report this."
        );
        log::warn(&line);
        notes::add(line);
    }
}

/// A panic of ours prints no report of its own, from the first callback on. Later calls cost one look.
#[inline]
pub fn quiet() {
    // no `Once`: a child that was forked within it would wait for its end for ever
    static DONE: AtomicBool = AtomicBool::new(false);
    // this library's own copy of the standard library: an application's hook is another one
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

/// Readies the process: a forked child records nothing, since it has no collector. Called before recording begins.
pub fn prepare() {
    // no `Once`: a child that was forked within it would wait for its end for ever
    static DONE: AtomicBool = AtomicBool::new(false);
    extern "C" fn in_child() {
        OFF.store(true, Ordering::Relaxed);
    }
    if !DONE.swap(true, Ordering::Relaxed) {
        // SAFETY: `in_child` is a function of this library, which is never unloaded, and does nothing but store a flag.
        if unsafe { libc::pthread_atfork(None, None, Some(in_child)) } != 0 {
            out_of_memory();
        }
    }
}

/// Panics where a test wants it (`NCCL_SCOREP_PANIC=callback`); nothing in a release build.
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
