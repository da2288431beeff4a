//! Plays a script against a plugin as fast as possible.

use super::script::{Script, ScriptStep, time_of};
use super::template::Template;
use crate::host::table::TableFunctions;
use common::clock::{Clock, monotonic};
use hdrhistogram::Histogram;
use std::ffi::{c_int, c_void};

/// Number of calls for one copy of the communicators before the next copy's turn.
const TURN: usize = 16;

/// Number of turns after which the GPU's clock is set by the system's again.
const TURNS_AT_A_TIME: usize = 64;

/// Makes the calls of a player, and may observe them.
pub(super) trait CallObserver {
    /// Makes the call. Its result is ignored, as NCCL ignores it.
    fn call(&mut self, call: impl FnOnce() -> c_int);
}

/// Makes the calls and observes nothing.
pub(super) struct Unwatched;

impl CallObserver for Unwatched {
    #[inline(always)]
    fn call(&mut self, call: impl FnOnce() -> c_int) {
        call();
    }
}

/// Notes how long each call takes, in ticks of the clock.
pub(super) struct Latencies<'a> {
    pub(super) clock: &'a Clock,
    pub(super) ticks: Histogram<u64>,
}

impl CallObserver for Latencies<'_> {
    #[inline(always)]
    fn call(&mut self, call: impl FnOnce() -> c_int) {
        let before = self.clock.now();
        call();
        self.ticks.saturating_record(self.clock.now().saturating_sub(before));
    }
}

/// State of one playing thread. Handles and descriptors are its own; all threads share the contexts.
#[derive(Debug)]
pub(super) struct Player<'a> {
    functions: TableFunctions,
    script: &'a Script,
    /// Contexts of the communicators, for each copy of them.
    contexts: &'a [Vec<u64>],
    templates: Vec<Template>,
    /// Handles by place, for each copy.
    handles: Vec<Vec<u64>>,
}

impl<'a> Player<'a> {
    pub(super) fn new(functions: TableFunctions, script: &'a Script, contexts: &'a [Vec<u64>]) -> Self {
        let handles = contexts.iter().map(|_| vec![0; script.handles]).collect();
        Self { functions, script, contexts, templates: script.templates.clone(), handles }
    }

    /// Plays the script once for every copy. The GPU's clock shows the system's time; it is set now and then.
    pub(super) fn play(&mut self, watch: &mut impl CallObserver) {
        let mut later = 0;
        let Self { functions, script, contexts, templates, handles } = self;
        for (number, turn) in script.steps.chunks(TURN).enumerate() {
            if number % TURNS_AT_A_TIME == 0 {
                later = monotonic().saturating_sub(time_of(number * TURN));
            }
            for (contexts, handles) in contexts.iter().zip(handles.iter_mut()) {
                for step in turn {
                    make(functions, step, contexts, templates, handles, later, watch);
                }
            }
        }
    }
}

#[inline(always)]
fn make(
    functions: &TableFunctions,
    step: &ScriptStep,
    contexts: &[u64],
    templates: &mut [Template],
    handles: &mut [u64],
    later: u64,
    watch: &mut impl CallObserver,
) {
    let pointer = |number: u64| number as *mut c_void;
    match *step {
        ScriptStep::Start { template, context, handle, parent, group, stamp } => {
            let (parent, group) = (handles[parent as usize], handles[group as usize]);
            let descriptor = templates[template as usize].fill(parent, group, stamp.wrapping_add(later));
            let place = (&raw mut handles[handle as usize]).cast();
            let context = pointer(contexts[context as usize]);
            // SAFETY: the descriptor is laid out for the table's version, and its strings live as long as the process.
            // `place` points to an entry for a handle.
            watch.call(|| unsafe { (functions.start)(context, place, descriptor) });
        }
        ScriptStep::State { handle, state, argument, stamped } => {
            let handle = pointer(handles[handle as usize]);
            let argument = argument.map(|argument| [if stamped { argument.wrapping_add(later) } else { argument }, 0]);
            let argument = argument.as_ref().map_or(std::ptr::null(), |words| words.as_ptr());
            // SAFETY: the argument is NULL or as large as the largest version's union.
            watch.call(|| unsafe { (functions.state)(handle, state, argument) });
        }
        ScriptStep::Stop { handle } => {
            let handle = pointer(handles[handle as usize]);
            // SAFETY: the plugin gave this handle.
            watch.call(|| unsafe { (functions.stop)(handle) });
        }
    }
}
