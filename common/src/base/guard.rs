//! Containment of panics: a panic ends at the callback and does not reach the measured application.
//!
//! An `extern "C"` function that unwinds aborts the process, and a `catch_unwind` further out does not help. So each
//! callback runs its whole body inside [`guard`] and names the result that its caller gets after a panic.

use crate::base::cancel::Uncancelled;
use crate::base::{reserve, switch};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body` for the callback named `callback`. Returns its result, or `on_panic` if it panicked; then the plugin is
/// switched off and every later call returns its `on_panic`.
///
/// The payload of the panic is leaked, because its destructor may panic again.
///
/// The caller makes `on_panic` before anything can fail. It should be plain data, like every C type: when `body`
/// succeeds, `on_panic` is dropped outside of the protection.
#[inline]
pub fn guard<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    if switch::is_off() {
        // the thread that saw the failed allocation may report nothing any more
        switch::tell_out_of_memory();
        return on_panic;
    }
    contain(callback, on_panic, body)
}

/// Like [`guard`], for callbacks that NCCL makes for every event, while the plugin is on. They record only after a
/// callback with [`guard`] or [`contain`] has begun the recording, and that callback has already set the panic hook.
#[inline(always)]
pub fn guard_event<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    catch(callback, on_panic, body)
}

/// Like [`guard`], but runs `body` also while the plugin is off: for calls on whose effect somebody else waits.
#[inline]
pub fn contain<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    // waiting for a file or another thread is a cancellation point
    let _whole = Uncancelled::new();
    switch::quiet();
    if !reserve::prepare() {
        switch::out_of_memory();
    }
    let result = catch(callback, on_panic, body);
    switch::tell_out_of_memory();
    result
}

#[inline(always)]
fn catch<R>(callback: &str, on_panic: R, body: impl FnOnce() -> R) -> R {
    // AssertUnwindSafe: the bodies share only atomics, which are never half-changed, and values behind locks, which a
    // panic poisons or whose users accept old contents. The body's own values are dropped during unwinding.
    let body = || {
        switch::inject_fault(callback);
        body()
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => {
            // Dropping the payload would run an unknown destructor, which may panic again. The leak is harmless.
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

    // a panic in `guard` switches the plugin off for all tests of this process
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
        // Without the panic hook, like a panic that was passed on from another thread.
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
