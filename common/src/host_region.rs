//! Calls of NCCL's API as regions on the calling thread, for whoever wants to know when a thread goes in and comes out. Off, that costs
//! a callback one load.

use crate::event::Call;
use crate::name::Name;
use once_cell::sync::OnceCell;
use std::cell::Cell;

/// Told on the calling thread, outside of everything that the collector waits for.
#[derive(Debug, Clone, Copy)]
pub struct Watcher {
    /// The thread went into a function. True when it will be told of the end, too.
    pub entered: fn(Name) -> bool,
    /// The thread came out of that function.
    pub left: fn(Name),
}

static WATCHER: OnceCell<Watcher> = OnceCell::new();

thread_local! {
    /// Handle of the call that the thread is inside of (0 for none), and its function.
    static INSIDE: Cell<(u64, Name)> = const { Cell::new((0, Name::none())) };
}

/// From here on the watcher is told. Only the first one is.
pub fn watch(watcher: Watcher) {
    let _ = WATCHER.set(watcher);
}

/// A call has started and got that handle.
#[inline]
pub(crate) fn started(handle: u64, call: &Call<'_>) {
    if let (true, Some(watcher)) = (handle != 0, WATCHER.get()) {
        enter(watcher, handle, call);
    }
}

#[cold]
fn enter(watcher: &Watcher, handle: u64, call: &Call<'_>) {
    let function = Name::of(call.function);
    let _ = INSIDE.try_with(|inside| {
        let (before, function_before) = inside.replace((0, Name::none()));
        if before != 0 {
            // NCCL never told of its end: an error ended the call
            (watcher.left)(function_before);
        }
        if (watcher.entered)(function) {
            inside.set((handle, function));
        }
    });
}

/// An event stops that may be a call.
#[inline]
pub(crate) fn stopped(handle: u64) {
    if let (true, Some(watcher)) = (handle != 0, WATCHER.get()) {
        leave(watcher, handle);
    }
}

#[cold]
fn leave(watcher: &Watcher, handle: u64) {
    let _ = INSIDE.try_with(|inside| {
        let (open, function) = inside.get();
        if open == handle {
            inside.set((0, Name::none()));
            (watcher.left)(function);
        }
    });
}
