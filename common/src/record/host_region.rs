//! Calls of NCCL's API as regions of the calling thread, for a watcher that wants to know when a thread enters and
//! leaves. Without a watcher, a callback pays one load.

use crate::event::name::NcclName;
use once_cell::sync::OnceCell;
use std::cell::Cell;

/// Part of NCCL's API that a thread is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRegion {
    /// A call of that function.
    Call(NcclName),
    /// The end of a group, or the launch of its kernels.
    GroupEnd,
}

/// Functions called on the thread itself, outside of all code that the collector waits for.
#[derive(Debug, Clone, Copy)]
pub struct RegionWatcher {
    /// Called when the thread enters a region. Returns true if it wants the end, too.
    pub entered: fn(HostRegion) -> bool,
    /// Called when the thread leaves the region.
    pub left: fn(HostRegion),
}

static WATCHER: OnceCell<RegionWatcher> = OnceCell::new();

thread_local! {
    /// Handle of the event that the thread is inside of (0 for none), and its region.
    static INSIDE: Cell<(u64, HostRegion)> = const { Cell::new((0, HostRegion::GroupEnd)) };
}

/// Sets the watcher. Only the first one counts.
pub fn watch(watcher: RegionWatcher) {
    let _ = WATCHER.set(watcher);
}

/// Reports that an event with that handle has started in a region. Handle 0 is not reported.
#[inline]
pub(crate) fn started(handle: u64, region: impl FnOnce() -> HostRegion) {
    if let (true, Some(watcher)) = (handle != 0, WATCHER.get()) {
        enter(watcher, handle, region);
    }
}

#[cold]
#[inline(never)]
fn enter(watcher: &RegionWatcher, handle: u64, region: impl FnOnce() -> HostRegion) {
    let region = region();
    let _ = INSIDE.try_with(|inside| {
        let (before, region_before) = inside.replace((0, HostRegion::GroupEnd));
        if before != 0 {
            // NCCL never reported the end of that region: an error ended the call
            (watcher.left)(region_before);
        }
        if (watcher.entered)(region) {
            inside.set((handle, region));
        }
    });
}

/// Reports the stop of an event, if the thread is inside of it.
#[inline]
pub(crate) fn stopped(handle: u64) {
    if let (true, Some(watcher)) = (handle != 0, WATCHER.get()) {
        leave(watcher, handle);
    }
}

#[cold]
fn leave(watcher: &RegionWatcher, handle: u64) {
    let _ = INSIDE.try_with(|inside| {
        let (open, region) = inside.get();
        if open == handle {
            inside.set((0, HostRegion::GroupEnd));
            (watcher.left)(region);
        }
    });
}
