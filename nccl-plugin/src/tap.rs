//! The seam for those that listen besides the core: a recording and a second plugin, when the settings ask for one.
//!
//! NCCL holds one handle for an event and one context for a communicator, so with a listener both are numbers of [`Slab`]s here,
//! which stand for the core's and the second plugin's. Without one, a callback pays a load and a branch.

use crate::asked;
use crate::chain::Chain;
use crate::descriptor::{Descriptor, Payload};
use crate::record::Recording;
use crate::release::Caller;
use crate::slab::{Meaning, Slab};
use crate::version::Version;
use common::config::Settings;
use common::event::State;
use common::handle::Handle;
use common::{callbacks, log, switch};
use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Events whose handles are told apart, as a power of two: 32 MiB when all are used.
const HANDLE_BITS: u32 = 20;
/// Communicators whose contexts are told apart, as a power of two.
const CONTEXT_BITS: u32 = 16;

/// Up to v3, init does not introduce the communicator, which a second plugin of a later version relies on.
const OLDEST_CHAINED: u32 = 4;

/// States of the proxy thread.
const PROXY_CTRL_STATES: std::ops::RangeInclusive<c_int> = 13..=18;

/// Set once there is a listener.
static ON: AtomicBool = AtomicBool::new(false);
static TAP: OnceLock<Option<Tap>> = OnceLock::new();

/// A communicator, as NCCL's init introduces it.
#[derive(Debug, Clone, Copy)]
pub struct Introduction<'a> {
    /// Communicator id.
    pub id: u64,
    /// Its name, when it has one.
    pub name: Option<&'a CStr>,
    /// Nodes.
    pub nodes: c_int,
    /// Ranks.
    pub ranks: c_int,
    /// This one.
    pub rank: c_int,
    /// NCCL's function for log lines.
    pub logger: *const c_void,
}

/// The listeners of this process.
#[derive(Debug)]
pub struct Tap {
    handles: Slab,
    contexts: Slab,
    recording: Option<&'static Recording>,
    chain: Option<Chain>,
    pid: i32,
    /// The version that NCCL speaks.
    version: u32,
    settings: Settings,
    told: Once,
}

/// The listeners, if there are any.
#[inline]
pub fn get() -> Option<&'static Tap> {
    if !ON.load(Ordering::Relaxed) || switch::is_off() {
        return None;
    }
    TAP.get()?.as_ref()
}

/// NCCL made a communicator: `asked` are the event types that the core asks for, `core` gives its context, told what is asked for in
/// the end. Gives the context and the event types for NCCL.
///
/// # Safety
/// The logger is NULL or NCCL's.
pub unsafe fn init<V: Version>(
    caller: Caller,
    asked: u64,
    introduction: &Introduction<'_>,
    core: impl FnOnce(u64) -> u64,
) -> (u64, u64) {
    let tap = TAP.get_or_init(|| Tap::from_settings(V::NUMBER));
    let Some(tap) = tap.as_ref().filter(|_| !switch::is_off()) else { return (core(asked), asked) };
    ON.store(true, Ordering::Relaxed);
    let serial = tap.contexts.reserve();
    let record = tap.recording.map(|recording| (recording, recording.moment()));
    // SAFETY: the caller's.
    let theirs = tap.chain.as_ref().map_or(0, |chain| unsafe { chain.init(introduction) });
    let asked = asked | tap.chain.as_ref().map_or(0, |chain| tap.harmless(caller, chain.mask(), V::TYPES));
    if let Some((recording, moment)) = record {
        recording.init(moment, serial, introduction, asked);
    }
    tap.contexts.fill(serial, Meaning { core: core(asked), theirs, owner: 0 });
    (tap.contexts.number(serial), asked)
}

/// A number that the core counts as ignored, unless it is NULL: not one that it could have given out.
fn unknown(number: u64) -> u64 {
    if number == 0 { 0 } else { Handle::new(1, 0).raw() ^ 1 << 56 }
}

impl Tap {
    fn from_settings(version: u32) -> Option<Self> {
        // what cannot be understood in them was told when the core began
        let (settings, _) = Settings::from_environment();
        if settings.record.is_none() && settings.chain.is_none() {
            return None;
        }
        let (handles, contexts) = match (Slab::new(HANDLE_BITS), Slab::new(CONTEXT_BITS)) {
            (Ok(handles), Ok(contexts)) => (handles, contexts),
            (Err(error), _) | (_, Err(error)) => {
                log::warn(&format!("no memory for NCCL_SCOREP_RECORD or NCCL_SCOREP_CHAIN ({error}); both are off"));
                return None;
            }
        };
        let chain = settings.chain.as_deref().filter(|name| {
            let can = version >= OLDEST_CHAINED;
            if !can {
                log::warn(&format!("NCCL_SCOREP_CHAIN={name}: no second plugin: it needs NCCL 2.27 or later"));
            }
            can
        });
        let chain = chain.and_then(Chain::load);
        let recording = settings.record.as_deref().and_then(|path| Recording::begin(path, settings.record_bytes, version));
        if chain.is_none() && recording.is_none() {
            return None;
        }
        let pid = i32::try_from(std::process::id()).unwrap_or(0);
        Some(Self { handles, contexts, recording, chain, pid, version, settings, told: Once::new() })
    }

