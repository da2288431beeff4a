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

/// The next one that nobody has answered.
pub(crate) fn next() -> Option<Question> {
    ASKED.pop()
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
