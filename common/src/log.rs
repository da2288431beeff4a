//! Lines for a person, on standard error. Never called from a callback that NCCL makes while it works.

use crate::config::Verbosity;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering};

static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Warn as u8);

/// Sets what is written from here on.
pub fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

/// Something went wrong: what, where, and the way out.
pub fn warn(line: &str) {
    write(Verbosity::Warn, "warning: ", line);
}

/// Something worth knowing.
pub fn info(line: &str) {
    write(Verbosity::Info, "", line);
}

fn write(level: Verbosity, kind: &str, line: &str) {
    if VERBOSITY.load(Ordering::Relaxed) >= level as u8 {
        // one write, so that lines of many ranks do not mix; a closed standard error is no reason to fail
        let text = format!("scorep-nccl: {kind}{line}\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
