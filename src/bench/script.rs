//! A capture prepared for the fastest playing: everything in the calls is computed beforehand except what a plugin
//! returns.

use crate::capture::{CallbackKind, Capture, CapturedEvent};
use crate::host::c_memory::CMemory;
use crate::host::descriptor::{self, StateArgument};
use std::collections::HashMap;
use std::ffi::CString;

use super::template::Template;

/// Approximate least time of a call.
const NANOSECONDS_PER_CALL: u64 = 8;
/// States of a kernel channel and of a kernel phase whose argument is a stamp of the GPU.
const STAMPED_STATES: [u32; 2] = [22, 31];

/// A communicator of the capture.
#[derive(Debug)]
pub(super) struct ScriptCommunicator {
    pub(super) comm: u64,
    pub(super) name: Option<CString>,
    /// Number of nodes, number of ranks, and this process' rank.
    pub(super) shape: [i32; 3],
}

/// A call. Handles are places in a table of the handles that are still needed; place 0 holds no handle.
#[derive(Debug, Clone, Copy)]
pub(super) enum ScriptStep {
    Start { template: u32, context: u32, handle: u32, parent: u32, group: u32, stamp: u64 },
    State { handle: u32, state: i32, argument: Option<u64>, stamped: bool },
    Stop { handle: u32 },
}

impl ScriptStep {
    /// Returns the GPU's stamp in the call.
    fn stamp(&mut self) -> Option<&mut u64> {
        match self {
            Self::Start { stamp, .. } if *stamp > 0 => Some(stamp),
            Self::State { argument: Some(stamp), stamped: true, .. } => Some(stamp),
            _ => None,
        }
    }
}

/// A capture prepared for playing; each playing thread has handles of its own.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) communicators: Vec<ScriptCommunicator>,
    pub(super) steps: Vec<ScriptStep>,
    pub(super) templates: Vec<Template>,
    /// Number of places for handles.
    pub(super) handles: usize,
    /// Number of starts among the steps.
    pub(super) starts: usize,
}

impl Script {
    /// Prepares a capture for a version of the interface.
    pub(super) fn new(capture: &Capture, api: u32) -> Self {
        let mut script =
            Self { communicators: Vec::new(), steps: Vec::new(), templates: Vec::new(), handles: 1, starts: 0 };
        let mut registers = Registers::new(capture);
        let (mut contexts, mut groups) = (HashMap::new(), HashMap::new());
        let (mut known, mut strings) = (HashMap::new(), CMemory::default());
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        for (number, call) in capture.lines.iter().enumerate() {
            match &call.what {
                CallbackKind::Init { ctx, comm, name, nnodes, nranks, rank } => {
                    contexts.insert(*ctx, script.communicators.len() as u32);
                    let name = name.as_ref().and_then(|name| CString::new(name.as_bytes()).ok());
                    script.communicators.push(ScriptCommunicator {
                        comm: *comm,
                        name,
                        shape: [*nnodes, *nranks, *rank],
                    });
                }
                CallbackKind::Finalize { .. } => {}
                CallbackKind::Start { ctx, h, parent, rank, event } => {
                    if matches!(event, CapturedEvent::Group) {
                        groups.insert((*ctx, call.tid), *h);
                    }
                    let Some(&context) = contexts.get(ctx) else { continue };
                    if api < capture.meta.api && api < descriptor::since(event) {
                        registers.forget(*h);
                        continue;
                    }
                    let is_foreign = matches!(event, CapturedEvent::ProxyOp { pid, .. } if *pid != capture.meta.pid);
                    let pid = if is_foreign { own ^ 1 } else { own };
                    let template = Template::new(api, event, *rank, pid, &mut strings);
                    let template = *known.entry(template).or_insert_with_key(|template| {
                        script.templates.push(template.clone());
                        script.templates.len() as u32 - 1
                    });
                    let recorded = groups.get(&(*ctx, call.tid)).copied().unwrap_or(0);
                    let is_operation = matches!(event, CapturedEvent::Coll { .. } | CapturedEvent::P2p { .. });
                    let [parent, group] = match (api <= 4, capture.meta.api <= 4) {
                        // up to v4 the group is the parent, in a capture as in a call
                        (true, false) if is_operation => [recorded, 0],
                        (false, true) if is_operation => [0, *parent],
                        _ => [*parent, recorded],
                    };
                    let stamp = match event {
                        CapturedEvent::KernelCh { ptimer, .. } | CapturedEvent::KernelPhase { ptimer, .. } => *ptimer,
                        _ => 0,
                    };
                    let (parent, group) = (registers.of(parent), registers.of(group));
                    let handle = registers.begin(*h);
                    script.steps.push(ScriptStep::Start { template, context, handle, parent, group, stamp });
                    script.starts += 1;
                }
                CallbackKind::State { h, state, arg } => {
                    if let Some(argument) = descriptor::state(api, capture.meta.api, *state, *arg) {
                        let argument = argument.map(|words: StateArgument| words[0]);
                        let stamped = STAMPED_STATES.contains(state) && argument.is_some();
                        let state = i32::try_from(*state).unwrap_or(-1);
                        script.steps.push(ScriptStep::State { handle: registers.of(*h), state, argument, stamped });
                    }
                }
                CallbackKind::Stop { h } => {
                    groups.retain(|_, group| group != h);
                    script.steps.push(ScriptStep::Stop { handle: registers.of(*h) });
                }
            }
            registers.end(number);
        }
        script.handles = registers.count as usize;
        script.hasten();
        script
    }

