//! The search for the user's own tuner.
//!
//! `NCCL_SCOREP_TUNER` names it, as `NCCL_TUNER_PLUGIN` would. Where the setting is absent, or its library cannot be
//! loaded, the search goes on as NCCL's does: `libnccl-tuner.so`, then the network plugin. So the library as tuner takes
//! no other tuner's place.

use super::user::UserTuner;
use crate::library::{LoadedLibrary, PluginKind};
use common::config::{self, Settings};
use common::guard::contain;
use common::{log, switch};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Oldest and newest version of the tuner interface that NCCL speaks to this library.
const VERSIONS: std::ops::RangeInclusive<u32> = 3..=6;

/// The outcome of a search.
#[derive(Debug)]
struct Found(Option<UserTuner>);

/// What was found, by version. There may be two NCCLs in a process, PyTorch's and the system's.
static FOUND: [AtomicPtr<Found>; 4] = [const { AtomicPtr::new(ptr::null_mut()) }; 4];

/// Returns the user's tuner for an NCCL that speaks this version. The first call searches.
pub(super) fn user(spoken: u32) -> Option<&'static UserTuner> {
    let place = FOUND.get(spoken.checked_sub(*VERSIONS.start())? as usize)?;
    // no lock: a child that is forked meanwhile would wait for it forever. Two threads may both search; one result counts
    let found = match ptr::NonNull::new(place.load(Ordering::Acquire)) {
        Some(found) => found.as_ptr(),
        None => {
            let new = Box::into_raw(Box::new(Found(contain("tuner_search", None, || search(spoken)))));
            let raced = place.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
            raced.err().unwrap_or(new)
        }
    };
    // SAFETY: what stands there was made above, and is never freed.
    unsafe { &*found }.0.as_ref()
}

fn search(spoken: u32) -> Option<UserTuner> {
    // a forked child reads the settings itself: another thread may have been reading them
    let name = if switch::is_off() { Settings::of_process().0.tuner } else { config::settings().tuner.clone() };
    if name.as_deref().is_some_and(|name| name.eq_ignore_ascii_case("none")) {
        return None;
    }
    let named = name.as_deref().and_then(|name| {
        let found = LoadedLibrary::program(name).map_or_else(|| LoadedLibrary::open(PluginKind::Tuner, name), Ok);
        found.map_err(|why| log::warn(&format!("NCCL_SCOREP_TUNER={name}: it is not passed on: {why}"))).ok()
    });
    let unnamed = || if name.is_none() { unnamed() } else { None };
    let (library, is_meant) = match named.or_else(unnamed) {
        Some(library) => (library, true),
        // a network plugin need not have a tuner
        None => (of_network()?, false),
    };
    match UserTuner::find(&library, spoken) {
        Ok(user) => {
            let shown = name.as_deref().unwrap_or("the one that NCCL finds");
            log::info(&format!("NCCL's tuner is passed on: {shown}, of interface v{}", user.version()));
            Some(user)
        }
        Err(why) => {
            library.close();
            if let (Some(name), true) = (&name, is_meant) {
                log::warn(&format!("NCCL_SCOREP_TUNER={name}: it is not passed on: {why}"));
            }
            None
        }
    }
}

/// Returns the library that NCCL looks into if nobody names a tuner. A program may have a tuner of its own beside this
/// library, which NCCL would have found with the same name.
fn unnamed() -> Option<LoadedLibrary> {
    let program = std::env::var("NCCL_TUNER_PLUGIN").ok().and_then(|name| LoadedLibrary::program(&name));
    program.or_else(|| LoadedLibrary::unnamed(PluginKind::Tuner))
}

/// Returns the network plugin that NCCL has loaded. NCCL loads it before the tuner.
fn of_network() -> Option<LoadedLibrary> {
    let named = std::env::var("NCCL_NET_PLUGIN").ok().filter(|names| !names.is_empty());
    let Some(names) = named else { return LoadedLibrary::loaded(PluginKind::Net, None) };
    names.split(',').find_map(|name| LoadedLibrary::loaded(PluginKind::Net, Some(name)))
}
