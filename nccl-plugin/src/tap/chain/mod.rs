//! A second plugin (`NCCL_SCOREP_CHAIN`): it gets every callback of the event types it asks for, as if NCCL had loaded
//! it.
//!
//! The second plugin has its own contexts, handles and version of the interface. Its errors reach neither the core nor
//! NCCL: the library warns of them once.

mod events;
mod library;
mod mask;
mod plugin;
mod steps;

use crate::interface::descriptor::{Coll, Descriptor, P2p, Payload};
use crate::interface::introduction::Introduction;
use crate::tap::contexts::Contexts;
use common::log;
use events::ChainEvents;
use library::LoadedLibrary;
use plugin::Plugin;
use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The event types that the second plugin asks for. It may keep the address and write later, as with NCCL's mask.
static MASK: AtomicI32 = AtomicI32::new(0);

/// The second plugin of this process.
#[derive(Debug)]
pub struct Chain {
    plugin: Plugin,
    name: String,
    events: ChainEvents,
    /// Events that found no place, so that the second plugin does not get them.
    untold: AtomicU64,
    /// Callbacks for which the second plugin returned an error.
    errors: AtomicU64,
    refused: Once,
    complained: Once,
    full: Once,
}

impl Chain {
    /// Loads a plugin by name or path. If that fails, writes one line and returns `None`. The name `none` means no
    /// plugin, as for NCCL.
    pub fn load(name: &str) -> Option<Self> {
        if name.eq_ignore_ascii_case("none") {
            return None;
        }
        let events = ChainEvents::new().map_err(|error| format!("no memory for its handles: {error}"));
        let plugin = LoadedLibrary::open(name).and_then(|library| Plugin::find(&library));
        let both = plugin.and_then(|plugin| Ok((plugin, events?)));
        let (plugin, events) =
            both.map_err(|why| log::warn(&format!("NCCL_SCOREP_CHAIN={name}: no second plugin: {why}"))).ok()?;
        log::info(&format!("NCCL_SCOREP_CHAIN={name}: second plugin of interface v{}", plugin.version()));
        Some(Self {
            plugin,
            name: name.to_owned(),
            events,
            untold: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            refused: Once::new(),
            complained: Once::new(),
            full: Once::new(),
        })
    }

    /// Opens a communicator. Returns the second plugin's context, or 0 if it refused; then it gets no event of this
    /// communicator.
    ///
    /// # Safety
    /// The logger is NULL or NCCL's.
    pub unsafe fn init(&self, introduction: &Introduction<'_>) -> u64 {
        // SAFETY: the mask is a static, writable forever; the caller upholds the condition on the logger.
        match unsafe { self.plugin.init(MASK.as_ptr(), introduction) } {
            Ok(context) => context.as_ptr() as u64,
            Err(result) => {
                self.refused.call_once(|| {
                    let why = if result == 0 { "gave no context".to_owned() } else { format!("failed with {result}") };
                    log::warn(&format!(
                        "NCCL_SCOREP_CHAIN={}: its init {why}; it hears nothing of that communicator",
                        self.name
                    ));
                });
                0
            }
        }
    }

    /// Returns the event types that the second plugin asks for now.
    pub fn mask(&self) -> u64 {
        MASK.load(Ordering::Relaxed) as u32 as u64
    }

