//! Answers of threads of ours to those of the application. Neither side takes memory for waiting, as those of a channel
//! do at a thread's first wait, and the wait ends at once where there is no memory: then there will be no answer.

use crate::base::shortage;
use crossbeam_queue::ArrayQueue;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first and the longest time between two looks.
const LOOK: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Where the answer goes.
#[derive(Debug)]
pub(crate) struct Reply<T>(Arc<ArrayQueue<T>>);

/// Where it comes from.
#[derive(Debug)]
pub(crate) struct Answer<T>(Arc<ArrayQueue<T>>);

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It may still come.
    TooLate,
    /// Whoever was to answer is gone.
    Never,
}

/// For one answer.
pub(crate) fn pair<T>() -> (Reply<T>, Answer<T>) {
    let place = Arc::new(ArrayQueue::new(1));
    (Reply(place.clone()), Answer(place))
}

impl<T> Reply<T> {
    /// Whether whoever asked is still there.
    pub(crate) fn is_awaited(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Answers. One that comes too late is nobody's.
    pub(crate) fn give(self, answer: T) {
        let _ = self.0.push(answer);
    }
}

impl<T> Answer<T> {
    /// The answer, if it comes within so much time.
    ///
    /// # Errors
    /// Why it has not come.
    pub(crate) fn wait(&self, patience: Duration) -> Result<T, Missing> {
        let begun = Instant::now();
        let [mut pause, longest] = LOOK;
        loop {
            // looked at first: what was given before the other side went is there
            let is_alone = Arc::strong_count(&self.0) == 1;
            if let Some(answer) = self.0.pop() {
                return Ok(answer);
            }
            if is_alone || shortage::is_out_of_memory() {
                return Err(Missing::Never);
            }
            let left = patience.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(Missing::TooLate);
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(longest);
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
        assert_eq!(answer.wait(Duration::from_millis(1)), Err(Missing::TooLate));
        reply.give(5);
        assert_eq!(answer.wait(Duration::ZERO), Ok(5));
        assert_eq!(answer.wait(Duration::from_secs(1000)), Err(Missing::Never));
        let (reply, _) = pair::<()>();
        assert!(!reply.is_awaited());
    }
}
