//! Calls of NCCL's API as regions on the calling thread, for whoever wants to know when a thread goes in and comes out.
//! Off, that costs a callback one load.

use crate::event::name::Name;
use once_cell::sync::OnceCell;
use std::cell::Cell;

/// Where in NCCL's API a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// In a call of that function.
    Call(Name),
    /// Where a group ends, or what is in it is launched.
    GroupEnd,
}

/// Told on the calling thread, outside of everything that the collector waits for.
#[derive(Debug, Clone, Copy)]
pub struct Watcher {
    /// The thread went in there. True when it will be told of the end, too.
    pub entered: fn(Region) -> bool,
    /// The thread came out of there.
    pub left: fn(Region),
}

static WATCHER: OnceCell<Watcher> = OnceCell::new();

thread_local! {
    /// Handle of the event that the thread is inside of (0 for none), and where that is.
    static INSIDE: Cell<(u64, Region)> = const { Cell::new((0, Region::GroupEnd)) };
}

/// From here on the watcher is told. Only the first one is.
pub fn watch(watcher: Watcher) {
    let _ = WATCHER.set(watcher);
}

/// An event that is told of with that handle has started there.
#[inline]
pub(crate) fn started(handle: u64, region: impl FnOnce() -> Region) {
    if let (true, Some(watcher)) = (handle != 0, WATCHER.get()) {
        enter(watcher, handle, region());
    }
}

#[cold]
fn enter(watcher: &Watcher, handle: u64, region: Region) {
    let _ = INSIDE.try_with(|inside| {
        let (before, region_before) = inside.replace((0, Region::GroupEnd));
        if before != 0 {
            // NCCL never told of its end: an error ended the call
            (watcher.left)(region_before);
        }
        if (watcher.entered)(region) {
            inside.set((handle, region));
        }
    });
}

/// An event stops that may be one of those.
#[inline]
pub(crate) fn stopped(handle: u64) {
    if let (true, Some(watcher)) = (handle != 0, WATCHER.get()) {
        leave(watcher, handle);
    }
}

#[cold]
fn leave(watcher: &Watcher, handle: u64) {
    let _ = INSIDE.try_with(|inside| {
        let (open, region) = inside.get();
        if open == handle {
            inside.set((0, Region::GroupEnd));
            (watcher.left)(region);
        }
    });
}
