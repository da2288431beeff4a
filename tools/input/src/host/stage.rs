//! The shared state of a playing: the next call, and the thread whose turn it is.

use super::HostError;
use super::nccl::Nccl;
use common::conditions::ConditionRow;
use recording::{Callback, Content, Contents};

/// A part of a playing, for a listener.
pub(crate) enum Played<'a> {
    /// A call that was made, and the handle of the library for the event that the call has started; 0 for none.
    Call(&'a Callback, u64),
    /// The conditions of the process on its host.
    Conditions(&'a ConditionRow),
}

/// Gets the contents of the recording as they are played.
pub(crate) type Listener<'a> = dyn FnMut(Played<'_>) + Send + 'a;

/// Everything that the playing threads share. The thread that has the turn holds its lock.
pub(super) struct Stage<'a> {
    nccl: Nccl<'a>,
    contents: Contents,
    listen: &'a mut Listener<'a>,
    next: Option<Turn>,
    /// Number of calls made.
    pub(super) made: usize,
    /// Why no more calls are made.
    pub(super) failed: Option<HostError>,
}

/// A call with its recorded surroundings.
pub(super) struct Turn {
    pub(super) call: Callback,
    /// Time of the last line before the call that makes no call; the clock is set to it first.
    pub(super) passed: Option<u64>,
}

impl<'a> Stage<'a> {
    /// Begins before the first call.
    pub(super) fn new(nccl: Nccl<'a>, contents: Contents, listen: &'a mut Listener<'a>) -> Self {
        let mut stage = Self { nccl, contents, listen, next: None, made: 0, failed: None };
        stage.read();
        stage
    }

    /// Returns whether another thread makes the next call.
    pub(super) fn is_of_another(&self, tid: u32) -> bool {
        self.next_thread().is_some_and(|next| next != tid)
    }

    /// Returns whether no call is left to be made.
    pub(super) fn is_over(&self) -> bool {
        self.next_thread().is_none()
    }

    /// Returns the thread that makes the next call.
    pub(super) fn next_thread(&self) -> Option<u32> {
        self.next.as_ref().filter(|_| self.failed.is_none()).map(|next| next.call.tid)
    }

    /// Takes the next call, if this thread makes it.
    pub(super) fn take(&mut self, tid: u32) -> Option<Turn> {
        if self.next_thread() == Some(tid) { self.next.take() } else { None }
    }

    /// Makes the call that was taken.
    pub(super) fn make(&mut self, call: &Callback) {
        let handle = self.nccl.call(call);
        (self.listen)(Played::Call(call, handle));
    }

    /// Counts the call that was taken as made, and reads the next one.
    pub(super) fn advance(&mut self) {
        self.made += 1;
        self.read();
    }

    fn read(&mut self) {
        let mut passed = None;
        loop {
            match self.contents.next_line() {
                Ok(Some(Content::Call(call))) => self.next = Some(Turn { call, passed }),
                Ok(Some(Content::Kernel(kernel))) => {
                    passed = Some(kernel.t);
                    continue;
                }
                Ok(Some(Content::Conditions(row))) => {
                    (self.listen)(Played::Conditions(&row));
                    continue;
                }
                Ok(Some(Content::Anchor(_) | Content::End(_) | Content::Unknown(_))) => continue,
                Ok(None) => self.next = None,
                Err(error) => self.failed = Some(error.into()),
            }
            return;
        }
    }
}
