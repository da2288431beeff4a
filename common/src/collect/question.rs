//! Questions of the process to the collector thread.

use crate::base::answer::Reply;
use crate::figures::series::{Point, SeriesName};
use crate::figures::timeline::Timeline;
use crate::status::Status;
use crate::summary::Summary;
use crossbeam_queue::SegQueue;

/// Questions that the collector has not seen.
static ASKED: SegQueue<Question> = SegQueue::new();

/// Asks a question. The collector sees it in its next round.
pub(crate) fn put(question: Question) {
    ASKED.push(question);
}

/// Returns the next unanswered question that somebody still waits for, and drops those before it.
pub(crate) fn next() -> Option<Question> {
    std::iter::from_fn(|| ASKED.pop()).find(Question::is_due)
}

/// A question to the collector. The collector answers it after all news from before the question.
#[derive(Debug)]
pub(crate) enum Question {
    /// Take in all that was recorded before this question.
    Flush {
        /// The measurement is over: settle everything, events in progress included.
        last: bool,
        /// Receives the answer.
        done: Reply<()>,
    },
    /// The last communicator of a CUDA context has ended.
    Close {
        /// The pool of its launches.
        pool: u32,
        /// The pool's generation. When another one has begun, whoever asked waits no longer.
        generation: u32,
        /// Receives the answer.
        done: Reply<()>,
    },
    /// Give the summary as it stands.
    Summary {
        /// Receives the answer.
        answer: Reply<Summary>,
    },
    /// Give the communicators' part of the status file.
    Status {
        /// Receives the answer.
        answer: Reply<Status>,
    },
    /// Give the sums as they stand.
    #[cfg(feature = "otel")]
    Sums {
        /// Receives the answer.
        answer: Reply<crate::figures::snapshot::ProcessSums>,
    },
    /// Hand over the timeline, if there is one. Nothing is added to it afterwards.
    Timeline {
        /// Receives the answer.
        answer: Reply<Option<Timeline>>,
    },
    /// Give the lane name of a series' communicator, if it is of one, and the points of the series.
    Series {
        /// The series.
        series: SeriesName,
        /// Receives the answer.
        answer: Reply<(Option<String>, Vec<Point>)>,
    },
}

impl Question {
    /// Returns whether it is to be answered: somebody waits for the answer, or its effect goes beyond the answer.
    fn is_due(&self) -> bool {
        match self {
            Self::Flush { last: true, .. } | Self::Close { .. } => true,
            Self::Flush { done, .. } => done.is_awaited(),
            Self::Summary { answer } => answer.is_awaited(),
            Self::Status { answer } => answer.is_awaited(),
            #[cfg(feature = "otel")]
            Self::Sums { answer } => answer.is_awaited(),
            Self::Timeline { answer } => answer.is_awaited(),
            Self::Series { answer, .. } => answer.is_awaited(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::answer;

    #[test]
    fn questions_that_nobody_waits_for_are_passed_over_unless_others_see_what_they_do() {
        let (gone, _) = answer::pair();
        put(Question::Summary { answer: gone });
        let (done, _) = answer::pair();
        put(Question::Flush { last: false, done });
        let (done, _) = answer::pair();
        put(Question::Flush { last: true, done });
        let (done, _) = answer::pair();
        put(Question::Close { pool: 3, generation: 0, done });
        let (asked, _answer) = answer::pair();
        put(Question::Timeline { answer: asked });
        assert!(matches!(next(), Some(Question::Flush { last: true, .. })));
        assert!(matches!(next(), Some(Question::Close { pool: 3, .. })));
        assert!(matches!(next(), Some(Question::Timeline { .. })));
        assert!(next().is_none());
    }
}
