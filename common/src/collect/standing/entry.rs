//! An operation as the standing knows it: from its call, from its start, or from both.

use crate::clock::wall::Wall;
use crate::event::datatype::Datatype;
use crate::event::name::NcclName;
use crate::status;

/// See the module. Times are ticks.
#[derive(Debug, Clone)]
pub(super) struct StandingEntry {
    /// Handle of its call; 0 without one.
    pub call: u64,
    /// Handle of the operation; 0 until it starts.
    pub operation: u64,
    /// Place of its call in the order of starts.
    pub called: Option<u64>,
    /// Its place in the order of starts; `u64::MAX` until it starts.
    pub order: u64,
    /// Order of its kernel's first operation.
    pub first: u64,
    pub number: Option<u64>,
    pub function: NcclName,
    pub bytes: u64,
    /// Type of the elements, as the caller passes it.
    pub datatype: Datatype,
    pub root: Option<i32>,
    pub peer: Option<i32>,
    pub is_collective: bool,
    /// Whether it has no operation, or one of which NCCL reports the call alone.
    pub is_silent: bool,
    /// Whether copy engines do it, without kernel channels.
    pub is_copied: bool,
    /// Number of kernel channels that end with it.
    pub channels: u8,
    pub entered: u64,
    /// Return of its call.
    pub returned: Option<u64>,
    /// Number of kernel channels that have begun, and that have ended.
    pub kernels: [u32; 2],
    pub begun: Option<u64>,
    pub finished: Option<u64>,
    /// Whether its end on the GPU is to be seen.
    pub is_followed: bool,
    /// Whether kernel channels show it.
    pub has_channels: bool,
}

impl StandingEntry {
    pub(super) fn new(function: NcclName, bytes: u64, datatype: Datatype, root: Option<i32>, entered: u64) -> Self {
        Self {
            call: 0,
            operation: 0,
            called: None,
            order: u64::MAX,
            first: u64::MAX,
            number: None,
            function,
            bytes,
            datatype,
            root: root.filter(|_| function.has_root()),
            peer: None,
            is_collective: true,
            is_silent: false,
            is_copied: false,
            channels: 1,
            entered,
            returned: None,
            kernels: [0; 2],
            begun: None,
            finished: None,
            is_followed: false,
            has_channels: false,
        }
    }

    /// Returns order and time of the call of a collective whose operation is still to come, or is never reported. A call
    /// without elements has none.
    pub(super) fn lacks_operation(&self) -> Option<(u64, u64)> {
        let lacks = self.call != 0 && self.operation == 0 && self.is_collective && !self.is_silent && self.bytes > 0;
        self.called.filter(|_| lacks).map(|order| (order, self.entered))
    }

    /// Returns whether nothing more is to be learnt of it.
    pub(super) fn is_over(&self) -> bool {
        self.finished.is_some() || !self.is_followed
    }

    /// Returns whether all of its kernel channels have ended.
    pub(super) fn has_run(&self) -> bool {
        self.kernels[1] >= self.channels.into() && self.kernels[1] >= self.kernels[0]
    }

    /// Returns the number of elements, if their type is known.
    fn count(&self) -> Option<u64> {
        // more bytes than fit are u64::MAX
        Some(self.bytes).filter(|&bytes| bytes < u64::MAX)?.checked_div(self.datatype.element_bytes())
    }

    /// Returns its state for the status file; the GPU's part of it only where NCCL reports the GPU's.
    pub(super) fn status(&self, wall: Wall, sees_gpu: bool) -> status::StatusOperation {
        status::StatusOperation {
            number: self.number,
            func: self.function.text(),
            count: self.count(),
            bytes: self.bytes,
            datatype: self.datatype.name().map(Into::into),
            peer: self.peer,
            root: self.root,
            entered: wall.at(self.entered),
            begun: self.begun.filter(|_| sees_gpu).map(|time| wall.at(time)),
            finished: self.finished.filter(|_| sees_gpu).map(|time| wall.at(time)),
        }
    }
}
