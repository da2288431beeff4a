//! The stand-in for NCCL: makes the recorded calls in a version of its interface.

use super::descriptor::{self, CNames, RunHandles};
use super::kernels;
use common::callbacks;
use nccl_plugin::introduction::Introduction;
use nccl_plugin::replayed::PlayedVersion;
use recording::{Callback, CallbackKind, Handles, IntroducedCommunicator, RecordedEvent, RecordingSurvey};
use std::collections::HashMap;
use std::ptr;

/// The stand-in for NCCL in one process.
pub(super) struct Nccl<'a> {
    survey: &'a RecordingSurvey,
    own_pid: i32,
    version: PlayedVersion,
    names: CNames,
    /// Contexts and handles of this run, by the recorded ones.
    contexts: HashMap<u32, u64>,
    handles: Handles<u64>,
    /// The group that a thread has started and not stopped, by context and thread. Captures do not name the group of an
    /// operation.
    groups: HashMap<(u32, u32), u64>,
    /// Context and thread of each group in `groups`.
    places: HashMap<u64, (u32, u32)>,
}

impl<'a> Nccl<'a> {
    /// Prepares the stand-in for one capture. Without `interface`, it speaks the capture's version.
    pub(super) fn new(survey: &'a RecordingSurvey, interface: Option<u32>) -> Self {
        Self {
            survey,
            own_pid: i32::try_from(std::process::id()).unwrap_or(0),
            version: PlayedVersion::nearest(interface.unwrap_or(survey.meta.api)),
            names: CNames::default(),
            contexts: HashMap::new(),
            handles: Handles::default(),
            groups: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// Makes one recorded call, with handles, contexts and the process id of this run. Returns the handle of the event
    /// that it starts; 0 for none.
    pub(super) fn call(&mut self, call: &Callback) -> u64 {
        if let CallbackKind::Init { ctx, communicator } = &call.what {
            let IntroducedCommunicator { comm, name, nnodes, nranks, rank } = communicator;
            let name = name.as_ref().map(|name| self.names.text(name));
            let (nodes, ranks, logger) = (*nnodes, *nranks, ptr::null());
            let introduction = Introduction { id: *comm, name, nodes, ranks, rank: *rank, logger };
            self.contexts.insert(*ctx, self.version.init(&introduction));
            return 0;
        }
        // before the first communicator NCCL has no plugin to call
        if self.contexts.is_empty() {
            return 0;
        }
        match &call.what {
            CallbackKind::Init { .. } => {}
            CallbackKind::Start { ctx, h, parent, rank, event } => {
                let handle = self.start((*ctx, call.tid), (*h, *parent), *rank, event);
                self.handles.set(*h, handle);
                return handle;
            }
            CallbackKind::State { h, state, arg } => {
                let handle = self.handles.get(*h);
                let recorded = self.survey.meta.api;
                if let Some(argument) = descriptor::state(self.version.number, recorded, *state, *arg) {
                    self.version.state(handle, i32::try_from(*state).unwrap_or(-1), argument);
                }
            }
            CallbackKind::Stop { h } => {
                if let Some(place) = self.places.remove(h) {
                    self.groups.remove(&place);
                }
                self.version.stop(self.handles.get(*h));
            }
            CallbackKind::Finalize { ctx } => {
                self.version.finalize(self.contexts.get(ctx).copied().unwrap_or(0));
            }
        }
        0
    }

    /// Starts an event in a context on a recorded thread and returns its handle. Returns 0 if the version has no such
    /// events.
    fn start(&mut self, at: (u32, u32), (h, parent): (u64, u64), rank: i32, event: &RecordedEvent) -> u64 {
        if matches!(event, RecordedEvent::Group) {
            if let Some(earlier) = self.groups.insert(at, h) {
                self.places.remove(&earlier);
            }
            self.places.insert(h, at);
        }
        let (version, meta) = (self.version, &self.survey.meta);
        let is_known = version.has(event.bits());
        // only a translation to an older version leaves events out
        if version.number < meta.api && !is_known {
            return 0;
        }
        let pid = match event {
            // the operation of another process must not get this process' id
            RecordedEvent::ProxyOp { pid, .. } if *pid != meta.pid => self.own_pid ^ 1,
            _ => self.own_pid,
        };
        // up to v4, a capture names the group as the parent
        let group = if meta.api <= 4 { parent } else { self.groups.get(&at).copied().unwrap_or(0) };
        let place = RunHandles { parent: self.handles.get(parent), group: self.handles.get(group), rank, pid };
        let descriptor = descriptor::of(version, event, place, &mut self.names);
        // of an event that its version does not have, the library would take the time for that of the next operation
        if let Some(recorded) = kernels::recorded(self.survey, h).filter(|_| is_known) {
            callbacks::replay_launch(recorded);
        }
        version.start(self.contexts.get(&at.0).copied().unwrap_or(0), &descriptor)
    }
}
