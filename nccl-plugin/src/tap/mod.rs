//! The listeners besides the core, if the settings ask for them: a recording and a second plugin.
//!
//! NCCL holds the core's own handles and contexts, with and without listeners. So if a listener has no room for an
//! event, only that listener loses it. An event or communicator without a handle or context of the core gets a number
//! of its own ([`NumberSource`], [`Contexts`]). Without a listener, a callback pays a load and a branch.

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
use crate::tap::number::NumberSource;
use crate::tap::record::Recording;
use common::config::{self, Settings};
use common::event::StateChange;
use common::handle::Handle;
use common::{callbacks, log, process, recorder, switch};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

/// A second plugin needs v4 or later: up to v3, init does not describe the communicator.
const OLDEST_CHAINED: u32 = 4;

/// States of the proxy thread.
const PROXY_CTRL_STATES: std::ops::RangeInclusive<c_int> = 13..=18;

/// Whether there is a listener.
static ON: AtomicBool = AtomicBool::new(false);
static TAP: OnceLock<Option<Tap>> = OnceLock::new();

/// The listeners of this process.
#[derive(Debug)]
pub struct Tap {
    numbers: NumberSource,
    contexts: Contexts,
    recording: Option<&'static Recording>,
    chain: Option<Chain>,
    pid: i32,
    /// The version of the interface that NCCL uses.
    version: u32,
    settings: Settings,
    told: Once,
}

/// Returns the listeners, if there are any.
#[inline]
pub fn get() -> Option<&'static Tap> {
    if ON.load(Ordering::Relaxed) { tap() } else { None }
}

#[cold]
fn tap() -> Option<&'static Tap> {
    if switch::is_off() { None } else { TAP.get()?.as_ref() }
}

/// Opens a communicator for the core and the listeners. `asked` are the event types that the core asks for; `core`
/// opens the core's context, given the event types that NCCL is asked for in the end and those among them for the second
/// plugin. Returns NCCL's context and these types.
///
/// # Safety
/// The logger is NULL or NCCL's.
pub unsafe fn init<V: Version>(
    caller: Caller,
    asked: u64,
    introduction: &Introduction<'_>,
    core: impl FnOnce(u64, u64) -> u64,
) -> (u64, u64) {
    // a forked child does not get here: if another thread was creating the listeners, the child would wait for it
    // forever
    let made = || TAP.get_or_init(|| Tap::from_settings(V::NUMBER)).as_ref();
    let Some(tap) = (if switch::is_off() { None } else { made() }) else { return (core(asked, 0), asked) };
    ON.store(true, Ordering::Relaxed);
    let record = tap.recording.and_then(|recording| Some((recording, recording.moment()?)));
    // SAFETY: the caller upholds the condition.
    let theirs = tap.chain.as_ref().map_or(0, |chain| unsafe { chain.init(introduction) });
    let of_chain = tap.chain.as_ref().map_or(0, |chain| tap.harmless(caller, chain.mask(), V::TYPES));
    let asked = asked | of_chain;
    let core = core(asked, of_chain);
    let number = tap.contexts.open(core, theirs);
    if let (None, Some(chain), true) = (number, &tap.chain, theirs != 0) {
        // without a number, nobody could end this context later
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
        let settings = config::settings().clone();
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
        // if the core could not begin, it has said so
        let record = settings.record.as_deref().filter(|_| recorder::begun().is_some());
        let recording = record.and_then(|path| Recording::begin(path, &settings, version));
        if chain.is_none() && recording.is_none() {
            return None;
        }
        let pid = i32::try_from(std::process::id()).unwrap_or(0);
        Some(Self {
            numbers: NumberSource::default(),
            contexts,
            recording,
            chain,
            pid,
            version,
            settings,
            told: Once::new(),
        })
    }

    /// Returns the second plugin's event types without those that cause trouble in this NCCL, as for the core.
    fn harmless(&self, caller: Caller, wanted: u64, known: u64) -> u64 {
        let settings = Settings { mask: Some(wanted), ..self.settings.clone() };
        let asked = asked::types(&settings, caller.release, known, |name| std::env::var(name).ok());
        if let Some(trouble) = asked.left_out.first() {
            self.told
                .call_once(|| log::warn(&format!("the second plugin gets no kernel events: {}", trouble.told(caller))));
        }
        asked.mask
    }

    /// Starts an event. Returns its handle, which is never 0.
    #[cold]
    pub fn start(&self, context: u64, start: &Descriptor<'_>) -> u64 {
        let record = self.recording.and_then(|recording| Some((recording, recording.moment()?)));
        let core = callbacks::start(self.contexts.core(context), self.numbers.core(start.parent), &start.event());
        let number = self.numbers.of(core);
        if [Handle::kernel_launch(), Handle::nested_launch()].map(Handle::raw).contains(&core) {
            callbacks::number_launch(number);
        }
        // a proxy operation of another process (PXN): its context and parent mean nothing here, even if they look like
        // this process's
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

    /// Passes on a state change; `change` is the core's form of it.
    #[cold]
    pub fn state(&self, handle: u64, number: c_int, value: Option<u64>, change: StateChange) {
        // for states of the proxy thread, NCCL sets only an int of the union
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

    /// Stops an event.
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

    /// Ends a communicator.
    pub fn finalize(&self, context: u64) {
        if let Some(recording) = self.recording {
            recording.finalize(context);
        }
        // before the core ends it: from then on another communicator may get its place
        let theirs = self.contexts.end(context);
        process::close(self.contexts.core(context));
        if let (Some(chain), true) = (&self.chain, theirs != 0) {
            chain.finalize(theirs);
        }
    }
}
