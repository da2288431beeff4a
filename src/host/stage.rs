//! The recording as it is played: the next call, and whose turn it is.

use super::HostError;
use super::nccl::Nccl;
use crate::capture::{Call, Content, Contents};

/// Everything the threads share; whoever has the turn has it.
pub(super) struct Stage {
    pub(super) nccl: Nccl,
    contents: Contents,
    next: Option<Turn>,
    /// Calls made.
    pub(super) made: usize,
    /// Why no more are made.
    pub(super) failed: Option<HostError>,
}

/// A call that is to be made.
pub(super) struct Turn {
    pub(super) call: Call,
    /// When the line before it was written, if that makes no call: the clock moves on past it.
    pub(super) passed: Option<u64>,
}

impl Stage {
    /// Before the first call.
    pub(super) fn new(nccl: Nccl, contents: Contents) -> Self {
        let mut stage = Self { nccl, contents, next: None, made: 0, failed: None };
        stage.read();
        stage
    }

    /// Whether another thread makes the next call.
    pub(super) fn is_of_another(&self, tid: u32) -> bool {
        self.next_thread().is_some_and(|next| next != tid)
    }

    /// Whether no call is made any more.
    pub(super) fn is_over(&self) -> bool {
        self.next_thread().is_none()
    }

    /// The thread that makes the next call.
    pub(super) fn next_thread(&self) -> Option<u32> {
        self.next.as_ref().filter(|_| self.failed.is_none()).map(|next| next.call.tid)
    }

    /// The next call, if that thread makes it.
    pub(super) fn take(&mut self, tid: u32) -> Option<Turn> {
        if self.next_thread() == Some(tid) { self.next.take() } else { None }
    }

    /// The call that was taken is made.
    pub(super) fn advance(&mut self) {
        self.made += 1;
        self.read();
    }

    fn read(&mut self) {
        let mut passed = None;
        loop {
            match self.contents.next() {
                Ok(Some(Content::Call(call))) => self.next = Some(Turn { call, passed }),
                Ok(Some(Content::Kernel(kernel))) => {
                    passed = Some(kernel.t);
                    continue;
                }
                Ok(Some(Content::End | Content::Unknown(_))) => continue,
                Ok(None) => self.next = None,
                Err(error) => self.failed = Some(error.into()),
            }
            return;
        }
    }
}
