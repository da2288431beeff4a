//! The states of the threads that progress NCCL's proxy operations.

use super::ignore;
use crate::event::handle::{Handle, Shared};
use crate::event::progress::ProgressChange;
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;

impl Recorder {
    /// Handles a change of a progress thread's state. NCCL reports it on that thread.
    // not inlined: the other states need none of it
    #[inline(never)]
    pub(super) fn progress(&self, cell: &ThreadCell, handle: u64, change: ProgressChange) {
        if Handle::shared(handle) == Some(Shared::ProxyCtrl) {
            cell.progress.change(change, cell.now());
        } else if self.under_way(handle).is_none() {
            ignore(cell, handle);
        }
    }
}
