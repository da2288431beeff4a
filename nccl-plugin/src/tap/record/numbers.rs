//! The contexts, events and threads that the file's lines have introduced so far, with their numbers in the file.

use super::event::{CallbackFields, Record};
use super::strings::StringNumber;
use recording::{Callback, CallbackKind, Content, IntroducedCommunicator, Kernel, RecordedAnchor};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::io;

/// Number of stopped events that are remembered, since their children and state changes may come after the stop. A
/// recording of days cannot remember all; NCCL has some thousands in progress.
const MAX_STOPPED: usize = 1 << 19;

/// Numbers in the file, by the numbers of the library and of NCCL. No number in the file is given twice.
#[derive(Debug, Default)]
pub(super) struct FileNumbers {
    contexts: FxHashMap<u64, u32>,
    events: FxHashMap<u64, u64>,
    /// Stopped events, first stopped first: NCCL's number and the number in the file.
    stopped: VecDeque<(u64, u64)>,
    threads: FxHashMap<u32, u32>,
    started: u64,
    made: u32,
}

impl FileNumbers {
    /// Returns a callback with the file's numbers in the place of NCCL's, and notes the context or event that the
    /// callback introduces. A parent that is not in the file becomes 0. Returns `None` if the context or event of the
    /// callback is not in the file, or the description of a new communicator is not known.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn line(
        &mut self,
        record: &Record,
        communicators: &FxHashMap<u32, IntroducedCommunicator>,
    ) -> io::Result<Option<Content<StringNumber>>> {
        let Record { time: t, rank, what, .. } = *record;
        let what = match what {
            CallbackFields::Init { context, introduction } => {
                // without one: an init that took so long that the grace period gave it up
                let Some(communicator) = communicators.get(&introduction).cloned() else {
                    self.lose(&what);
                    return Ok(None);
                };
                self.made += 1;
                make_room(&mut self.contexts)?;
                self.contexts.insert(context, self.made);
                Some(CallbackKind::Init { ctx: self.made, communicator })
            }
            CallbackFields::Start { context, handle, parent, event } => {
                let parent = self.events.get(&parent).copied().unwrap_or(0);
                // a step that NCCL starts again keeps its number; from here on the number means the new event
                if let Some(&ctx) = self.contexts.get(&context) {
                    self.started += 1;
                    make_room(&mut self.events)?;
                    self.events.insert(handle, self.started);
                    Some(CallbackKind::Start { ctx, h: self.started, parent, rank, event })
                } else {
                    self.events.remove(&handle);
                    None
                }
            }
            CallbackFields::State { handle, state, value } => self
                .event(handle)
                .and_then(|h| Some(CallbackKind::State { h, state: u32::try_from(state).ok()?, arg: value })),
            CallbackFields::Stop { handle } => self.stop(handle)?.map(|h| CallbackKind::Stop { h }),
            CallbackFields::Finalize { context } => {
                self.contexts.get(&context).map(|&ctx| CallbackKind::Finalize { ctx })
            }
            CallbackFields::Kernel { handle, first, begin, last, at } => {
                let Some(h) = self.event(handle) else { return Ok(None) };
                let tid = self.thread(record.thread);
                return Ok(Some(Content::Kernel(Kernel { t, tid, line: 0, h, first, last, begin: Some(begin), at })));
            }
            CallbackFields::Anchor { handle, time, from, until } => {
                let Some(h) = self.event(handle) else { return Ok(None) };
                let tid = self.thread(record.thread);
                return Ok(Some(Content::Anchor(RecordedAnchor { t, tid, h, time, from, until })));
            }
        };
        let Some(what) = what else { return Ok(None) };
        Ok(Some(Content::Call(Callback { t, tid: self.thread(record.thread), line: 0, what })))
    }

    /// Notes that a callback is not in the file: the context or event that it introduces is unknown from here on.
    pub(super) fn lose(&mut self, what: &CallbackFields) {
        match what {
            CallbackFields::Init { context, .. } => drop(self.contexts.remove(context)),
            CallbackFields::Start { handle, .. } => drop(self.events.remove(handle)),
            _ => {}
        }
    }

    fn event(&self, handle: u64) -> Option<u64> {
        self.events.get(&handle).copied()
    }

    /// Returns the number of a thread: 1, 2, ... in the order of lines.
    fn thread(&mut self, thread: u32) -> u32 {
        let next = self.threads.len() as u32 + 1;
        *self.threads.entry(thread).or_insert(next)
    }

    fn stop(&mut self, handle: u64) -> io::Result<Option<u64>> {
        let Some(h) = self.event(handle) else { return Ok(None) };
        if self.stopped.len() >= MAX_STOPPED
            && let Some((oldest, number)) = self.stopped.pop_front()
            // unless the event was started again under the same number
            && self.event(oldest) == Some(number)
        {
            self.events.remove(&oldest);
        }
        self.stopped.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.stopped.push_back((handle, h));
        Ok(Some(h))
    }
}

/// Reserves memory for one more entry.
fn make_room<N>(numbers: &mut FxHashMap<u64, N>) -> io::Result<()> {
    numbers.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::RecordedEvent;

    #[test]
    fn events_that_stopped_long_ago_are_forgotten_and_others_are_not() {
        let mut seen = FileNumbers::default();
        let start = |handle| CallbackFields::Start { context: 9, handle, parent: 0, event: RecordedEvent::Group };
        let introduced = IntroducedCommunicator { comm: 1, name: None, nnodes: 1, nranks: 2, rank: 0 };
        let communicators = FxHashMap::from_iter([(0, introduced)]);
        let record = |what| Record { sequence: 0, time: 7, thread: 1, rank: 0, what };
        let mut take = |what| seen.line(&record(what), &communicators).unwrap().is_some();
        assert!(take(CallbackFields::Init { context: 9, introduction: 0 }));
        // event 1 is never stopped; event 2 is stopped more often than it was started
        assert!(take(start(1)) && take(start(2)));
        for _ in 0..2 {
            assert!(take(CallbackFields::Stop { handle: 2 }));
        }
        // started again under the same number, and in progress
        assert!(take(start(2)));
        for handle in 3..MAX_STOPPED as u64 + 10 {
            assert!(take(start(handle)) && take(CallbackFields::Stop { handle }));
        }
        let mut knows = |handle| take(CallbackFields::State { handle, state: 1, value: None });
        assert_eq!([1, 2, 3, 4, MAX_STOPPED as u64 + 9].map(&mut knows), [true, true, false, false, true]);
        assert!(seen.stopped.len() <= MAX_STOPPED && seen.events.len() <= MAX_STOPPED + 2);
    }
}
