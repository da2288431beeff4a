//! Reads one line of JSON, field by field.
//!
//! A line is first read into one flat struct that borrows from the line, and then converted into a [`Callback`] by its
//! callback and event type. A tagged enum would make serde copy every line into a tree first. Unknown fields are
//! skipped, so a newer recorder may write more of them.

use common::conditions::ConditionRow;
use common::origin::{Origin, wall_clock};
use serde::Deserialize;

use super::call::{Callback, CallbackKind, CapturedAnchor, Kernel};
use super::error::Problem;
use super::field::{hexadecimal, int, ranks, time};
use super::strings::Strings;
use super::value::{TextValue, TypeName, WholeNumber};
use super::{FORMAT, Meta};

/// Most GPUs of a process in a row of conditions.
const MOST_GPUS: usize = 64;

/// All fields that a line may have, in any kind of line.
#[derive(Deserialize)]
pub(super) struct LineFields<'a> {
    #[serde(borrow)]
    pub(super) cb: Option<TextValue<'a>>,
    pub(super) t: Option<WholeNumber>,
    pub(super) tid: Option<WholeNumber>,
    pub(super) ctx: Option<WholeNumber>,
    pub(super) h: Option<WholeNumber>,
    pub(super) parent: Option<WholeNumber>,
    pub(super) rank: Option<WholeNumber>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<TypeName<'a>>,
    pub(super) state: Option<WholeNumber>,
    pub(super) arg: Option<WholeNumber>,
    #[serde(borrow)]
    pub(super) comm: Option<TextValue<'a>>,
    #[serde(borrow)]
    pub(super) name: Option<TextValue<'a>>,
    pub(super) nnodes: Option<WholeNumber>,
    pub(super) nranks: Option<WholeNumber>,
    pub(super) seq: Option<WholeNumber>,
    #[serde(borrow)]
    pub(super) func: Option<TextValue<'a>>,
    pub(super) count: Option<WholeNumber>,
    #[serde(borrow)]
    pub(super) dtype: Option<TextValue<'a>>,
    pub(super) root: Option<WholeNumber>,
    pub(super) peer: Option<WholeNumber>,
    pub(super) nch: Option<WholeNumber>,
    pub(super) nwarps: Option<WholeNumber>,
    #[serde(borrow)]
    pub(super) algo: Option<TextValue<'a>>,
    #[serde(borrow)]
    pub(super) proto: Option<TextValue<'a>>,
    pub(super) pid: Option<WholeNumber>,
    pub(super) ch: Option<WholeNumber>,
    pub(super) nsteps: Option<WholeNumber>,
    pub(super) chunk: Option<WholeNumber>,
    pub(super) send: Option<WholeNumber>,
    pub(super) step: Option<WholeNumber>,
    pub(super) tag: Option<WholeNumber>,
    pub(super) sym: Option<WholeNumber>,
    #[serde(borrow)]
    pub(super) variant: Option<TextValue<'a>>,
    pub(super) plugin: Option<WholeNumber>,
    pub(super) dev: Option<WholeNumber>,
    pub(super) qp: Option<WholeNumber>,
    pub(super) fd: Option<WholeNumber>,
    pub(super) bytes: Option<WholeNumber>,
    pub(super) ptimer: Option<WholeNumber>,
    pub(super) phase: Option<WholeNumber>,
    pub(super) depth: Option<WholeNumber>,
    pub(super) graph: Option<WholeNumber>,
    #[serde(borrow)]
    pub(super) stream: Option<TextValue<'a>>,
    pub(super) format: Option<WholeNumber>,
    pub(super) api: Option<WholeNumber>,
    pub(super) mask: Option<WholeNumber>,
    pub(super) real0: Option<WholeNumber>,
    pub(super) mono0: Option<WholeNumber>,
    pub(super) dropped: Option<WholeNumber>,
    pub(super) ends: Option<WholeNumber>,
    pub(super) first: Option<WholeNumber>,
    pub(super) last: Option<WholeNumber>,
    pub(super) begin: Option<WholeNumber>,
    pub(super) at: Option<WholeNumber>,
    pub(super) time: Option<WholeNumber>,
    pub(super) from: Option<WholeNumber>,
    pub(super) until: Option<WholeNumber>,
    pub(super) full: Option<WholeNumber>,
    pub(super) process: Option<Box<Origin>>,
    pub(super) row: Option<Box<ConditionRow>>,
}

/// Content of a line after the first.
pub enum Content {
    /// A callback.
    Call(Callback),
    /// The time of a kernel.
    Kernel(Kernel),
    /// A moment on both clocks.
    Anchor(CapturedAnchor),
    /// What the process had of its host in an interval, which ends at the line's time.
    Conditions(Box<ConditionRow>),
    /// The process has ended.
    End,
    /// A line of a kind that only a recorder of another version writes.
    Unknown(UnknownCallback),
}

/// The known parts of a line whose `cb` is not known.
pub struct UnknownCallback {
    pub(super) cb: String,
    pub(super) line: u32,
    pub(super) h: Option<u64>,
    pub(super) ctx: Option<u32>,
}

