//! Waits of a test for what another process does.

use std::time::{Duration, Instant};

/// Whoever takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Waits until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} takes too long");
        std::thread::sleep(Duration::from_millis(20));
    }
}