    /// Of the types that the second plugin asks for those that NCCL may be asked for: the core's own care holds for it, too.
    fn harmless(&self, caller: Caller, wanted: u64, known: u64) -> u64 {
        let settings = Settings { mask: Some(wanted), ..self.settings.clone() };
        let asked = asked::types(&settings, caller.release, known, |name| std::env::var(name).ok());
        if let Some(trouble) = asked.left_out.first() {
            let (name, value) = trouble.cure;
            let what = format!("with {caller}, {}. Set {name}={value} to have them", trouble.what);
            self.told.call_once(|| log::warn(&format!("the second plugin gets no kernel events: {what}")));
        }
        asked.mask
    }

    /// NCCL starts an event. Gives its handle, never 0.
    pub fn start(&self, context: u64, start: &Descriptor<'_>) -> u64 {
        let serial = self.handles.reserve();
        // another process' operation (PXN): its context and parent mean nothing here, however much they look like ours
        let foreign = matches!(start.payload, Payload::ProxyOp(operation) if operation.pid != self.pid);
        let ours = |number: u64| if foreign { 0 } else { number };
        if let Some(recording) = self.recording {
            let context = self.contexts.serial(ours(context)).unwrap_or(0);
            let parent = self.handles.serial(ours(start.parent)).unwrap_or(0);
            recording.start(serial, context, parent, start);
        }
        let owner = self.contexts.find(ours(context));
        let parent = self.handles.find(ours(start.parent));
        let core_context = owner.map_or_else(|| unknown(context), |(owner, _)| owner.core);
        let core_parent = parent.map_or_else(|| unknown(start.parent), |(parent, _)| parent.core);
        let core = callbacks::start(core_context, core_parent, &start.event());
        let theirs = match (&self.chain, owner) {
            (Some(chain), Some((owner, false))) if owner.theirs != 0 => {
                chain.start(owner.theirs, start, self.version, |number| self.theirs(ours(number)))
            }
            _ => 0,
        };
        self.handles.fill(serial, Meaning { core, theirs, owner: context });
        self.handles.number(serial)
    }

    /// NCCL tells that an event's state changed; `change` is the core's word for it.
    pub fn state(&self, handle: u64, number: c_int, value: Option<u64>, change: State) {
        // of the proxy thread's states NCCL need set no more than an int
        let value = value.map(|value| if PROXY_CTRL_STATES.contains(&number) { value & u64::from(u32::MAX) } else { value });
        if let Some(recording) = self.recording {
            recording.state(self.handles.serial(handle).unwrap_or(0), number, value);
        }
        let found = self.handles.find(handle);
        callbacks::state(found.map_or_else(|| unknown(handle), |(meaning, _)| meaning.core), change);
        if let (Some(chain), Some((meaning, false))) = (&self.chain, found)
            && meaning.theirs != 0
            && self.is_alive(meaning.owner)
        {
            chain.state(meaning.theirs, number, value);
        }
    }

    /// NCCL stops an event.
    pub fn stop(&self, handle: u64) {
        if let Some(recording) = self.recording {
            recording.stop(self.handles.serial(handle).unwrap_or(0));
        }
        let found = self.handles.find(handle).map(|(meaning, _)| meaning);
        callbacks::stop(found.map_or_else(|| unknown(handle), |meaning| meaning.core));
        let first = self.handles.end(handle);
        if let (Some(chain), Some(meaning), true) = (&self.chain, found, first)
            && meaning.theirs != 0
            && self.is_alive(meaning.owner)
        {
            chain.stop(meaning.theirs);
        }
    }

    /// NCCL destroyed a communicator.
    pub fn finalize(&self, context: u64) {
        if let Some(recording) = self.recording {
            recording.finalize(self.contexts.serial(context).unwrap_or(0));
        }
        let found = self.contexts.find(context).map(|(meaning, _)| meaning);
        callbacks::finalize(found.map_or_else(|| unknown(context), |meaning| meaning.core));
        let first = self.contexts.end(context);
        if let (Some(chain), Some(meaning), true) = (&self.chain, found, first)
            && meaning.theirs != 0
        {
            chain.finalize(meaning.theirs);
        }
    }

    /// The second plugin's handle for a handle of ours; NULL when it has none, or when its communicator is gone, and with it,
    /// maybe, the memory behind the handle.
    fn theirs(&self, handle: u64) -> u64 {
        let found = self.handles.find(handle).filter(|(meaning, _)| meaning.theirs != 0 && self.is_alive(meaning.owner));
        found.map_or(0, |(meaning, _)| meaning.theirs)
    }

    fn is_alive(&self, context: u64) -> bool {
        self.contexts.find(context).is_some_and(|(_, ended)| !ended)
    }
}
