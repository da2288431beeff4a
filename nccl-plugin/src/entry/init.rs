//! The functions that NCCL calls when it has created a communicator: they open its context, and ask NCCL for events.

use super::SUCCESS;
use crate::interface::introduction::Introduction;
use crate::interface::kind::event;
use crate::interface::version::Version;
use crate::opening;
use crate::opening::logger::{LogLine, Logger};
use crate::opening::release::Caller;
use crate::opening::timing;
use crate::opening::unasked;
use crate::tap;
use common::callbacks;
use common::context::switching::Switched;
use common::event::{InitCommunicator, TimingOptions};
use common::guard::guard;
use common::ranks::believed;
use common::{process, switch};
use std::ffi::{CStr, c_char, c_int, c_void};

/// Handles init of v4 and later, which describe the communicator.
///
/// # Safety
/// `context` and `mask` are NULL or writable, and `name` is NULL or a string. NCCL guarantees it during the call.
pub(crate) unsafe fn init<V: Version>(
    context: *mut *mut c_void,
    mask: *mut c_int,
    id: u64,
    name: *const c_char,
    [nodes, ranks, rank]: [c_int; 3],
    logger: Logger,
) -> c_int {
    // SAFETY: the caller upholds the condition.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
    let introduction = Introduction { id, name, nodes, ranks, rank, logger: logger.address() };
    let communicator = |kernel_events, timed| {
        let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let api_calls = V::API_CALLS;
        InitCommunicator {
            id,
            name,
            nranks: believed(ranks),
            nnodes: believed(nodes),
            rank,
            api_calls,
            kernel_events,
            introduced: true,
            timed,
        }
    };
    // SAFETY: the caller upholds the conditions.
    unsafe { open::<V>(context, mask, logger, &introduction, communicator) }
}

/// Handles init up to v3, which neither describes the communicator nor passes a logger.
///
/// # Safety
/// As for [`init`].
pub(crate) unsafe fn init_unintroduced<V: Version>(context: *mut *mut c_void, mask: *mut c_int) -> c_int {
    // SAFETY: NULL is allowed.
    let logger = unsafe { Logger::new(std::ptr::null()) };
    let introduction = Introduction { id: 0, name: None, nodes: 0, ranks: 0, rank: -1, logger: logger.address() };
    let communicator = |kernel_events, timed| {
        let (name, api_calls) = (String::new(), V::API_CALLS);
        InitCommunicator {
            id: 0,
            name,
            nranks: 0,
            nnodes: 0,
            rank: -1,
            api_calls,
            kernel_events,
            introduced: false,
            timed,
        }
    };
    // SAFETY: the caller upholds the conditions.
    unsafe { open::<V>(context, mask, logger, &introduction, communicator) }
}

/// Opens a context for a communicator. `communicator` describes it, given whether NCCL is asked for kernel events and
/// how its operations are timed.
///
/// # Safety
/// `context` and `mask` are NULL or writable.
unsafe fn open<V: Version>(
    context: *mut *mut c_void,
    mask: *mut c_int,
    logger: Logger,
    introduction: &Introduction<'_>,
    communicator: impl FnOnce(bool, TimingOptions) -> InitCommunicator + Copy,
) -> c_int {
    // SAFETY: the caller upholds the condition.
    let line = unsafe { opened::<V>(context, mask, logger, introduction, communicator) };
    // last, when nothing is under way
    if let Some(line) = &line {
        logger.info(line);
    }
    SUCCESS
}

/// Opens the context. Returns a line for NCCL's log, if there is one.
///
/// # Safety
/// As for [`open`].
#[inline(never)]
unsafe fn opened<V: Version>(
    context: *mut *mut c_void,
    mask: *mut c_int,
    logger: Logger,
    introduction: &Introduction<'_>,
    communicator: impl FnOnce(bool, TimingOptions) -> InitCommunicator + Copy,
) -> Option<LogLine> {
    let _within = process::within();
    // written first: if opening fails below, NCCL still goes on with a context that is not NULL
    if !context.is_null() {
        // SAFETY: the caller guarantees that it is NULL or writable. The number is never followed as a pointer.
        unsafe { *context = callbacks::NO_CONTEXT as *mut c_void };
    }
    // first of all: a child that is forked from here on must not wait for a lock that another thread holds, such as the
    // dynamic loader's
    switch::prepare();
    let (asked, line) = guard("init", (0, None), || {
        let caller = Caller::of(logger.address(), V::NUMBER);
        if unasked::is_idle() {
            return (0, unasked::introduction(caller));
        }
        let (asked, line) = opening::mask(caller, V::TYPES, logger);
        let mut timed = TimingOptions::default();
        let core = |asked, theirs| {
            timed = timing::of(caller, [asked, theirs, V::TYPES], logger.address(), mask);
            process::open(communicator(asked & event::KERNEL_CH != 0, timed))
        };
        // SAFETY: the logger is NULL or NCCL's, as the condition of `Logger::new` says.
        let (number, asked) = unsafe { tap::init::<V>(caller, asked, introduction, core) };
        if !context.is_null() {
            // SAFETY: the caller guarantees that it is writable. The number is never followed as a pointer.
            unsafe { *context = number as *mut c_void };
        }
        // a request may have switched the types of all communicators
        (Switched::of(timed.mask).types().map_or(asked, |types| u64::from(types.cast_unsigned())), line)
    });
    if !mask.is_null() {
        // written once: NCCL has one mask for all communicators, so a value in between would hold for the other ones,
        // too
        // SAFETY: the caller guarantees that it is writable.
        unsafe { *mask = asked as c_int };
    }
    line
}
