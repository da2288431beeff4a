//! The functions that NCCL calls: arguments in, core called, success out.
//!
//! They always say success: an error from init makes NCCL unload the library under communicators that live (2.30), and any
//! other error is the job's harm. A panic is stopped here.

use crate::kind::{event, state};
use crate::logger::Logger;
use crate::opening;
use crate::version::Version;
use common::event::{Communicator, State};
use common::guard::guard;
use common::recorder;
use std::ffi::{CStr, c_char, c_int, c_void};

/// ncclSuccess.
const SUCCESS: c_int = 0;

/// The table of functions that NCCL looks up by name; `Init` and `Raw` (the descriptor) differ between versions.
#[repr(C)]
#[derive(Debug)]
pub struct ProfilerTable<Init, Raw> {
    name: *const c_char,
    init: Init,
    start_event: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const Raw) -> c_int,
    stop_event: unsafe extern "C" fn(*mut c_void) -> c_int,
    record_event_state: unsafe extern "C" fn(*mut c_void, c_int, *const StateArguments) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the table is never written, and its name points to a constant.
unsafe impl<Init: Sync, Raw> Sync for ProfilerTable<Init, Raw> {}

/// What comes with a change of state: a union of 64-bit values and pointers, the same in all versions since v4.
#[repr(C)]
#[derive(Debug)]
pub struct StateArguments {
    value: u64,
}

impl<Init, Raw> ProfilerTable<Init, Raw> {
    pub(crate) const fn new<V: Version<Raw = Raw>>(init: Init) -> Self {
        Self { name: c"scorep".as_ptr(), init, start_event: start_event::<V>, stop_event, record_event_state, finalize }
    }
}

/// What init does in every version.
///
/// # Safety
/// `context` and `mask` are NULL or writable, `name` is NULL or a string: NCCL's, valid during the call.
pub(crate) unsafe fn init<V: Version>(
    context: *mut *mut c_void,
    mask: *mut c_int,
    id: u64,
    name: *const c_char,
    [nodes, ranks, rank]: [c_int; 3],
    logger: Logger,
) -> c_int {
    // written first: whatever happens below, NCCL goes on with a context that is no NULL and a mask that asks for nothing
    if !context.is_null() {
        // SAFETY: writable by the caller's word. The number is never followed as a pointer.
        unsafe { *context = recorder::NO_CONTEXT as *mut c_void };
    }
    if !mask.is_null() {
        // SAFETY: as above.
        unsafe { *mask = 0 };
    }
    guard("init", SUCCESS, || {
        // SAFETY: the caller's.
        let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) });
        let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let asked = opening::mask(V::NUMBER, V::TYPES, logger);
        let number = recorder::init(Communicator {
            id,
            name,
            nranks: ranks,
            nnodes: nodes,
            rank,
            api_calls: V::API_CALLS,
            kernel_events: asked & event::KERNEL_CH != 0,
            told: true,
        });
        if !context.is_null() {
            // SAFETY: writable by the caller's word. The number is never followed as a pointer.
            unsafe { *context = number as *mut c_void };
        }
        if !mask.is_null() {
            // SAFETY: as above.
            unsafe { *mask = asked as c_int };
        }
        SUCCESS
    })
}

unsafe extern "C" fn start_event<V: Version>(context: *mut c_void, handle: *mut *mut c_void, descriptor: *const V::Raw) -> c_int {
    if !handle.is_null() {
        // written whatever happens below: NCCL does not clear it before
        // SAFETY: NCCL passes a place for the handle.
        unsafe { *handle = std::ptr::null_mut() };
    }
    guard("start_event", SUCCESS, || {
        let number = if descriptor.is_null() {
            0
        } else {
            // SAFETY: NCCL passes a descriptor of the table's version, valid during the call.
            let start = unsafe { V::decode(descriptor) };
            recorder::start(context as u64, start.parent, &start.event())
        };
        if !handle.is_null() {
            // SAFETY: NCCL passes a place for the handle. The number is never followed as a pointer.
            unsafe { *handle = number as *mut c_void };
        }
        SUCCESS
    })
}

unsafe extern "C" fn stop_event(handle: *mut c_void) -> c_int {
    guard("stop_event", SUCCESS, || {
        recorder::stop(handle as u64);
        SUCCESS
    })
}

unsafe extern "C" fn record_event_state(handle: *mut c_void, number: c_int, arguments: *const StateArguments) -> c_int {
    guard("record_event_state", SUCCESS, || {
        // SAFETY: NCCL passes NULL or its union, of which these two states fill 64 bits.
        let value = || (!arguments.is_null()).then(|| unsafe { (*arguments).value });
        let change = match number {
            state::PROXY_STEP_SEND_WAIT => value().map(|bytes| State::SendWait { bytes }),
            state::KERNEL_CH_STOP => value().map(|ptimer| State::KernelChStop { ptimer }),
            state::GROUP_START_API_STOP => Some(State::GroupStartReturns),
            state::GROUP_END_API_START => Some(State::GroupEndBegins),
            _ => None,
        };
        recorder::state(handle as u64, change.unwrap_or(State::Other));
        SUCCESS
    })
}

unsafe extern "C" fn finalize(context: *mut c_void) -> c_int {
    guard("finalize", SUCCESS, || {
        recorder::finalize(context as u64);
        SUCCESS
    })
}

/// Waits until the figures hold all that was recorded before the call, at most `milliseconds`. Returns 1 then, 0 otherwise.
///
/// NCCL and Score-P never call this; a program that reads the figures itself, or replays recorded callbacks, may.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_flush(milliseconds: u32) -> c_int {
    guard("scorep_nccl_flush", 0, || {
        let patience = std::time::Duration::from_millis(u64::from(milliseconds));
        c_int::from(common::control::flush(patience))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    type Table = ProfilerTable<unsafe extern "C" fn(), u8>;

    #[test]
    fn the_table_is_six_pointers_in_nccls_order() {
        assert_eq!(offset_of!(Table, init), 8);
        assert_eq!(offset_of!(Table, start_event), 16);
        assert_eq!(offset_of!(Table, stop_event), 24);
        assert_eq!(offset_of!(Table, record_event_state), 32);
        assert_eq!(offset_of!(Table, finalize), 40);
        assert_eq!(size_of::<Table>(), 48);
    }
}
