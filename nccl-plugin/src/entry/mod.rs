//! The functions that NCCL calls. They decode the arguments, call the core and return success.
//!
//! They always return success. After an error from init, NCCL 2.30 unloads the library although other communicators
//! still use it; any other error can harm the job. No panic leaves these functions.

mod init;

use crate::interface::kind::event;
use crate::interface::payload::StateUnion;
use crate::interface::version::{RawDescriptor, Version};
use crate::tap::{self, Tap};
use common::callbacks;
use common::guard::{guard, guard_event};
use common::{process, switch};
use std::ffi::{c_char, c_int, c_void};

pub(crate) use init::{init, init_unintroduced};

/// ncclSuccess.
const SUCCESS: c_int = 0;

/// The table of functions that NCCL looks up by name. The type of init, the descriptor and the arguments of a state
/// change differ between versions.
#[repr(C)]
#[derive(Debug)]
pub struct ProfilerTable<Init, V: Version> {
    /// Name of the plugin.
    pub name: *const c_char,
    /// Called when NCCL has created a communicator.
    pub init: Init,
    /// Called when an event starts.
    pub start_event: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const RawDescriptor<V>) -> c_int,
    /// Called when an event stops.
    pub stop_event: unsafe extern "C" fn(*mut c_void) -> c_int,
    /// Called when an event's state changes.
    pub record_event_state: unsafe extern "C" fn(*mut c_void, c_int, *const V::Arguments) -> c_int,
    /// Called when NCCL has destroyed a communicator.
    pub finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

// SAFETY: the table is never written, and its name points to a constant.
unsafe impl<Init: Sync, V: Version> Sync for ProfilerTable<Init, V> {}

impl<Init, V: Version> ProfilerTable<Init, V> {
    pub(crate) const fn new(init: Init) -> Self {
        let (start_event, record_event_state) = (start_event::<V>, record_event_state::<V>);
        Self { name: c"scorep".as_ptr(), init, start_event, stop_event, record_event_state, finalize }
    }
}

/// # Safety
/// `handle` is NULL or writable. `descriptor` is NULL or a descriptor of the version, valid during the call.
pub(crate) unsafe extern "C" fn start_event<V: Version>(
    context: *mut c_void,
    handle: *mut *mut c_void,
    descriptor: *const RawDescriptor<V>,
) -> c_int {
    if !handle.is_null() {
        // written always: NCCL does not clear it
        // SAFETY: the caller guarantees that it is writable.
        unsafe { *handle = std::ptr::null_mut() };
    }
    if switch::is_off() {
        return SUCCESS;
    }
    // SAFETY: the caller upholds the conditions.
    unsafe { start::<V>(context, handle, descriptor) }
}

/// Jumps to a separate function for each event type. There the compiler knows the type, and decoding and recording
/// become a few instructions; no type pays for the code of another.
///
/// # Safety
/// `handle` is NULL or writable. `descriptor` is NULL or NCCL's descriptor of the version, valid during the call.
#[inline(always)]
unsafe fn start<V: Version>(
    context: *mut c_void,
    handle: *mut *mut c_void,
    descriptor: *const RawDescriptor<V>,
) -> c_int {
    // SAFETY: the caller upholds the conditions.
    unsafe {
        match descriptor.as_ref().map(RawDescriptor::kind) {
            Some(event::PROXY_STEP) => start_of::<V, { event::PROXY_STEP }>(context, handle, descriptor),
            Some(event::KERNEL_CH) => start_of::<V, { event::KERNEL_CH }>(context, handle, descriptor),
            Some(event::PROXY_OP) => start_of::<V, { event::PROXY_OP }>(context, handle, descriptor),
            Some(event::COLL) => start_of::<V, { event::COLL }>(context, handle, descriptor),
            Some(event::P2P) => start_of::<V, { event::P2P }>(context, handle, descriptor),
            Some(event::COLL_API) => start_of::<V, { event::COLL_API }>(context, handle, descriptor),
            Some(event::P2P_API) => start_of::<V, { event::P2P_API }>(context, handle, descriptor),
            Some(event::GROUP_API) => start_of::<V, { event::GROUP_API }>(context, handle, descriptor),
            // the core records nothing of the types from here on
            Some(event::GROUP) => start_of::<V, { event::GROUP }>(context, handle, descriptor),
            Some(event::PROXY_CTRL) => start_of::<V, { event::PROXY_CTRL }>(context, handle, descriptor),
            Some(event::KERNEL_LAUNCH) => start_of::<V, { event::KERNEL_LAUNCH }>(context, handle, descriptor),
            Some(event::NET_PLUGIN) => start_of::<V, { event::NET_PLUGIN }>(context, handle, descriptor),
            Some(event::KERNEL_PHASE) => start_of::<V, { event::KERNEL_PHASE }>(context, handle, descriptor),
            Some(_) => start_of::<V, ANY>(context, handle, descriptor),
            None => SUCCESS,
        }
    }
}

