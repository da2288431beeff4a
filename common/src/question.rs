//! What the process asks the collector thread for.

use crate::series::{Point, Token};
use crate::summary::Summary;
use crate::timeline::Timeline;
use crossbeam_channel::Sender;

/// A question on the channel to the collector. It has taken in all news from before the question when it answers.
#[derive(Debug)]
pub enum Question {
    /// Take in all that was recorded before this question, then answer.
    Flush {
        /// The measurement is over: settle everything, events in progress included.
        last: bool,
        /// Where the answer goes.
        done: Sender<()>,
    },
    /// The last communicator of a context of CUDA's has ended.
    Close {
        /// The pool of its launches.
        pool: u32,
        /// Where the answer goes.
        done: Sender<()>,
    },
    /// Tell the summary as it stands.
    Summary {
        /// Where the answer goes.
        answer: Sender<Summary>,
    },
    /// Tell the sums as they stand.
    #[cfg(feature = "otel")]
    Sums {
        /// Where the answer goes.
        answer: Sender<crate::snapshot::Sums>,
    },
    /// Hand over the timeline, if there is one; nothing is added to it any more.
    Timeline {
        /// Where the answer goes.
        answer: Sender<Option<Timeline>>,
    },
    /// Tell the points of a series.
    Series {
        /// Which one.
        series: Token,
        /// Where the answer goes.
        answer: Sender<Vec<Point>>,
    },
}
