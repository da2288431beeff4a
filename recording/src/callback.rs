//! The lines of a recording after the first: callbacks, and the recorder's own lines. Their writer comes before their
//! reader.

use super::error::Problem;
use super::event::RecordedEvent;
use super::field::{hexadecimal, int, int_if_any, ranks, time};
use super::line::LineFields;
use super::strings::{Quoted, QuotedStrings, Strings, Text};
use common::conditions::ConditionRow;
use std::io::{self, Write};

/// Largest number of GPUs of a process in a row of conditions.
const MAX_GPUS: usize = 64;

/// A recorded callback.
#[derive(Debug, Clone, PartialEq)]
pub struct Callback<S = Text> {
    /// When the callback began, nanoseconds since [`mono0`](super::Meta::mono0).
    pub t: u64,
    /// Calling thread: 1, 2, ... in order of appearance.
    pub tid: u32,
    /// Line of the recording, from 1, for messages; 0 before it is written.
    pub line: u32,
    /// Kind of the callback, with its arguments.
    pub what: CallbackKind<S>,
}

/// Kind and arguments of a callback. Contexts and handles are those of the recording; a replay has its own.
#[expect(missing_docs, reason = "arguments of NCCL's callbacks")]
#[derive(Debug, Clone, PartialEq)]
pub enum CallbackKind<S = Text> {
    /// A communicator was created. `ctx` is the context that the plugin returned for it.
    Init { ctx: u32, communicator: IntroducedCommunicator },
    /// An event started. `h` is the handle that the plugin returned for it, `parent` the handle of its parent event (0
    /// for none).
    Start { ctx: u32, h: u64, parent: u64, rank: i32, event: RecordedEvent<S> },
    /// An event entered a state (a number of `ncclProfilerEventState_t`); the state decides what `arg` means.
    State { h: u64, state: u32, arg: Option<u64> },
    /// An event stopped; later events may still name its handle as their parent.
    Stop { h: u64 },
    /// A communicator was destroyed; events may still start in its context.
    Finalize { ctx: u32 },
}

/// A communicator as NCCL introduced it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntroducedCommunicator {
    /// Its id.
    pub comm: u64,
    /// Its name, which the application chose.
    pub name: Text,
    /// Number of nodes.
    pub nnodes: i32,
    /// Number of ranks.
    pub nranks: i32,
    /// Rank of this process.
    pub rank: i32,
}

/// The time of a kernel by two CUDA events around its launch. The recording plugin measured it; NCCL makes no such
/// callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel {
    /// When the recording plugin learnt the time, nanoseconds since [`mono0`](super::Meta::mono0).
    pub t: u64,
    /// Thread that learnt it.
    pub tid: u32,
    /// Line of the recording, as of a [`Callback`].
    pub line: u32,
    /// Handle of the `KernelLaunch`, `CeColl` or `CollApi` event whose launch the two CUDA events enclose; of a CUDA
    /// graph's replay, which has no launch, the handle of an operation (`Coll`, `P2p`) of the kernel.
    pub h: u64,
    /// Time of the CUDA event before the launch, nanoseconds on the CUDA events' clock, which has an epoch of its own.
    pub first: u64,
    /// Time of the CUDA event after the launch, on the same clock.
    pub last: u64,
    /// When the kernel began, on the same clock; `None` where the recording plugin did not know.
    pub begin: Option<u64>,
    /// When the first CUDA event was recorded, nanoseconds since [`mono0`](super::Meta::mono0). Without it, the `t` of
    /// the start counts.
    pub at: Option<u64>,
}

/// A moment on the host's clock and on that of CUDA's events, which the recording plugin made in the context of a
/// launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedAnchor {
    /// When the recording plugin handed it on, nanoseconds since [`mono0`](super::Meta::mono0).
    pub t: u64,
    /// Thread that handed it on.
    pub tid: u32,
    /// Handle of the launch's event, as of [`Kernel`].
    pub h: u64,
    /// The moment, nanoseconds on the CUDA events' clock.
    pub time: u64,
    /// A time before the moment, nanoseconds since [`mono0`](super::Meta::mono0).
    pub from: u64,
    /// A time after the moment, on the same clock.
    pub until: u64,
}

