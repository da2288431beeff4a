//! What a diagnosis says, as types. Durations are seconds by the clock of the process that waits.

use super::condition::Condition;
use super::ranks::Ranges;
use common::status::{StatusOperation, Waiting};
use serde::Serialize;

/// The diagnosis of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Diagnosis {
    pub(crate) verdict: HangVerdict,
    /// Root causes, the most certain ones first.
    pub(crate) findings: Vec<Finding>,
    /// The longest wait that is too short for a hang.
    pub(crate) late: Option<WaitingRanks>,
    /// Facts that the status files do not have, one line each.
    pub(crate) unknown: Vec<String>,
    pub(crate) processes: ProcessCounts,
    /// Time since the last operation of the processes that run was entered, begun or finished, seconds.
    pub(crate) quiet: Option<f64>,
    /// Communicators with an end or a rank that is still to come.
    pub(crate) communicators: Vec<CommunicatorState>,
}

/// The answer in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HangVerdict {
    /// Something is wrong, and waits for ever.
    Hang,
    /// All is well: operations go on.
    Well,
    /// Nobody waits for another, and nothing goes on.
    Idle,
    /// All processes have ended in order.
    Over,
    /// The files do not say.
    #[default]
    Unknown,
}

/// Numbers of processes by condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ProcessCounts {
    /// Processes of the latest run.
    pub(crate) all: usize,
    pub(crate) running: usize,
    pub(crate) stopped: usize,
    pub(crate) ended: usize,
    /// Those that are gone, and may have left by `_exit`.
    pub(crate) left: usize,
    pub(crate) dead: usize,
    pub(crate) silent: usize,
    /// Processes of earlier runs, which are left out.
    pub(crate) earlier: usize,
}

impl ProcessCounts {
    /// Returns whether there were processes, and none is left.
    pub(crate) fn are_gone(&self) -> bool {
        self.all > 0 && self.dead + self.ended + self.left == self.all
    }
}

/// A root cause, with everything that waits because of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Finding {
    #[serde(flatten)]
    pub(crate) cause: RootCause,
    /// Waits that this causes, the longest first. A wait that is itself the cause is not among them.
    pub(crate) waits: Vec<WaitingRanks>,
}

/// A root cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub(crate) enum RootCause {
    /// Processes that take no part any more.
    Processes { condition: Condition, processes: Vec<DiagnosedProcess> },
    /// Ranks of a communicator have called different operations under one number.
    Desynchronised { communicator: CommunicatorName, number: u64, variants: Vec<Variant> },
    /// Ranks wait for each other in a circle.
    Crossed { circle: Vec<WaitingRanks> },
    /// Ranks have not entered an operation that others wait in.
    NotEntered { wait: WaitingRanks },
    /// All have entered an operation that the GPU of some ranks has not begun.
    NotBegun { wait: WaitingRanks },
    /// All have begun an operation that does not finish.
    Unfinished { wait: WaitingRanks, network: Vec<StuckTransfer>, without_status: Ranges },
    /// Calls of NCCL's API do not return.
    Calls { communicator: CommunicatorName, func: String, seconds: f64, ranks: Vec<i32>, without_status: Ranges },
}

/// A process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct DiagnosedProcess {
    /// Rank in the job.
    pub(crate) rank: Option<u32>,
    pub(crate) pid: u32,
    pub(crate) host: Option<String>,
    pub(crate) file: String,
    /// Last writing of its status, nanoseconds since the Epoch by its host's clock.
    pub(crate) written: u64,
}

/// A communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CommunicatorName {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Number of ranks; 0: unknown.
    pub(crate) ranks: u64,
}

/// The call of an operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct DiagnosedCall {
    pub(crate) func: String,
    /// Number of elements; `None` where their type is not known.
    pub(crate) count: Option<u64>,
    pub(crate) bytes: u64,
    pub(crate) datatype: Option<String>,
    pub(crate) root: Option<i32>,
    pub(crate) peer: Option<i32>,
}

impl From<&StatusOperation> for DiagnosedCall {
    fn from(of: &StatusOperation) -> Self {
        let StatusOperation { func, count, bytes, datatype, root, peer, .. } = of.clone();
        Self { func, count, bytes, datatype, root, peer }
    }
}