/// Stands for all types without a function of their own.
const ANY: u64 = 0;

/// # Safety
/// `handle` is NULL or writable. `raw` is NCCL's descriptor of the version, valid during the call, and of the type
/// `KIND` unless that is [`ANY`].
#[inline(never)]
unsafe extern "C" fn start_of<V: Version, const KIND: u64>(
    context: *mut c_void,
    handle: *mut *mut c_void,
    raw: *const RawDescriptor<V>,
) -> c_int {
    guard_event("start_event", SUCCESS, || {
        // SAFETY: the caller upholds the conditions.
        let number = unsafe {
            match tap::get() {
                Some(tap) => start_tapped::<V>(tap, context as u64, raw),
                // always true; the compiler learns the type from it
                None if KIND == ANY || (*raw).kind() == KIND => {
                    let start = V::decode(raw);
                    callbacks::start(context as u64, start.parent, &start.event())
                }
                None => 0,
            }
        };
        if !handle.is_null() {
            // SAFETY: the caller guarantees that it is writable. The number is never followed as a pointer.
            unsafe { *handle = number as *mut c_void };
        }
        SUCCESS
    })
}

/// # Safety
/// `raw` is NCCL's descriptor of the version, valid during the call.
#[cold]
unsafe fn start_tapped<V: Version>(tap: &Tap, context: u64, raw: *const RawDescriptor<V>) -> u64 {
    // SAFETY: the caller upholds the condition.
    tap.start(context, &unsafe { V::decode(raw) })
}

pub(crate) extern "C" fn stop_event(handle: *mut c_void) -> c_int {
    if switch::is_off() { SUCCESS } else { stop_of(handle) }
}

#[inline(never)]
extern "C" fn stop_of(handle: *mut c_void) -> c_int {
    guard_event("stop_event", SUCCESS, || {
        match tap::get() {
            None if handle.is_null() => callbacks::of_nothing(),
            None => callbacks::stop(handle as u64),
            Some(tap) => tap.stop(handle as u64),
        }
        SUCCESS
    })
}

/// # Safety
/// `arguments` is NULL or the union of the version, with the member written that the state selects.
pub(crate) unsafe extern "C" fn record_event_state<V: Version>(
    handle: *mut c_void,
    number: c_int,
    arguments: *const V::Arguments,
) -> c_int {
    if switch::is_off() {
        return SUCCESS;
    }
    // SAFETY: the caller upholds the condition.
    unsafe { state_of::<V>(handle, number, arguments) }
}

/// # Safety
/// `arguments` is NULL or the union of the version, with the member written that the state selects.
#[inline(never)]
unsafe extern "C" fn state_of<V: Version>(handle: *mut c_void, number: c_int, arguments: *const V::Arguments) -> c_int {
    guard_event("record_event_state", SUCCESS, || {
        // SAFETY: the caller upholds the condition.
        let state = || unsafe { V::Arguments::state(number, arguments) };
        match tap::get() {
            None if handle.is_null() => callbacks::of_nothing(),
            None => callbacks::state(handle as u64, state),
            Some(tap) => {
                // SAFETY: the caller passes NULL or a readable union; every version's union begins with 64 bits.
                let value = (!arguments.is_null()).then(|| unsafe { arguments.cast::<u64>().read() });
                tap.state(handle as u64, number, value, state());
            }
        }
        SUCCESS
    })
}

pub(crate) extern "C" fn finalize(context: *mut c_void) -> c_int {
    let _within = process::within();
    guard("finalize", SUCCESS, || {
        match tap::get() {
            None => process::close(context as u64),
            Some(tap) => tap.finalize(context as u64),
        }
        SUCCESS
    })
}