    /// Replaces the GPU's stamps by times right before the calls that report them, in nanoseconds since the script's
    /// begin. A playing takes a fraction of the recorded time, so a plugin that compares clocks would reject the
    /// recorded stamps.
    fn hasten(&mut self) {
        for (number, step) in self.steps.iter_mut().enumerate() {
            if let Some(stamp) = step.stamp() {
                *stamp = time_of(number);
            }
        }
    }
}

/// Returns when the fastest playing makes the call of this number, nanoseconds since the script's begin.
pub(super) fn time_of(number: usize) -> u64 {
    NANOSECONDS_PER_CALL * number as u64
}

/// Place for the handle of an event to which the recorded plugin gave no handle; it is written, never read.
const NOBODYS: u32 = 1;

/// The handles that are alive, and their places in the table. A table of all handles of a recording would be as large
/// as the recording, and looking into it would take most of the measured time.
struct Registers {
    count: u32,
    free: Vec<u32>,
    places: HashMap<u64, u32>,
    /// Handles by the number of the call that uses them last.
    last_uses: HashMap<usize, Vec<u64>>,
}

impl Registers {
    fn new(capture: &Capture) -> Self {
        let mut last = HashMap::new();
        let mut groups: HashMap<(u32, u32), u64> = HashMap::new();
        for (number, call) in capture.lines.iter().enumerate() {
            match &call.what {
                CallbackKind::Start { ctx, h, parent, event, .. } => {
                    if matches!(event, CapturedEvent::Group) {
                        groups.insert((*ctx, call.tid), *h);
                    }
                    let group = groups.get(&(*ctx, call.tid)).copied().unwrap_or(0);
                    last.extend([*h, *parent, group].map(|used| (used, number)));
                }
                CallbackKind::State { h, .. } => {
                    last.insert(*h, number);
                }
                CallbackKind::Stop { h } => {
                    last.insert(*h, number);
                    groups.retain(|_, group| group != h);
                }
                _ => {}
            }
        }
        let mut last_uses: HashMap<usize, Vec<u64>> = HashMap::new();
        last.into_iter().for_each(|(handle, number)| last_uses.entry(number).or_default().push(handle));
        Self { count: NOBODYS + 1, free: Vec::new(), places: HashMap::new(), last_uses }
    }

    /// Returns the place of a handle; 0 for a handle that is not alive.
    fn of(&self, handle: u64) -> u32 {
        self.places.get(&handle).copied().unwrap_or(0)
    }

    /// Returns a place for a new handle.
    fn begin(&mut self, handle: u64) -> u32 {
        if handle == 0 {
            return NOBODYS;
        }
        self.forget(handle);
        let place = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        self.places.insert(handle, place);
        place
    }

    fn forget(&mut self, handle: u64) {
        self.free.extend(self.places.remove(&handle));
    }

    /// Frees the places of the handles that the call of this number used last.
    fn end(&mut self, number: usize) {
        for handle in self.last_uses.remove(&number).unwrap_or_default() {
            self.forget(handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture;
    use std::path::Path;

    fn read(name: &str) -> Capture {
        capture::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)).unwrap()
    }

    /// Plays the script with a plugin that returns the recorded handles.
    #[test]
    fn every_call_names_the_handle_that_was_recorded() {
        for name in [
            "nodes2x2_train/train.r0.jsonl.gz",
            "nodes2x1_comms/comms.r0.jsonl.gz",
            "v231_nvlink2_graph/graph.r0.jsonl.gz",
        ] {
            let capture = read(name);
            let script = Script::new(&capture, 7);
            assert!(script.handles < 1000, "{name}: {} handles at a time", script.handles);
            let mut handles = vec![0; script.handles];
            let mut steps = script.steps.iter();
            for call in &capture.lines {
                match &call.what {
                    CallbackKind::Init { .. } | CallbackKind::Finalize { .. } => {}
                    CallbackKind::Start { h, parent: wanted, .. } => {
                        let Some(ScriptStep::Start { handle, parent, .. }) = steps.next() else {
                            panic!("line {}", call.line)
                        };
                        assert_eq!(handles[*parent as usize], *wanted, "{name} line {}", call.line);
                        handles[*handle as usize] = *h;
                        // the event has no handle: its place must not keep a value
                        handles[NOBODYS as usize] = 0;
                    }
                    CallbackKind::State { h, .. } => {
                        let Some(ScriptStep::State { handle, .. }) = steps.next() else { panic!("line {}", call.line) };
                        assert_eq!(handles[*handle as usize], *h, "{name} line {}", call.line);
                    }
                    CallbackKind::Stop { h } => {
                        let Some(ScriptStep::Stop { handle }) = steps.next() else { panic!("line {}", call.line) };
                        assert_eq!(handles[*handle as usize], *h, "{name} line {}", call.line);
                    }
                }
            }
            assert!(steps.next().is_none());
        }
    }

    #[test]
    fn older_versions_are_told_of_fewer_events() {
        let capture = read("nodes2x2_train/train.r0.jsonl.gz");
        let starts = [1, 3, 5].map(|api| Script::new(&capture, api).starts);
        assert!(starts[0] < starts[1] && starts[1] < starts[2], "{starts:?}");
        assert_eq!(starts[2], Script::new(&capture, 7).starts);
    }
}
