//! What a capture is of, as far as its player must know it before the first call.

use std::collections::{BTreeSet, HashMap};

use super::bounds;
use super::call::{Call, Event, Kernel, What};
use super::error::Problem;
use super::line::Content;
use super::{Meta, Skipped};

/// What one reading of a capture tells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Survey {
    /// Under which circumstances it was recorded.
    pub(crate) meta: Meta,
    /// Number of calls.
    pub(crate) calls: usize,
    /// The threads that call; the first one to call is `main`.
    pub(crate) threads: BTreeSet<u32>,
    /// See `threads`.
    pub(crate) main: u32,
    /// First and last time of a line, nanoseconds since [`Meta::mono0`].
    pub(crate) begin: u64,
    /// See `begin`.
    pub(crate) end: u64,
    /// Times of kernels by the handle of the event that they are of; of several the first.
    pub(crate) kernels: HashMap<u64, Kernel>,
    /// Communicators in the order made.
    pub(crate) communicators: Vec<Communicator>,
    /// Ranks that something is sent to, with the context.
    pub(crate) sends: BTreeSet<(u32, i32)>,
    /// Whether NCCL told of a broadcast beyond its call: releases from 2.29 on do so only with
    /// `NCCL_ALLGATHERV_ENABLE=0`.
    pub(crate) broadcasts: bool,
    /// Lines of kinds that this tool does not know.
    pub(crate) skipped: Skipped,
    /// Whether it goes to the end of its process.
    pub(crate) is_complete: bool,
}

/// A communicator as it was introduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Communicator {
    /// Its context.
    pub(crate) ctx: u32,
    /// Its id.
    pub(crate) comm: u64,
    /// Number of nodes, of ranks, and the process' rank.
    pub(crate) nnodes: i32,
    /// See `nnodes`.
    pub(crate) nranks: i32,
    /// See `nnodes`.
    pub(crate) rank: i32,
}

impl Survey {
    /// Of a capture of which only the first line was read.
    pub(crate) fn new(meta: Meta) -> Self {
        Self {
            meta,
            calls: 0,
            threads: BTreeSet::new(),
            main: 1,
            begin: u64::MAX,
            end: 0,
            kernels: HashMap::new(),
            communicators: Vec::new(),
            sends: BTreeSet::new(),
            broadcasts: false,
            skipped: Skipped::default(),
            is_complete: true,
        }
    }

    /// Goes on by a line.
    pub(crate) fn note(&mut self, content: &Content) -> Result<(), Problem> {
        let t = match content {
            Content::Call(call) => self.call(call)?,
            Content::Kernel(kernel) => {
                self.kernels.entry(kernel.h).or_insert(*kernel);
                kernel.t
            }
            Content::End => return Ok(()),
            Content::Unknown(unknown) => {
                self.skipped.note(unknown);
                return Ok(());
            }
        };
        self.begin = self.begin.min(t);
        self.end = self.end.max(t);
        Ok(())
    }

    /// The time of the call.
    fn call(&mut self, call: &Call) -> Result<u64, Problem> {
        if self.calls == 0 {
            self.main = call.tid;
        }
        self.calls += 1;
        if self.threads.insert(call.tid) && self.threads.len() > bounds::THREADS {
            return Err(Problem::Threads);
        }
        match &call.what {
            &What::Init { ctx, comm, nnodes, nranks, rank, .. } => {
                self.communicators.push(Communicator { ctx, comm, nnodes, nranks, rank });
            }
            &What::Start { ctx, event: Event::ProxyOp { peer, send: true, .. }, .. } => {
                self.sends.insert((ctx, peer));
            }
            What::Start { event: Event::Coll { func, .. }, .. } => {
                self.broadcasts |= func.as_deref() == Some("Broadcast")
            }
            _ => {}
        }
        Ok(call.t)
    }
}
