//! Calls of Parquet's decoders, which trust lengths in places where a damaged file breaks them, and panic.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread is in a call whose panics are caught.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls a function. Returns `None` where it panics, of which nothing is printed: the caller names the file.
pub(super) fn contained<T>(call: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let others = take_hook();
        set_hook(Box::new(move |panic| {
            if !INSIDE.get() {
                others(panic);
            }
        }));
    });
    let before = INSIDE.replace(true);
    let returned = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(before);
    returned.ok()
}

#[cfg(test)]
mod tests {
    use super::contained;

    #[test]
    fn a_panic_returns_nothing() {
        assert_eq!(contained(|| contained(|| panic!("damaged"))), Some(None::<()>));
        assert_eq!(contained(|| 7), Some(7));
    }
}