/// Content of a line after the first.
#[derive(Debug)]
pub enum Content<S = Text> {
    /// A callback.
    Call(Callback<S>),
    /// The time of a kernel.
    Kernel(Kernel),
    /// A moment on both clocks.
    Anchor(RecordedAnchor),
    /// What the process had of its host in an interval, which ends at the line's time.
    Conditions(Box<ConditionRow>),
    /// The process has ended, at this time in nanoseconds since [`mono0`](super::Meta::mono0).
    End(u64),
    /// A line of a kind that only a recorder of another version writes.
    Unknown(UnknownCallback),
}

/// The known parts of a line whose `cb` is not known.
#[derive(Debug)]
pub struct UnknownCallback {
    pub(crate) cb: String,
    pub(crate) line: u32,
    pub(crate) h: Option<u64>,
    pub(crate) ctx: Option<u32>,
}

/// The thread of lines that no thread of the process has caused.
const RECORDER: u32 = 1;

impl<S: Copy> Content<S> {
    /// Writes the line, with its end. A line of an unknown kind is not written.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write, strings: &dyn QuotedStrings<S>) -> io::Result<()> {
        let mut begin = |t: u64, tid: u32, cb: &str| write!(out, "{{\"t\":{t},\"tid\":{tid},\"cb\":\"{cb}\"");
        match self {
            Self::Call(call) => call.write(out, strings)?,
            Self::Anchor(RecordedAnchor { t, tid, h, time, from, until }) => {
                begin(*t, *tid, "anchor")?;
                write!(out, ",\"h\":{h},\"time\":{time},\"from\":{from},\"until\":{until}")?;
            }
            Self::Kernel(Kernel { t, tid, h, first, last, begin: of_kernel, at, .. }) => {
                begin(*t, *tid, "kernel")?;
                write!(out, ",\"h\":{h},\"first\":{first}")?;
                of_kernel.map_or(Ok(()), |begin| write!(out, ",\"begin\":{begin}"))?;
                write!(out, ",\"last\":{last}")?;
                at.map_or(Ok(()), |at| write!(out, ",\"at\":{at}"))?;
            }
            Self::Conditions(row) => return write_conditions(out, row),
            Self::End(t) => begin(*t, RECORDER, "end")?,
            Self::Unknown(_) => return Ok(()),
        }
        out.write_all(b"}\n")
    }
}

/// Writes the line of a row of conditions, with its end.
///
/// # Errors
/// Those of `out`.
pub fn write_conditions(out: &mut dyn Write, row: &ConditionRow) -> io::Result<()> {
    writeln!(out, "{{\"t\":{},\"tid\":{RECORDER},\"cb\":\"conditions\",\"row\":{}}}", row.until, row.json())
}

impl<S: Copy> Callback<S> {
    fn write(&self, out: &mut dyn Write, strings: &dyn QuotedStrings<S>) -> io::Result<()> {
        let Self { t, tid, .. } = self;
        write!(out, "{{\"t\":{t},\"tid\":{tid},\"cb\":")?;
        match &self.what {
            CallbackKind::Init { ctx, communicator } => {
                let IntroducedCommunicator { comm, name, nnodes, nranks, rank } = communicator;
                let name = Quoted(name.as_deref());
                write!(out, "\"init\",\"ctx\":{ctx},\"comm\":\"{comm:016x}\",\"name\":{name},")?;
                write!(out, "\"nnodes\":{nnodes},\"nranks\":{nranks},\"rank\":{rank}")
            }
            CallbackKind::Start { ctx, h, parent, rank, event } => {
                write!(out, "\"start\",\"ctx\":{ctx},\"h\":{h},\"type\":")?;
                match event.name() {
                    Some(name) => write!(out, "\"{name}\"")?,
                    None => write!(out, "{}", event.bits())?,
                }
                write!(out, ",\"parent\":{parent},\"rank\":{rank}")?;
                event.write_fields(out, strings)
            }
            CallbackKind::State { h, state, arg } => {
                write!(out, "\"state\",\"h\":{h},\"state\":{state}")?;
                arg.map_or(Ok(()), |arg| write!(out, ",\"arg\":{arg}"))
            }
            CallbackKind::Stop { h } => write!(out, "\"stop\",\"h\":{h}"),
            CallbackKind::Finalize { ctx } => write!(out, "\"finalize\",\"ctx\":{ctx}"),
        }
    }
}