    /// Starts an event of this process, which NCCL will call `number`. `version` is the version that NCCL uses.
    pub fn start(&self, number: u64, context: u64, start: &Descriptor<'_>, version: u32, contexts: &Contexts) {
        let own = contexts.theirs(context);
        // the core cannot decode an unknown type, so there is nothing to pass on
        let is_known = !matches!(start.payload, Payload::Unknown { .. });
        if own == 0 || !is_known || start.payload.bits() & mask::reported(self.mask()) == 0 {
            return;
        }
        if let Payload::ProxyStep { step } = start.payload
            && let Some(forgotten) = steps::forgotten(start.parent, step, number)
        {
            self.events.end(forgotten);
        }
        let descriptor = translate(start, version, self.plugin.version(), |handle| self.theirs(handle, contexts));
        // claimed first: once started, the second plugin would wait for the stop, which an event without a place never
        // gets
        let Some(place) = self.events.claim(number, |owner| contexts.theirs(owner) != 0) else {
            self.untold.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let handle = self.plugin.start(own, &descriptor).unwrap_or_else(|result| {
            self.note(result);
            0
        });
        place.fill(handle, context);
    }

    /// Passes on a state change.
    pub fn state(&self, number: u64, state: c_int, value: Option<u64>, contexts: &Contexts) {
        let found = self.events.find(number).filter(|known| !known.ended && contexts.theirs(known.owner) != 0);
        if let Some(known) = found {
            self.note(self.plugin.state(known.theirs, state, value));
        }
    }

    /// Stops an event.
    pub fn stop(&self, number: u64, contexts: &Contexts) {
        if let Some(known) = self.events.end(number).filter(|known| contexts.theirs(known.owner) != 0) {
            self.note(self.plugin.stop(known.theirs));
        }
    }

    /// Ends a communicator, given the second plugin's context of it.
    pub fn finalize(&self, context: u64) {
        self.note(self.plugin.finalize(context));
        let errors = self.errors.load(Ordering::Relaxed);
        if errors > 0 {
            self.complained.call_once(|| {
                log::warn(&format!("NCCL_SCOREP_CHAIN={}: {errors} of its callbacks failed so far", self.name));
            });
        }
        let untold = self.untold.load(Ordering::Relaxed);
        if untold > 0 {
            self.full.call_once(|| {
                let why = "had no room beside a million that have not stopped; it does not hear of them";
                log::warn(&format!("NCCL_SCOREP_CHAIN={}: {untold} events so far {why}", self.name));
            });
        }
    }

    /// Returns the second plugin's handle of a parent. It is 0 if there is none or the communicator has ended: then the
    /// memory behind the handle may be gone.
    fn theirs(&self, number: u64, contexts: &Contexts) -> u64 {
        let found = self.events.find(number).filter(|known| contexts.theirs(known.owner) != 0);
        found.map_or(0, |known| known.theirs)
    }

    fn note(&self, result: c_int) {
        if result != 0 {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Replaces handles by the second plugin's. Up to v4 the parent of an operation is its group; since v5 it is the API
/// call, and the group has a field of its own.
fn translate<'a>(start: &Descriptor<'a>, from: u32, to: u32, theirs: impl Fn(u64) -> u64) -> Descriptor<'a> {
    let (group, payload) = match start.payload {
        Payload::Coll(coll) => (Some(coll.group), start.payload),
        Payload::P2p(p2p) => (Some(p2p.group), start.payload),
        other => (None, other),
    };
    let (parent, group) = match group {
        Some(group) if from > 4 && to <= 4 => (group, group),
        Some(_) if from <= 4 && to > 4 => (0, start.parent),
        group => (start.parent, group.unwrap_or(0)),
    };
    let (parent, group) = (theirs(parent), theirs(group));
    let payload = match payload {
        Payload::Coll(coll) => Payload::Coll(Coll { group, ..coll }),
        Payload::P2p(p2p) => Payload::P2p(P2p { group, ..p2p }),
        other => other,
    };
    Descriptor { parent, payload, ..*start }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the translated parent and group of an operation with parent 1 and group 2.
    fn translated(payload: Payload<'_>, from: u32, to: u32) -> (u64, u64) {
        let start = Descriptor { parent: 1, rank: 0, payload };
        let descriptor = translate(&start, from, to, |handle| if handle == 0 { 0 } else { handle + 100 });
        let group = match descriptor.payload {
            Payload::Coll(coll) => coll.group,
            Payload::P2p(p2p) => p2p.group,
            _ => 0,
        };
        (descriptor.parent, group)
    }

    #[test]
    fn parent_and_group_are_the_second_plugins_in_the_words_of_its_version() {
        for payload in
            [Payload::Coll(Coll { group: 2, ..Coll::default() }), Payload::P2p(P2p { group: 2, ..P2p::default() })]
        {
            assert_eq!(translated(payload, 5, 6), (101, 102));
            assert_eq!(translated(payload, 6, 4).0, 102);
            assert_eq!(translated(payload, 4, 6), (0, 101));
            assert_eq!(translated(payload, 4, 4).0, 101);
        }
        assert_eq!(translated(Payload::ProxyStep { step: 0 }, 6, 4), (101, 0));
    }
}
