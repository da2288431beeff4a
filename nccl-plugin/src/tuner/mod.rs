//! This library as NCCL's tuner (`NCCL_TUNER_PLUGIN`): it notes NCCL's predictions, changes nothing, and passes all on
//! to the tuner that NCCL would have found without it (`search`).
//!
//! NCCL calls a tuner while it schedules collectives. It takes the least time of the table of times that it passes
//! (`cost_table`), so the table after the user's tuner says what NCCL chooses. An error of a tuner ends NCCL's call, so
//! the library returns the user's errors, and none of its own, except where it could not pass the user's tuner on.
//!
//! The functions have nothing to drop where they call the user's tuner: it may unwind them.

mod contexts;
mod cost_table;
pub mod interface;
mod restrictions;
mod search;
pub mod tables;
mod user;

use common::guard::{contain, guard_event};
use common::predictions::{self, Prediction};
use common::{log, switch};
use contexts::{Communicator, TunerContext};
use cost_table::CostTable;
use std::ffi::{c_int, c_void};
use std::ptr;
use user::{CollectiveArguments, InitArguments, UserTuner};

/// ncclSuccess.
const SUCCESS: c_int = 0;
/// ncclSystemError.
const SYSTEM_ERROR: c_int = 2;

/// Opens a communicator, with init of the user's tuner, if there is one. Returns its result.
///
/// # Safety
/// `context` is NULL or writable, and the arguments are NCCL's, of an NCCL that speaks this version.
unsafe fn init(spoken: u32, context: *mut *mut c_void, arguments: &InitArguments) -> c_int {
    let (user, number) = opened(spoken, arguments);
    if number == 0 || context.is_null() {
        // without the user's tuner, NCCL may choose otherwise than on the other ranks
        return if user.is_some() { SYSTEM_ERROR } else { SUCCESS };
    }
    // SAFETY: the caller guarantees that it is writable.
    let mut theirs = unsafe { *context };
    let result = match user {
        // SAFETY: the place is a local, and the arguments are NCCL's.
        Some(user) => unsafe { user.init(&raw mut theirs, arguments) },
        None => SUCCESS,
    };
    contexts::set_theirs(number, theirs);
    // after an error, too: NCCL finalizes a tuner whose init has failed
    // SAFETY: as above. The number is never followed as a pointer.
    unsafe { *context = ptr::without_provenance_mut(number) };
    result
}

/// Finds the user's tuner, and a number for the communicator, which is 0 if there is no room.
#[inline(never)]
fn opened(spoken: u32, arguments: &InitArguments) -> (Option<&'static UserTuner>, usize) {
    // first of all: a child that is forked from here on must not wait for a lock that another thread holds
    switch::prepare();
    let user = search::user(spoken);
    contain("tuner_init", (), || {
        if switch::is_off() {
            return;
        }
        if let Err(error) = predictions::begin() {
            log::warn(&format!("no memory for NCCL's predictions ({error}): the summary has none"));
        }
        restrictions::note(user.is_some());
    });
    let [ranks, nodes] = [arguments.ranks, arguments.nodes].map(|number| i32::try_from(number).unwrap_or(0));
    let communicator = Communicator { comm: arguments.comm, ranks, nodes };
    let number = contexts::open(&TunerContext { communicator, user, theirs: ptr::null_mut() });
    (user, number.unwrap_or(0))
}

/// Passes a call on to the user's tuner, and notes NCCL's prediction. Returns the result of the user's tuner.
///
/// # Safety
/// The arguments are NCCL's.
unsafe fn choose(number: *mut c_void, arguments: &CollectiveArguments) -> c_int {
    let Some(context) = contexts::find(number.addr()) else { return SUCCESS };
    let CollectiveArguments { times, algorithms, protocols, .. } = *arguments;
    // SAFETY: NCCL passes a table with these numbers of algorithms and protocols.
    let read = || unsafe { CostTable::read(times, algorithms, protocols) };
    let before = read();
    let (result, after, channels) = match context.user {
        None => (SUCCESS, before, 0),
        Some(user) => {
            // SAFETY: the context is what the user's init gave, and the arguments are NCCL's.
            let result = unsafe { user.choose(context.theirs, arguments, before.as_ref()) };
            // SAFETY: NCCL passes a place for the number, which it has set to 0.
            let channels = unsafe { arguments.channels.as_ref() }.copied().unwrap_or(0);
            (result, read(), channels)
        }
    };
    if let (SUCCESS, Some(before), Some(after), false) = (result, &before, &after, switch::is_off()) {
        note(context.communicator, arguments, [before, after], channels);
    }
    result
}

/// Notes NCCL's prediction, given its table before and after the user's tuner.
fn note(of: Communicator, arguments: &CollectiveArguments, [before, after]: [&CostTable; 2], channels: c_int) {
    let CollectiveArguments { function, bytes, pipelined, registered, .. } = *arguments;
    guard_event("tuner", (), || {
        // alone, a rank copies, and NCCL predicts nothing
        let function = cost_table::function(function).filter(|_| of.ranks > 1);
        let (Some(function), Some(fastest), Some(chosen)) = (function, before.choice(), after.choice()) else { return };
        predictions::note(&Prediction {
            comm: of.comm,
            ranks: of.ranks,
            nodes: of.nodes,
            function,
            bytes: bytes as u64,
            pipelined: u32::try_from(pipelined).unwrap_or(0),
            registered: registered != 0,
            candidates: before.candidates(),
            fastest: before.way(fastest),
            chosen: before.way(chosen),
            channels: u8::try_from(channels.max(0)).unwrap_or(u8::MAX),
        });
    });
}

/// Has the user's tuner choose the size of a chunk. Returns its result.
///
/// # Safety
/// The arguments are NCCL's.
unsafe fn choose_chunk(
    number: *mut c_void,
    [function, algorithm, protocol, channels]: [c_int; 4],
    bytes: usize,
    size: *mut usize,
) -> c_int {
    let context = contexts::find(number.addr());
    match context.and_then(|context| Some((context.user?.choose_chunk()?, context.theirs))) {
        // SAFETY: the context is what the user's init gave, and the arguments are NCCL's.
        Some((choose, theirs)) => unsafe { choose(theirs, function, bytes, algorithm, protocol, channels, size) },
        None => SUCCESS,
    }
}

/// Ends a communicator. Returns the result of the user's tuner.
fn finalize(number: *mut c_void) -> c_int {
    match contexts::end(number.addr()).and_then(|context| Some((context.user?, context.theirs))) {
        // SAFETY: the context is what the user's init gave. Only one caller ends a communicator.
        Some((user, theirs)) => unsafe { user.finalize(theirs) },
        None => SUCCESS,
    }
}
