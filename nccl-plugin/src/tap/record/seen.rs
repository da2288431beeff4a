//! The contexts and events that the file's lines have introduced so far, with their numbers in the file.

use super::event::CallbackFields;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::io;

/// Number of stopped events that are remembered, since their children and state changes may come after the stop. A
/// recording of days cannot remember all; NCCL has some thousands in progress.
const STOPPED: usize = 1 << 19;

/// Numbers in the file, by the number that NCCL holds for a context or an event. No number in the file is given twice.
#[derive(Debug, Default)]
pub(super) struct FileNumbers {
    contexts: FxHashMap<u64, u64>,
    events: FxHashMap<u64, u64>,
    /// Stopped events, first stopped first: NCCL's number and the number in the file.
    stopped: VecDeque<(u64, u64)>,
    started: u64,
    made: u64,
}

impl FileNumbers {
    /// Replaces NCCL's numbers in a callback by the file's, and notes the context or event that the callback
    /// introduces. A parent that is not in the file becomes 0. Returns false if the context or event of the callback is
    /// not in the file.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn take(&mut self, what: &mut CallbackFields) -> io::Result<bool> {
        let is_known = match what {
            CallbackFields::Init { context, .. } => {
                self.made += 1;
                make_room(&mut self.contexts)?;
                self.contexts.insert(*context, self.made);
                *context = self.made;
                true
            }
            CallbackFields::Start { context, handle, parent, .. } => {
                *parent = self.events.get(parent).copied().unwrap_or(0);
                let known = replace(context, &self.contexts);
                // a step that NCCL starts again keeps its number; from here on the number means the new event
                if known {
                    self.started += 1;
                    make_room(&mut self.events)?;
                    self.events.insert(*handle, self.started);
                    *handle = self.started;
                } else {
                    self.events.remove(handle);
                }
                known
            }
            CallbackFields::State { handle, state, .. } => *state >= 0 && replace(handle, &self.events),
            CallbackFields::Stop { handle } => self.stop(handle)?,
            CallbackFields::Kernel { handle, .. } | CallbackFields::Anchor { handle, .. } => {
                replace(handle, &self.events)
            }
            CallbackFields::Finalize { context } => replace(context, &self.contexts),
        };
        Ok(is_known)
    }

    /// Notes that a callback is not in the file: the context or event that it introduces is unknown from here on.
    pub(super) fn lose(&mut self, what: &CallbackFields) {
        match what {
            CallbackFields::Init { context, .. } => drop(self.contexts.remove(context)),
            CallbackFields::Start { handle, .. } => drop(self.events.remove(handle)),
            _ => {}
        }
    }

    fn stop(&mut self, handle: &mut u64) -> io::Result<bool> {
        let held = *handle;
        if !replace(handle, &self.events) {
            return Ok(false);
        }
        if self.stopped.len() >= STOPPED
            && let Some((oldest, number)) = self.stopped.pop_front()
            // unless the event was started again under the same number
            && self.events.get(&oldest) == Some(&number)
        {
            self.events.remove(&oldest);
        }
        self.stopped.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.stopped.push_back((held, *handle));
        Ok(true)
    }
}

/// Reserves memory for one more entry.
fn make_room(numbers: &mut FxHashMap<u64, u64>) -> io::Result<()> {
    numbers.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// Replaces NCCL's number by the file's. Returns false if it has none.
fn replace(number: &mut u64, numbers: &FxHashMap<u64, u64>) -> bool {
    numbers.get(number).map(|known| *number = *known).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::event::EventFields;
    use super::*;

    #[test]
    fn events_that_stopped_long_ago_are_forgotten_and_others_are_not() {
        let mut seen = FileNumbers::default();
        let start = |handle| CallbackFields::Start { context: 9, handle, parent: 0, event: EventFields::Group };
        let mut take = |mut what| seen.take(&mut what).unwrap();
        assert!(take(CallbackFields::Init { context: 9, introduction: 0 }));
        // event 1 is never stopped; event 2 is stopped more often than it was started
        assert!(take(start(1)) && take(start(2)));
        for _ in 0..2 {
            assert!(take(CallbackFields::Stop { handle: 2 }));
        }
        // started again under the same number, and in progress
        assert!(take(start(2)));
        for handle in 3..STOPPED as u64 + 10 {
            assert!(take(start(handle)) && take(CallbackFields::Stop { handle }));
        }
        let mut knows = |handle| take(CallbackFields::State { handle, state: 1, value: None });
        assert_eq!([1, 2, 3, 4, STOPPED as u64 + 9].map(&mut knows), [true, true, false, false, true]);
        assert!(seen.stopped.len() <= STOPPED && seen.events.len() <= STOPPED + 2);
    }
}
