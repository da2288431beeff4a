//! The first line of a recording.

use super::bounds::{self, FORMAT};
use super::error::Problem;
use super::field::{int, time};
use super::line::LineFields;
use common::origin::{Origin, wall_clock};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::Path;

/// The facts of the first line. `O` describes the recorded process: to the reader an [`Origin`], to the writer its JSON
/// of at most [`bounds::PROCESS`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta<O = Origin> {
    /// Version of the profiler interface that NCCL spoke (5 for `ncclProfiler_v5`).
    pub api: u32,
    /// Event types that the recording plugin asked for, one bit each.
    pub mask: u64,
    /// Process id of the recorded process; its own proxy operations carry the same id.
    pub pid: i32,
    /// `CLOCK_REALTIME` in nanoseconds, read at the same moment as `mono0`; 0 where the recorder did not know it.
    pub real0: u64,
    /// `CLOCK_MONOTONIC` in nanoseconds; every [`super::Callback::t`] counts from this time.
    pub mono0: u64,
    /// Number of callbacks that the recorder lost. If it is not 0, figures from this recording are lower bounds.
    pub dropped: u64,
    /// When the recorder's memory became full, in nanoseconds since `mono0`.
    pub full: Option<u64>,
    /// The recorded process, as far as the recorder described it.
    pub origin: O,
}

impl Meta<String> {
    /// Returns the line as a gzip member, whose length does not depend on the content: it is not compressed, so that it
    /// can be overwritten when the number of dropped callbacks is known. It announces that the last line will be the
    /// end of the process.
    ///
    /// # Errors
    /// The line has more than `bounds::META` bytes.
    pub fn member(&self) -> io::Result<Vec<u8>> {
        let Self { api, mask, pid, real0, mono0, dropped, full, origin } = self;
        let full = full.map_or_else(String::new, |full| format!(r#","full":{full}"#));
        let line = format!(
            r#"{{"cb":"meta","format":{FORMAT},"api":{api},"mask":{mask},"pid":{pid},"real0":{real0},"mono0":{mono0},"dropped":{dropped}{full},"ends":1,"process":{origin}}}"#
        );
        if line.len() > bounds::META {
            return Err(io::Error::other("the head does not fit"));
        }
        let mut member = GzEncoder::new(Vec::new(), Compression::none());
        writeln!(member, "{line:width$}", width = bounds::META)?;
        member.finish()
    }
}

impl Meta {
    /// Returns the process' own number. For older recorders, which give none: its id and the time of day at its begin;
    /// for the oldest, a number of the file's path.
    pub fn process(&self, path: &Path) -> String {
        if let Some(id) = &self.origin.id {
            return id.clone();
        }
        if self.real0 > 0 {
            return format!("{}-{}-{}", self.pid, self.real0, self.mono0);
        }
        let mut number = DefaultHasher::new();
        path.canonicalize().unwrap_or_else(|_| path.into()).hash(&mut number);
        format!("{}-file-{:016x}", self.pid, number.finish())
    }

    /// Sets the end of the recording to the time of its last line, in nanoseconds since `mono0`, unless the recorder
    /// has written the end itself.
    pub(crate) fn ends(&mut self, last: u64) {
        let ended = || self.origin.started.as_ref().and_then(|_| wall_clock(i128::from(self.real0) + i128::from(last)));
        self.origin.ended = self.origin.ended.take().or_else(ended);
    }
}

impl LineFields<'_> {
    /// Reads the line as the first line of a recording.
    pub(crate) fn meta(&self) -> Result<Meta, Problem> {
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
    pub(crate) fn announces_end(&self) -> bool {
        self.ends.is_some_and(|ends| ends.0 != 0)
    }
}