impl<'a> LineFields<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        // serde would also take an array for a struct.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            let message = "it does not begin with a brace".to_owned();
            return Err(Problem::Json { message, column: 1 });
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = error.to_string();
            // serde_json restarts its line numbers with each line of the capture, so only the column is of use.
            let place = format!(" at line {line} column {column}");
            let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
            Problem::Json { message, column }
        })
    }

    /// Reads the line as the first line of a capture.
    pub(super) fn meta(&self) -> Result<Meta, Problem> {
        if self.cb.as_ref().is_none_or(|cb| cb.0 != "meta") {
            return Err(Problem::NoMeta);
        }
        let format = self.format.ok_or(Problem::Missing("format"))?;
        if format.0 != i128::from(FORMAT) {
            return Err(Problem::Format { found: format.0 });
        }
        let (api, real0): (_, u64) = (int("api", self.api)?, int("real0", self.real0)?);
        if real0 > common::moments::LATEST {
            return Err(Problem::Day { time: real0 });
        }
        // 0 means that the recorder did not know the time
        let started = Some(real0).filter(|&real0| real0 > 0).and_then(|real0| wall_clock(real0.into()));
        let process = self.process.as_deref().cloned().unwrap_or_default();
        if let Some(ranks) = process.ranks.map(i64::from).filter(|&ranks| !common::ranks::are_possible(ranks)) {
            return Err(Problem::Ranks { field: "process.ranks", ranks });
        }
        Ok(Meta {
            api,
            mask: int("mask", self.mask)?,
            pid: int("pid", self.pid)?,
            real0,
            mono0: time("mono0", self.mono0)?,
            dropped: int("dropped", self.dropped)?,
            full: self.full.map(|full| time("full", Some(full))).transpose()?,
            origin: Origin { interface: Some(api), started, ..process },
        })
    }

    /// Returns whether the meta line announces that the last line will be the end of the process.
    pub(super) fn announces_end(&self) -> bool {
        self.ends.is_some_and(|ends| ends.0 != 0)
    }

    /// Reads the line as a line after the first.
    pub(super) fn content(&self, line: u32, strings: &mut Strings) -> Result<Content, Problem> {
        let what = match self.cb.as_ref().ok_or(Problem::Missing("cb"))?.0.as_ref() {
            "start" => self.start(strings)?,
            "state" => CallbackKind::State {
                h: int("h", self.h)?,
                // any number passes: a newer NCCL has more states than this version knows
                state: int("state", self.state)?,
                arg: self.arg.map(|arg| int("arg", Some(arg))).transpose()?,
            },
            "stop" => CallbackKind::Stop { h: int("h", self.h)? },
            "init" => CallbackKind::Init {
                ctx: int("ctx", self.ctx)?,
                comm: hexadecimal("comm", self.comm.as_ref())?,
                name: strings.keep_name(self.name.as_ref())?,
                nnodes: ranks("nnodes", self.nnodes)?,
                nranks: ranks("nranks", self.nranks)?,
                rank: int("rank", self.rank)?,
            },
            "finalize" => CallbackKind::Finalize { ctx: int("ctx", self.ctx)? },
            "meta" => return Err(Problem::MetaAgain),
            "kernel" => {
                let t = self.time_and_thread()?.0;
                let (h, first, last) = (int("h", self.h)?, int("first", self.first)?, int("last", self.last)?);
                let begin = self.begin.map(|begin| int("begin", Some(begin))).transpose()?;
                let at = self.at.map(|at| time("at", Some(at))).transpose()?;
                if !(first..=last).contains(&begin.unwrap_or(first)) {
                    return Err(Problem::Kernel { first, last, begin });
                }
                return Ok(Content::Kernel(Kernel { t, line, h, first, last, begin, at }));
            }
            "anchor" => {
                let t = self.time_and_thread()?.0;
                let [from, until] = [time("from", self.from)?, time("until", self.until)?];
                if from > until {
                    return Err(Problem::Anchor { from, until });
                }
                return Ok(Content::Anchor(CapturedAnchor {
                    t,
                    h: int("h", self.h)?,
                    time: int("time", self.time)?,
                    from,
                    until,
                }));
            }
            "conditions" => {
                let until = self.time_and_thread()?.0;
                let row = self.row.clone().ok_or(Problem::Missing("row"))?;
                if row.gpus.len() > MOST_GPUS {
                    return Err(Problem::Range { field: "row.gpus", value: row.gpus.len() as i128, range: "0 to 64" });
                }
                return Ok(Content::Conditions(Box::new(ConditionRow { until, ..*row })));
            }
            "end" => return self.time_and_thread().map(|_| Content::End),
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
        let h = self.h.map(|h| int("h", Some(h))).transpose()?;
        let ctx = self.ctx.map(|ctx| int("ctx", Some(ctx))).transpose()?;
        Ok(UnknownCallback { cb: cb.to_owned(), line, h, ctx })
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
