//! The seam for those that listen besides the core: a recording and a second plugin, when the settings ask for one.
//!
//! NCCL holds the core's own handles and contexts, with listeners as without, so what a listener has no room for is
//! lost to that one only. What the core has no handle or context for gets a number of its own ([`Numbers`],
//! [`Contexts`]). Without a listener, a callback pays a load and a branch.

pub mod chain;
pub mod contexts;
pub mod number;
pub mod record;

use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::introduction::Introduction;
use crate::interface::version::Version;
use crate::opening::asked;
use crate::opening::release::Caller;
use crate::tap::chain::Chain;
use crate::tap::contexts::Contexts;
use crate::tap::number::Numbers;
use crate::tap::record::Recording;
use common::config::Settings;
use common::event::State;
use common::handle::Handle;
use common::{callbacks, log, process, recorder, switch};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// Up to v3, init does not introduce the communicator, which a second plugin of a later version relies on.
const OLDEST_CHAINED: u32 = 4;

/// States of the proxy thread.
const PROXY_CTRL_STATES: std::ops::RangeInclusive<c_int> = 13..=18;

/// Set once there is a listener.
static ON: AtomicBool = AtomicBool::new(false);
static TAP: OnceLock<Option<Tap>> = OnceLock::new();

/// The listeners of this process.
#[derive(Debug)]
pub struct Tap {
    numbers: Numbers,
    contexts: Contexts,
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
    if ON.load(Ordering::Relaxed) { tap() } else { None }
}

#[cold]
fn tap() -> Option<&'static Tap> {
    if switch::is_off() { None } else { TAP.get()?.as_ref() }
}

/// NCCL made a communicator: `asked` are the event types that the core asks for, `core` gives its context, told what is
/// asked for in the end. Gives the context and the event types for NCCL.
///
/// # Safety
/// The logger is NULL or NCCL's.
pub unsafe fn init<V: Version>(
    caller: Caller,
    asked: u64,
    introduction: &Introduction<'_>,
    core: impl FnOnce(u64) -> u64,
) -> (u64, u64) {
    // a child that was forked while another thread made them would wait for that thread for ever
    let made = || TAP.get_or_init(|| Tap::from_settings(V::NUMBER)).as_ref();
    let Some(tap) = (if switch::is_off() { None } else { made() }) else { return (core(asked), asked) };
    ON.store(true, Ordering::Relaxed);
    let record = tap.recording.and_then(|recording| Some((recording, recording.moment()?)));
    // SAFETY: the caller's.
    let theirs = tap.chain.as_ref().map_or(0, |chain| unsafe { chain.init(introduction) });
    let asked = asked | tap.chain.as_ref().map_or(0, |chain| tap.harmless(caller, chain.mask(), V::TYPES));
    let core = core(asked);
    let number = tap.contexts.open(core, theirs);
    if let (None, Some(chain), true) = (number, &tap.chain, theirs != 0) {
        // it could never be told of the end
        chain.finalize(theirs);
    }
    let number = number.unwrap_or(core);
    if let Some((recording, moment)) = record {
        recording.init(moment, number, introduction, asked);
    }
    (number, asked)
}

impl Tap {
    fn from_settings(version: u32) -> Option<Self> {
        // what cannot be understood in them was told when the core began
        let (settings, _) = Settings::from_environment();
        if settings.record.is_none() && settings.chain.is_none() {
            return None;
        }
        let contexts = match Contexts::new() {
            Ok(contexts) => contexts,
            Err(error) => {
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
        // where the core could not begin, that was said
        let record = settings.record.as_deref().filter(|_| recorder::begun().is_some());
        let recording = record.and_then(|path| Recording::begin(path, &settings, version));
        if chain.is_none() && recording.is_none() {
            return None;
        }
        let pid = i32::try_from(std::process::id()).unwrap_or(0);
        Some(Self {
            numbers: Numbers::default(),
            contexts,
            recording,
            chain,
            pid,
            version,
            settings,
            told: Once::new(),
        })
    }

    /// Of the types that the second plugin asks for those that NCCL may be asked for: the core's own care holds for it,
    /// too.
    fn harmless(&self, caller: Caller, wanted: u64, known: u64) -> u64 {
        let settings = Settings { mask: Some(wanted), ..self.settings.clone() };
        let asked = asked::types(&settings, caller.release, known, |name| std::env::var(name).ok());
        if let Some(trouble) = asked.left_out.first() {
            self.told
                .call_once(|| log::warn(&format!("the second plugin gets no kernel events: {}", trouble.told(caller))));
        }
        asked.mask
    }

    /// NCCL starts an event. Gives its handle, never 0.
    #[cold]
    pub fn start(&self, context: u64, start: &Descriptor<'_>) -> u64 {
        let record = self.recording.and_then(|recording| Some((recording, recording.moment()?)));
        let core = callbacks::start(self.contexts.core(context), self.numbers.core(start.parent), &start.event());
        let number = self.numbers.of(core);
        if [Handle::kernel_launch(), Handle::nested_launch()].map(Handle::raw).contains(&core) {
            callbacks::number_launch(number);
        }
        // another process' operation (PXN): its context and parent mean nothing here, however much they look like ours
        let foreign = matches!(start.payload, Payload::ProxyOp(operation) if operation.pid != self.pid);
        if let Some((recording, moment)) = record {
            let (context, parent) = if foreign { (0, 0) } else { (context, start.parent) };
            recording.start(moment, number, context, parent, start);
        }
        if let (Some(chain), false) = (&self.chain, foreign) {
            chain.start(number, context, start, self.version, &self.contexts);
        }
        number
    }

    /// NCCL tells that an event's state changed; `change` is the core's word for it.
    #[cold]
    pub fn state(&self, handle: u64, number: c_int, value: Option<u64>, change: State) {
        // of the proxy thread's states NCCL need set no more than an int
        let value =
            value.map(|value| if PROXY_CTRL_STATES.contains(&number) { value & u64::from(u32::MAX) } else { value });
        if let Some(recording) = self.recording {
            recording.state(handle, number, value);
        }
        callbacks::state(self.numbers.core(handle), || change);
        if let Some(chain) = &self.chain {
            chain.state(handle, number, value, &self.contexts);
        }
    }

    /// NCCL stops an event.
    #[cold]
    pub fn stop(&self, handle: u64) {
        if let Some(recording) = self.recording {
            recording.stop(handle);
        }
        callbacks::stop(self.numbers.core(handle));
        if let Some(chain) = &self.chain {
            chain.stop(handle, &self.contexts);
        }
    }

    /// NCCL destroyed a communicator.
    pub fn finalize(&self, context: u64) {
        if let Some(recording) = self.recording {
            recording.finalize(context);
        }
        // before the core ends it: then another communicator may get its place
        let theirs = self.contexts.end(context);
        process::close(self.contexts.core(context));
        if let (Some(chain), true) = (&self.chain, theirs != 0) {
            chain.finalize(theirs);
        }
    }
}
