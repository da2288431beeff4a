//! What the process asks the collector thread for.

use crate::base::answer::Reply;
use crate::figures::series::{Point, Token};
use crate::figures::timeline::Timeline;
use crate::summary::Summary;
use crossbeam_queue::SegQueue;

/// Those that the collector has not seen.
static ASKED: SegQueue<Question> = SegQueue::new();

/// Asks. The collector sees it in its next round.
pub(crate) fn put(question: Question) {
    ASKED.push(question);
}

/// The next one that nobody has answered. What nobody waits for any more is passed over.
pub(crate) fn next() -> Option<Question> {
    std::iter::from_fn(|| ASKED.pop()).find(Question::is_due)
}

/// A question on the channel to the collector. It has taken in all news from before the question when it answers.
#[derive(Debug)]
pub(crate) enum Question {
    /// Take in all that was recorded before this question, then answer.
    Flush {
        /// The measurement is over: settle everything, events in progress included.
        last: bool,
        /// Where the answer goes.
        done: Reply<()>,
    },
    /// The last communicator of a context of CUDA's has ended.
    Close {
        /// The pool of its launches.
        pool: u32,
        /// Where the answer goes.
        done: Reply<()>,
    },
    /// Tell the summary as it stands.
    Summary {
        /// Where the answer goes.
        answer: Reply<Summary>,
    },
    /// Tell the sums as they stand.
    #[cfg(feature = "otel")]
    Sums {
        /// Where the answer goes.
        answer: Reply<crate::figures::snapshot::Sums>,
    },
    /// Hand over the timeline, if there is one; nothing is added to it any more.
    Timeline {
        /// Where the answer goes.
        answer: Reply<Option<Timeline>>,
    },
    /// Tell the points of a series.
    Series {
        /// Which one.
        series: Token,
        /// Where the answer goes.
        answer: Reply<Vec<Point>>,
    },
}

impl Question {
    /// Whether somebody waits for the answer, or others than whoever asked see what it does.
    fn is_due(&self) -> bool {
        match self {
            Self::Flush { last: true, .. } | Self::Close { .. } => true,
            Self::Flush { done, .. } => done.is_awaited(),
            Self::Summary { answer } => answer.is_awaited(),
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
        put(Question::Close { pool: 3, done });
        let (asked, _answer) = answer::pair();
        put(Question::Timeline { answer: asked });
        assert!(matches!(next(), Some(Question::Flush { last: true, .. })));
        assert!(matches!(next(), Some(Question::Close { pool: 3, .. })));
        assert!(matches!(next(), Some(Question::Timeline { .. })));
        assert!(next().is_none());
    }
}
