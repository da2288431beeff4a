//! Whether anybody will ask for the timeline (Score-P, a job's gather, a replay), and why Score-P will not show it.

use once_cell::sync::OnceCell;
use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
static OBSTACLE: OnceCell<String> = OnceCell::new();

/// Announces that the timeline will be asked for: it is kept from the first communicator on.
pub fn want() {
    WANTED.store(true, Ordering::Relaxed);
}

/// Returns whether the timeline will be asked for.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Sets why Score-P will not show the timeline. The reason is logged when the first communicator is made, since a
/// program without NCCL need not know.
pub fn object(reason: String) {
    let _ = OBSTACLE.set(reason);
}

/// Returns why Score-P will not show the timeline, see [`object`].
pub fn obstacle() -> Option<&'static str> {
    OBSTACLE.get().map(String::as_str)
}
