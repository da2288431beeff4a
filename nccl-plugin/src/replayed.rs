//! NCCL's side of a replay, and a function for programs that read the figures themselves. NCCL and Score-P never call
//! either.

use crate::entry;
use crate::interface::descriptor::{Descriptor, Payload};
use crate::interface::introduction::Introduction;
use crate::interface::payload::{network, number};
use crate::interface::version::{V1, V2, V3, V4, V5, V6, V7, Version};
use crate::opening::logger::Logger;
use common::guard::guard;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// Number of the oldest version of the interface.
pub const OLDEST: u32 = V1::NUMBER;
/// Number of the newest version of the interface.
pub const NEWEST: u32 = V7::NUMBER;

/// The functions of a version's table, for a program that replays recorded callbacks.
#[derive(Debug, Clone, Copy)]
pub struct PlayedVersion {
    /// Number of the version.
    pub number: u32,
    types: u64,
    init: fn(&Introduction<'_>) -> u64,
    start: fn(u64, &Descriptor<'_>) -> u64,
    state: fn(u64, c_int, Option<u64>),
}

impl PlayedVersion {
    /// Returns the version with this number, or the nearest one.
    pub fn nearest(number: u32) -> Self {
        match number {
            ..=1 => Self { start: start_numbered, ..Self::new::<V1>(init_unintroduced::<V1>) },
            2 => Self::new::<V2>(init_unintroduced::<V2>),
            3 => Self::new::<V3>(init_unintroduced::<V3>),
            4 => Self::new::<V4>(init::<V4>),
            5 => Self::new::<V5>(init::<V5>),
            6 => Self::new::<V6>(init::<V6>),
            7.. => Self::new::<V7>(init::<V7>),
        }
    }

    fn new<V: Version>(init: fn(&Introduction<'_>) -> u64) -> Self {
        Self { number: V::NUMBER, types: V::ALL_TYPES, init, start: start::<V>, state: state::<V> }
    }

    /// Returns whether the version has events of the type with this bit.
    pub fn has(&self, bit: u64) -> bool {
        bit.is_power_of_two() && self.types & bit != 0
    }

    /// Introduces a communicator, without a logger, and returns its context.
    pub fn init(&self, introduction: &Introduction<'_>) -> u64 {
        (self.init)(introduction)
    }

    /// Starts an event and returns its handle; 0 if the version lacks its type.
    pub fn start(&self, context: u64, descriptor: &Descriptor<'_>) -> u64 {
        (self.start)(context, descriptor)
    }

    /// Changes an event's state.
    pub fn state(&self, handle: u64, number: c_int, argument: Option<u64>) {
        (self.state)(handle, number, argument);
    }

    /// Stops an event.
    pub fn stop(&self, handle: u64) {
        entry::stop_event(handle as *mut c_void);
    }

    /// Ends a communicator.
    pub fn finalize(&self, context: u64) {
        entry::finalize(context as *mut c_void);
    }
}

fn init<V: Version>(introduction: &Introduction<'_>) -> u64 {
    let Introduction { id, name, nodes, ranks, rank, .. } = *introduction;
    let name = name.map_or(ptr::null(), CStr::as_ptr);
    let (mut context, mut mask) = (ptr::null_mut(), 0);
    // SAFETY: both pointers are of locals, the name is NULL or a string, and there is no logger.
    unsafe {
        entry::init::<V>(&raw mut context, &raw mut mask, id, name, [nodes, ranks, rank], Logger::new(ptr::null()))
    };
    context as u64
}

fn init_unintroduced<V: Version>(_: &Introduction<'_>) -> u64 {
    let (mut context, mut mask) = (ptr::null_mut(), 0);
    // SAFETY: both pointers are of locals.
    unsafe { entry::init_unintroduced::<V>(&raw mut context, &raw mut mask) };
    context as u64
}

fn start<V: Version>(context: u64, descriptor: &Descriptor<'_>) -> u64 {
    let mut descriptor = *descriptor;
    let contents = match descriptor.payload {
        Payload::NetPlugin { event, .. } => network::Contents::new(event),
        _ => None,
    };
    if let (Payload::NetPlugin { data, .. }, Some(contents)) = (&mut descriptor.payload, &contents) {
        *data = ptr::from_ref(contents) as usize;
    }
    let Some(raw) = V::encode(&descriptor) else { return 0 };
    // NCCL does not clear this variable, so it may hold an earlier event's handle
    let mut handle = u64::MAX as *mut c_void;
    // SAFETY: the descriptor is of the version. Its strings and the contents of a network's event live during the call,
    // and the handle is a local.
    unsafe { entry::start_event::<V>(context as *mut c_void, &raw mut handle, &raw const raw) };
    handle as u64
}

/// Starts an event of v1 with the numbers that NCCL's wrapper passes.
fn start_numbered(context: u64, descriptor: &Descriptor<'_>) -> u64 {
    start::<V1>(context, &Descriptor { payload: number::wrapped(descriptor.payload), ..*descriptor })
}

fn state<V: Version>(handle: u64, number: c_int, argument: Option<u64>) {
    // as large as the largest union
    let argument = argument.map(|argument| [argument, 0]);
    let union = argument.as_ref().map_or(ptr::null(), ptr::from_ref);
    const { assert!(size_of::<V::Arguments>() <= size_of::<[u64; 2]>() && align_of::<V::Arguments>() <= 8) };
    // SAFETY: the argument is NULL or as large as the version's union, whose members are integers and pointers.
    unsafe { entry::record_event_state::<V>(handle as *mut c_void, number, union.cast()) };
}

/// Waits at most `milliseconds` until the figures include everything recorded before the call. Returns 1 if they do, 0
/// otherwise.
///
/// Programs that read the figures themselves may call it.
#[unsafe(no_mangle)]
pub extern "C" fn scorep_nccl_flush(milliseconds: u32) -> c_int {
    guard("scorep_nccl_flush", 0, || {
        let patience = std::time::Duration::from_millis(u64::from(milliseconds));
        c_int::from(common::control::flush(patience))
    })
}
