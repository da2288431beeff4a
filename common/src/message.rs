//! What is said to the collector thread.

use crate::answer::Reply;
use crate::event::Communicator;
use crate::handle::Handle;
use crate::series::{Point, Token};
use crate::summary::Summary;
use crate::timeline::Timeline;

/// A message on the channel to the collector.
#[derive(Debug)]
pub enum Message {
    /// A communicator was made.
    Opened {
        /// Its context.
        id: Handle,
        /// What NCCL told of it.
        communicator: Communicator,
    },
    /// An operation told what its communicator is.
    Told {
        /// Index of its context.
        index: u32,
        /// Communicator id.
        id: u64,
        /// Name, or empty.
        name: String,
        /// This process' rank in it.
        rank: i32,
    },
    /// A communicator was destroyed.
    Ended {
        /// Its context.
        id: Handle,
        /// When, in ticks.
        time: u64,
    },
    /// Take in all that was recorded before this message, then answer.
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
        answer: Reply<crate::export::Sums>,
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
