//! What the player of a recording must know before the first call.

use std::collections::{BTreeSet, HashMap};

use super::bounds;
use super::callback::{
    Callback, CallbackKind, Content, IntroducedCommunicator, Kernel, RecordedAnchor, UnknownCallback,
};
use super::error::Problem;
use super::event::RecordedEvent;
use super::meta::Meta;

/// What the first reading of a recording finds.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingSurvey {
    /// The recorded process and the circumstances of the recording.
    pub meta: Meta,
    /// Number of calls.
    pub calls: usize,
    /// The calling threads.
    pub threads: BTreeSet<u32>,
    /// The thread that makes the first call.
    pub main: u32,
    /// Earliest time of a line, nanoseconds since [`Meta::mono0`].
    pub begin: u64,
    /// Latest time of a line, nanoseconds since [`Meta::mono0`].
    pub end: u64,
    /// Times of kernels by the handle of their event; the first time counts where an event has several.
    pub kernels: HashMap<u64, Kernel>,
    /// Anchors by the handle of their launch's event.
    pub anchors: HashMap<u64, RecordedAnchor>,
    /// Communicators with their contexts, in the order of their creation.
    pub communicators: Vec<(u32, IntroducedCommunicator)>,
    /// Context and peer of each rank that proxy operations send to.
    pub sends: BTreeSet<(u32, i32)>,
    /// Whether NCCL reported a broadcast as a `Coll` event. Releases from 2.29 on do so only with
    /// `NCCL_ALLGATHERV_ENABLE=0`.
    pub broadcasts: bool,
    /// Lines of kinds that this tool does not know.
    pub skipped: Skipped,
    /// Whether the recording goes to the end of its process.
    pub is_complete: bool,
}

/// Lines that were skipped because their kind is not known to this version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Number of skipped lines.
    pub count: usize,
    /// `cb` and line number of the first skipped line.
    pub first: Option<(String, u32)>,
}

impl Skipped {
    pub(crate) fn note(&mut self, unknown: &UnknownCallback) {
        self.count += 1;
        self.first.get_or_insert_with(|| (unknown.cb.clone(), unknown.line));
    }
}

impl RecordingSurvey {
    /// Returns the survey of a recording of which only the first line was read.
    pub fn new(meta: Meta) -> Self {
        Self {
            meta,
            calls: 0,
            threads: BTreeSet::new(),
            main: 1,
            begin: u64::MAX,
            end: 0,
            kernels: HashMap::new(),
            anchors: HashMap::new(),
            communicators: Vec::new(),
            sends: BTreeSet::new(),
            broadcasts: false,
            skipped: Skipped::default(),
            is_complete: true,
        }
    }

    /// Adds a line.
    pub fn note(&mut self, content: &Content) -> Result<(), Problem> {
        let t = match content {
            Content::Call(call) => self.call(call)?,
            Content::Kernel(kernel) => {
                self.kernels.entry(kernel.h).or_insert(*kernel);
                kernel.t
            }
            Content::Anchor(anchor) => {
                self.anchors.entry(anchor.h).or_insert(*anchor);
                anchor.t
            }
            Content::End(_) | Content::Conditions(_) => return Ok(()),
            Content::Unknown(unknown) => {
                self.skipped.note(unknown);
                return Ok(());
            }
        };
        self.begin = self.begin.min(t);
        self.end = self.end.max(t);
        Ok(())
    }

    /// Adds a call and returns its time.
    fn call(&mut self, call: &Callback) -> Result<u64, Problem> {
        if self.calls == 0 {
            self.main = call.tid;
        }
        self.calls += 1;
        if self.threads.insert(call.tid) && self.threads.len() > bounds::THREADS {
            return Err(Problem::Threads);
        }
        match &call.what {
            CallbackKind::Init { ctx, communicator } => self.communicators.push((*ctx, communicator.clone())),
            CallbackKind::Start { ctx, event: RecordedEvent::ProxyOp { peer, send, .. }, .. } if *send != 0 => {
                self.sends.insert((*ctx, *peer));
            }
            CallbackKind::Start { event: RecordedEvent::Coll { function, .. }, .. } => {
                self.broadcasts |= function.as_deref() == Some("Broadcast")
            }
            _ => {}
        }
        Ok(call.t)
    }
}