impl DiagnosedCall {
    /// Returns the first difference from a call that another rank makes as the same operation. What either status does
    /// not name may be equal.
    pub(crate) fn difference(&self, other: &Self) -> Option<CallDifference> {
        fn differ<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
            one.zip(other).is_some_and(|(one, other)| one != other)
        }
        // the library has no bytes of types whose size it does not know
        let bytes = |of: &Self| Some(of.bytes).filter(|&bytes| bytes > 0);
        let counts_known = self.count.is_some() && other.count.is_some();
        let differences = [
            (self.func != other.func, CallDifference::Function),
            (differ(self.count, other.count), CallDifference::Count),
            (!counts_known && differ(bytes(self), bytes(other)), CallDifference::Bytes),
            (differ(self.datatype.as_ref(), other.datatype.as_ref()), CallDifference::Datatype),
            (differ(self.root, other.root), CallDifference::Root),
        ];
        differences.into_iter().find_map(|(differs, difference)| differs.then_some(difference))
    }

    /// Adds the facts of a call without a difference, so that calls are compared with all that is known.
    pub(crate) fn learn(&mut self, other: &Self) {
        self.bytes = self.bytes.max(other.bytes);
        self.count = self.count.or(other.count);
        self.root = self.root.or(other.root);
        if self.datatype.is_none() {
            self.datatype.clone_from(&other.datatype);
        }
    }
}

/// A part of a call, in the order in which parts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallDifference {
    Function,
    Count,
    /// Stands in for the count where a type is not known.
    Bytes,
    Datatype,
    Root,
}

/// Ranks that called the same operation, where others called another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Variant {
    pub(crate) call: DiagnosedCall,
    /// The first difference from the call of most ranks; `None` for that call itself.
    pub(crate) differs: Option<CallDifference>,
    pub(crate) ranks: Vec<i32>,
    /// Its processes, where they are few.
    pub(crate) processes: Vec<DiagnosedProcess>,
    pub(crate) shift: Option<CallShift>,
}

/// How the calls of a minority follow from those of the majority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallShift {
    /// They lack the majority's call of that number, and go on as the majority does.
    Lacks,
    /// They have this call in addition, and go on as the majority does.
    Adds,
}

/// How far an operation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OperationStage {
    NotEntered,
    NotBegun,
    Unfinished,
}

/// Ranks of a communicator that wait in an operation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct WaitingRanks {
    pub(crate) communicator: CommunicatorName,
    /// Number of the collective; `None` for a send or receive.
    pub(crate) number: Option<u64>,
    /// `None` where no status names it any more.
    pub(crate) call: Option<DiagnosedCall>,
    pub(crate) stage: OperationStage,
    /// Ranks that wait.
    pub(crate) waiters: Vec<i32>,
    /// Ranks that they wait for.
    pub(crate) lacking: Vec<AwaitedRank>,
    /// The longest wait, seconds.
    pub(crate) seconds: f64,
    /// Whether whoever is waited for has not moved between two readings.
    pub(crate) stands: bool,
}

/// A rank of a communicator that others wait for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AwaitedRank {
    pub(crate) rank: i32,
    pub(crate) process: DiagnosedProcess,
    /// Time since its last operation in this communicator, seconds.
    pub(crate) seconds: Option<f64>,
    /// That operation.
    pub(crate) last: Option<DiagnosedCall>,
}

/// A network transfer that does not end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct StuckTransfer {
    pub(crate) from: i32,
    pub(crate) to: i32,
    pub(crate) channel: u8,
    /// Hosts of both ranks, where they are known.
    pub(crate) hosts: [Option<String>; 2],
    /// The sender's end; `None` where its status does not name it.
    pub(crate) sender: Option<TransferEnd>,
    pub(crate) receiver: Option<TransferEnd>,
}

/// One end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct TransferEnd {
    pub(crate) state: Waiting,
    pub(crate) seconds: f64,
    /// Steps that have ended.
    pub(crate) steps: u64,
}

/// A communicator as its ranks' statuses show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CommunicatorState {
    pub(crate) communicator: CommunicatorName,
    /// Ranks with a status.
    pub(crate) ranks: Vec<i32>,
    /// Fewest and most collectives that a rank has entered.
    pub(crate) entered: (u64, u64),
    /// Whether the GPU's begins and ends are known.
    pub(crate) sees_gpu: bool,
    pub(crate) wait: Option<WaitingRanks>,
}
