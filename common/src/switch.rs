//! The switch that takes the plugin out of a job: after a fault of its own, and in a forked child.
//!
//! When it is off, nothing is recorded and every callback returns at once; counters stay as they are.

use crate::log;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static OFF: AtomicBool = AtomicBool::new(false);

/// Whether the plugin is switched off.
#[inline]
pub fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Switches the plugin off after a fault in one of its callbacks, and says so once.
#[cold]
pub fn off_after_fault(callback: &str) {
    if !OFF.swap(true, Ordering::Relaxed) {
        log::warn(&format!(
            "a fault in {callback} was stopped; the plugin is off from here on, the job goes on. Please report this."
        ));
    }
}

/// A panic of ours prints no report of its own, from the first callback on. Later calls cost one look.
#[inline]
pub fn quiet() {
    static ONCE: Once = Once::new();
    // this library's own copy of the standard library: an application's hook is another one
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// Readies the process: a forked child records nothing, since it has no collector. Called once, when recording begins.
pub fn prepare() {
    static ONCE: Once = Once::new();
    extern "C" fn in_child() {
        OFF.store(true, Ordering::Relaxed);
    }
    ONCE.call_once(|| {
        // SAFETY: `in_child` is a function of this library, which is never unloaded, and does nothing but store a flag.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Panics where a test wants it (`NCCL_SCOREP_PANIC=callback`); nothing in a release build.
#[inline]
pub fn fault(callback: &str) {
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
