//! The one way out of a callback: a panic ends here, not in the application that is being measured.
//!
//! An `extern "C"` function that unwinds aborts the process, and a `catch_unwind` further out does
//! not help. So each callback puts its whole body inside [`guard`] and says what to tell Score-P
//! should it fail.

use crate::base::cancel::Uncancelled;
use crate::base::{reserve, switch};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`, the callback of that name; gives its result, or `on_panic` if it panicked. Then the plugin is switched
/// off, and `on_panic` is the answer to everything.
///
/// After a panic nothing is dropped here: a destructor may be what failed.
///
/// `on_panic` is made before anything can go wrong. It should be plain data, as everything C can
/// take is: when `body` succeeds it is dropped, outside of the protection.
#[inline]
pub fn guard<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    if switch::is_off() {
        // nobody else may be left who says it
        switch::tell_out_of_memory();
        return on_panic;
    }
    contain(callback, on_panic, body)
}

/// [`guard`] for the callbacks that come for every event. They do nothing before a callback with a guard of the other
/// kind has begun the recording, which has quieted panics.
#[inline(always)]
pub fn guard_event<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    if switch::is_off() {
        return on_panic;
    }
    catch(callback, on_panic, body)
}

/// [`guard`], whether the plugin is on or off: for what others wait for.
#[inline]
pub fn contain<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    switch::quiet();
    if !reserve::prepare() {
        switch::out_of_memory();
    }
    // what waits in here, for a file or another thread, is where a thread may be cancelled
    let _whole = Uncancelled::new();
    let result = catch(callback, on_panic, body);
    switch::tell_out_of_memory();
    result
}

#[inline(always)]
fn catch<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    // AssertUnwindSafe: what the bodies share are atomics, which have no half-made state, and
    // values behind locks that are poisoned by a panic or whose users expect old contents. What
    // they own is gone with them.
    let body = || {
        switch::inject_fault(callback);
        body()
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => {
            // Dropping it would run a destructor of unknown origin, which may panic again. A leak
            // is harmless.
            forget(payload);
            switch::off_after_fault(callback);
            on_panic
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{panic_any, resume_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    // the first panic switches the plugin off for all tests of this process
    use super::{contain, guard};
    use crate::base::shortage::tests::without_memory;
    use crate::base::{shortage, switch};

    #[test]
    fn want_of_memory_is_said_by_the_next_callback_though_the_plugin_is_off() {
        let said = without_memory(
            "base::guard::tests::want_of_memory_is_said_by_the_next_callback_though_the_plugin_is_off",
            || {
                switch::out_of_memory();
                assert!((0..2).all(|_| guard("test", true, || false)));
            },
        );
        assert!(shortage::is_out_of_memory() || said.matches("out of memory").count() == 1, "{said}");
    }

    #[test]
    fn result_passes_through() {
        let word = String::from("kept");
        assert_eq!(contain("test", 0, || word.len()), 4);
    }

    #[test]
    fn panic_becomes_the_fallback() {
        assert_eq!(contain("test", -1, || panic!("on purpose")), -1);
    }

    #[test]
    fn arithmetic_and_indexing_are_caught_too() {
        let empty: Vec<u64> = Vec::new();
        assert_eq!(contain("test", 7, || empty[empty.len()]), 7);
    }

    #[test]
    fn what_the_body_owns_is_dropped() {
        static DROPPED: AtomicU32 = AtomicU32::new(0);
        struct Owned;
        impl Drop for Owned {
            fn drop(&mut self) {
                DROPPED.fetch_add(1, Ordering::Relaxed);
            }
        }

        let owned = Owned;
        contain("test", (), move || {
            let _owned = owned;
            panic!("on purpose");
        });
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn payload_that_panics_when_dropped_does_no_harm() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("second panic");
            }
        }

        assert!(!contain("test", false, || panic_any(Bomb)));
        // Without the panic hook, as a panic handed on from another thread comes.
        assert!(!contain("test", false, || resume_unwind(Box::new(Bomb))));
    }

    #[test]
    fn inner_guard_answers_first() {
        assert_eq!(contain("test", 1, || contain("test", 2, || panic!("on purpose")) + 10), 12);
    }

    #[test]
    fn c_function_returns_normally() {
        extern "C" fn callback(id: i32) -> u64 {
            contain("test", 0, || {
                assert!(id >= 0, "no such metric");
                u64::from(id.unsigned_abs())
            })
        }

        assert_eq!(callback(3), 3);
        assert_eq!(callback(-1), 0);
    }
}
