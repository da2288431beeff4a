//! The state of a process for somebody who looks at the job: a small file beside all others of the job.
//!
//! The file outlives its process, however that ends, and is read without asking the process. Its text is JSON.
//! `scorep-nccl hang` reads the files of a job. A [`request`] in the same directory goes the other way.

pub mod bounded;
pub mod progress;
pub mod request;
pub mod stacks;

use crate::origin::Origin;
use bounded::at_most;
use progress::{LinkSum, MOST_LINKS, MOST_MARKS, ProgressMark};
use request::RequestAnswer;
use serde::{Deserialize, Serialize};

/// Value of [`Status::schema`].
pub const SCHEMA: &str = "scorep-nccl status 1";
/// End of the name of a status file.
pub const ENDING: &str = ".status.json";
/// Most communicators that a status names.
pub const MOST_COMMUNICATORS: usize = 64;
/// Most operations of a communicator that a status names: the newest ones.
pub const MOST_OPERATIONS: usize = 64;
/// Most network waits of a communicator that a status names: the oldest ones.
pub const MOST_WAITS: usize = 32;
/// Most calls of a communicator that a reader takes.
pub const MOST_CALLS: usize = 4096;
/// Seconds between two writings of a status.
pub const PERIOD_SECONDS: f64 = 1.0;

/// State of one process. Times of its parts are nanoseconds since the Epoch by the host's wall clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Process id on its host.
    pub pid: u32,
    /// Start of the process, clock ticks since boot, field 22 of /proc/PID/stat: distinguishes it from later processes
    /// of the same id.
    pub born: Option<u64>,
    /// Whether the process was forked and has not called `exec`: such a process may leave by `_exit`, of which nobody in
    /// it hears.
    pub forked: bool,
    /// Host, boot, rank and job.
    #[serde(flatten)]
    pub origin: Origin,
    /// Time of this writing.
    pub written: u64,
    /// Number of writings, this one included. It grows while the process runs, also when nothing happens.
    pub beat: u64,
    /// Time of the measurement's orderly end; `None` while it runs, and for ever if the process is killed.
    pub over: Option<u64>,
    /// Time since which the collector thread has not answered; the parts below are of that time.
    pub silent_since: Option<u64>,
    /// Reason why nothing is recorded any more, or never was.
    pub off: Option<String>,
    /// Event types that NCCL is asked for now, as the sum of NCCL's bits.
    pub mask: u64,
    /// Answer to the last request.
    pub answer: Option<RequestAnswer>,
    /// Events dropped so far.
    pub dropped: u64,
    /// Communicators, at most [`MOST_COMMUNICATORS`], alive ones first.
    #[serde(deserialize_with = "at_most::<MOST_COMMUNICATORS, _, _>")]
    pub communicators: Vec<StatusCommunicator>,
    /// Number of further communicators that are not named.
    pub further_communicators: u64,
}

/// One rank of a communicator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusCommunicator {
    /// Id, 16 hexadecimal digits, as in the summary.
    pub comm: String,
    /// Name, where the application gave one.
    pub name: String,
    /// This process' rank in it; `None` up to interface v3 before its first operation.
    pub rank: Option<i32>,
    /// Number of ranks; 0: unknown.
    pub nranks: u64,
    /// Time of its begin.
    pub opened: u64,
    /// Time of its end.
    pub ended: Option<u64>,
    /// Whether [`StatusCommunicator::entered`] counts from the communicator's begin without a gap. If not, ranks cannot
    /// be compared by number.
    pub counts_all: bool,
    /// Whether NCCL reports when the GPU begins and ends operations. If not, `begun` and `finished` are unknown.
    pub sees_gpu: bool,
    /// Number of collectives entered so far: NCCL has been called for them. A call that is captured into a CUDA graph
    /// counts once, and the graph's replays do not count.
    pub entered: u64,
    /// Number of sends and receives entered so far.
    pub entered_p2p: u64,
    /// Number of operations that the GPU has begun so far.
    pub begun: u64,
    /// Number of operations that the GPU has finished so far.
    pub finished: u64,
    /// The newest operations, at most [`MOST_OPERATIONS`], the oldest first. An unfinished operation stays longer than
    /// finished ones; of more unfinished operations, the oldest and the newest ones stay. Operations below
    /// `NCCL_SCOREP_MIN_BYTES` are left out.
    #[serde(deserialize_with = "at_most::<MOST_OPERATIONS, _, _>")]
    pub operations: Vec<StatusOperation>,
    /// Calls of NCCL's API that have not returned, the oldest first.
    #[serde(deserialize_with = "at_most::<MOST_CALLS, _, _>")]
    pub calls: Vec<OpenCall>,
    /// Network transfers that have not ended, at most [`MOST_WAITS`], the oldest first.
    #[serde(deserialize_with = "at_most::<MOST_WAITS, _, _>")]
    pub waits: Vec<OpenTransfer>,
    /// Number of collectives between two marks, a power of two; 0: there are no marks, since the begins and ends of
    /// operations on the GPU are not known.
    pub stride: u64,
    /// Marks, the oldest first.
    #[serde(deserialize_with = "at_most::<MOST_MARKS, _, _>")]
    pub marks: Vec<ProgressMark>,
    /// Sums of the network transfers, by peer and direction.
    #[serde(deserialize_with = "at_most::<MOST_LINKS, _, _>")]
    pub links: Vec<LinkSum>,
}

/// An operation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatusOperation {
    /// Number among the collectives of the communicator, from 0; `None` for a send or receive, for a replay of a CUDA
    /// graph, and where calls before it have not been read yet.
    pub number: Option<u64>,
    /// Function, as NCCL calls it: AllReduce, Send.
    pub func: String,
    /// Number of elements, as the caller passes it; `None` where `datatype` is.
    pub count: Option<u64>,
    /// Bytes: number of elements times their size; 0 for elements of unknown size.
    pub bytes: u64,
    /// Type of the elements, as nccl.h calls it: ncclFloat32. `None` for types that this library does not know, and
    /// where NCCL reports bytes instead: for AllGather and Broadcast up to interface v4, and in replays of CUDA graphs.
    pub datatype: Option<String>,
    /// Peer of a send or receive.
    pub peer: Option<i32>,
    /// Root of a Broadcast, Reduce, Gather or Scatter, as a rank of the communicator; `None` for other functions. Up to
    /// interface v4, only roots below 65,535 are known.
    pub root: Option<i32>,
    /// Time at which NCCL was called for it.
    pub entered: u64,
    /// Time at which the library saw that the GPU has begun it. Where CUDA events alone time operations: that the GPU has
    /// done all that lies before it in its stream. `None` also where its end was seen first.
    pub begun: Option<u64>,
    /// Time at which the library saw that the GPU has finished it.
    pub finished: Option<u64>,
}

/// A call of NCCL's API that has not returned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenCall {
    /// Function; "GroupEnd" for the end of a group.
    pub func: String,
    /// Time of the call.
    pub since: u64,
}

/// A network transfer of a proxy that has not ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OpenTransfer {
    /// Peer.
    pub peer: i32,
    /// Channel id.
    pub channel: u8,
    /// Whether this rank sends.
    pub sends: bool,
    /// Begin of the proxy step, or of the proxy operation if none of its steps is under way.
    pub since: u64,
    /// Number of steps of the proxy operation that have ended.
    pub steps: u64,
    /// What the step waits for.
    pub state: Waiting,
}

/// What a proxy step waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// No step is under way: the GPU has given no data to send or no room to receive.
    #[default]
    Gpu,
    /// The step is under way, and NCCL reports no more of it.
    Step,
    /// The data are handed to the network.
    Network,
}
