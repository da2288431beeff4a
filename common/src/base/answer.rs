//! Answers that the library's threads give to the application's threads.
//!
//! Neither side allocates in order to wait; a channel of the standard library allocates at a thread's first wait. A
//! wait ends at once when memory has run out, because no answer will come then.

use crate::base::pause::pause;
use crate::base::shortage;
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// First and longest pause between two looks for the answer.
const LOOK: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// The side that gives the answer.
#[derive(Debug)]
pub(crate) struct Reply<T>(Arc<ArrayQueue<T>>);

/// The side that waits for the answer.
#[derive(Debug)]
pub(crate) struct AnswerWait<T>(Arc<ArrayQueue<T>>);

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerFailure {
    /// The answer may still come.
    TooLate,
    /// The side that was to answer is gone, or memory has run out.
    Never,
}

/// Makes the two sides of one answer.
pub(crate) fn pair<T>() -> (Reply<T>, AnswerWait<T>) {
    let place = Arc::new(ArrayQueue::new(1));
    (Reply(place.clone()), AnswerWait(place))
}

impl<T> Reply<T> {
    /// Returns whether the side that waits still exists.
    pub(crate) fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Gives the answer. An answer that comes too late is dropped.
    pub(crate) fn give(self, answer: T) {
        let _ = self.0.push(answer);
    }
}

impl<T> AnswerWait<T> {
    /// Returns whether the answer has come.
    pub(crate) fn is_there(&self) -> bool {
        !self.0.is_empty()
    }

    /// Waits for the answer, at most for `patience`.
    ///
    /// # Errors
    /// Returns why no answer has come.
    pub(crate) fn wait(&self, patience: Duration) -> Result<T, AnswerFailure> {
        let begun = Instant::now();
        let [mut look, longest] = LOOK;
        loop {
            // checked before the queue: an answer that was given before its sender went is there then
            let is_alone = Arc::strong_count(&self.0) == 1;
            if let Some(answer) = self.0.pop() {
                return Ok(answer);
            }
            if is_alone || shortage::is_out_of_memory() {
                return Err(AnswerFailure::Never);
            }
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(AnswerFailure::TooLate);
            }
            pause(look.min(left));
            look = (look * 2).min(longest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_or_is_late_or_never_comes() {
        let (reply, answer) = pair();
        assert!(reply.is_awaited());
        assert_eq!(answer.wait(Duration::from_millis(1)), Err(AnswerFailure::TooLate));
        reply.give(5);
        assert_eq!(answer.wait(Duration::ZERO), Ok(5));
        assert_eq!(answer.wait(Duration::from_secs(1000)), Err(AnswerFailure::Never));
        let (reply, _) = pair::<()>();
        assert!(!reply.is_awaited());
    }
}
