//! Waiting for a thread of ours to answer, on a thread of the application's. It takes no memory, as a channel's own waiting does at a
//! thread's first wait, and ends at once where there is no memory: then there will be no answer.

use crate::switch;
use crossbeam_channel::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

/// The first and the longest time between two looks.
const LOOK: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(1)];

/// Why there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It may still come.
    TooLate,
    /// Whoever was to answer is gone.
    Never,
}

/// The answer, if it comes within so much time.
///
/// # Errors
/// Why it has not come.
pub(crate) fn wait<T>(answer: &Receiver<T>, patience: Duration) -> Result<T, Missing> {
    let begun = Instant::now();
    let [mut pause, longest] = LOOK;
    loop {
        match answer.try_recv() {
            Ok(answer) => return Ok(answer),
            Err(TryRecvError::Disconnected) => return Err(Missing::Never),
            Err(TryRecvError::Empty) if switch::is_out_of_memory() => return Err(Missing::Never),
            Err(TryRecvError::Empty) => {}
        }
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(Missing::TooLate);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_or_is_late_or_never_comes() {
        let (sender, answer) = crossbeam_channel::bounded(1);
        assert_eq!(wait(&answer, Duration::from_millis(1)), Err(Missing::TooLate));
        sender.send(5).unwrap();
        assert_eq!(wait(&answer, Duration::ZERO), Ok(5));
        drop(sender);
        assert_eq!(wait(&answer, Duration::from_secs(1000)), Err(Missing::Never));
    }
}