impl LineFields<'_> {
    /// Reads the line as a line after the first.
    pub(crate) fn content(&self, line: u32, strings: &mut Strings) -> Result<Content, Problem> {
        let what = match self.cb.as_ref().ok_or(Problem::Missing("cb"))?.0.as_ref() {
            "start" => {
                let bits = self.kind.as_ref().ok_or(Problem::Missing("type"))?.bits()?;
                CallbackKind::Start {
                    ctx: int("ctx", self.ctx)?,
                    h: int("h", self.h)?,
                    parent: int("parent", self.parent)?,
                    rank: int("rank", self.rank)?,
                    event: RecordedEvent::read(bits, self, strings)?,
                }
            }
            "state" => CallbackKind::State {
                h: int("h", self.h)?,
                // any number passes: a newer NCCL has more states than this version knows
                state: int("state", self.state)?,
                arg: int_if_any("arg", self.arg)?,
            },
            "stop" => CallbackKind::Stop { h: int("h", self.h)? },
            "init" => CallbackKind::Init {
                ctx: int("ctx", self.ctx)?,
                communicator: IntroducedCommunicator {
                    comm: hexadecimal("comm", self.comm.as_ref())?,
                    name: strings.keep_name(self.name.as_ref())?,
                    nnodes: ranks("nnodes", self.nnodes)?,
                    nranks: ranks("nranks", self.nranks)?,
                    rank: int("rank", self.rank)?,
                },
            },
            "finalize" => CallbackKind::Finalize { ctx: int("ctx", self.ctx)? },
            "meta" => return Err(Problem::MetaAgain),
            "kernel" => {
                let (t, tid) = self.time_and_thread()?;
                let (h, first, last) = (int("h", self.h)?, int("first", self.first)?, int("last", self.last)?);
                let begin = int_if_any("begin", self.begin)?;
                let at = self.at.map(|at| time("at", Some(at))).transpose()?;
                if !(first..=last).contains(&begin.unwrap_or(first)) {
                    return Err(Problem::Kernel { first, last, begin });
                }
                return Ok(Content::Kernel(Kernel { t, tid, line, h, first, last, begin, at }));
            }
            "anchor" => {
                let (t, tid) = self.time_and_thread()?;
                let [from, until] = [time("from", self.from)?, time("until", self.until)?];
                if from > until {
                    return Err(Problem::Anchor { from, until });
                }
                let (h, time) = (int("h", self.h)?, int("time", self.time)?);
                return Ok(Content::Anchor(RecordedAnchor { t, tid, h, time, from, until }));
            }
            "conditions" => {
                let until = self.time_and_thread()?.0;
                let row = self.row.clone().ok_or(Problem::Missing("row"))?;
                if row.gpus.len() > MAX_GPUS {
                    return Err(Problem::Range { field: "row.gpus", value: row.gpus.len() as i128, range: "0 to 64" });
                }
                return Ok(Content::Conditions(Box::new(ConditionRow { until, ..*row })));
            }
            "end" => return Ok(Content::End(self.time_and_thread()?.0)),
            other => return self.unknown(other, line).map(Content::Unknown),
        };
        let (t, tid) = self.time_and_thread()?;
        Ok(Content::Call(Callback { t, tid, line, what }))
    }

    /// Reads a line of an unknown kind. Its `cb` must be a word, and it must have a time and a thread, as all lines
    /// have.
    fn unknown(&self, cb: &str, line: u32) -> Result<UnknownCallback, Problem> {
        let is_word = !cb.is_empty() && cb.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !is_word || self.time_and_thread().is_err() {
            return Err(Problem::Callback(cb.to_owned()));
        }
        Ok(UnknownCallback { cb: cb.to_owned(), line, h: int_if_any("h", self.h)?, ctx: int_if_any("ctx", self.ctx)? })
    }

    /// Reads the time and the thread, which every line but the first has.
    fn time_and_thread(&self) -> Result<(u64, u32), Problem> {
        let tid = int("tid", self.tid)?;
        if tid == 0 {
            return Err(Problem::Range { field: "tid", value: 0, range: "1 to 4294967295" });
        }
        Ok((time("t", self.t)?, tid))
    }
}
