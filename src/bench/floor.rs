//! The yardsticks for a plugin: a plugin that does nothing, and the least that recording can cost.
//!
//! The limit reads the plugin's own clock once for each callback, and writes one slot of 64 bytes into a ring as large
//! as the plugin's recording memory. Both yardsticks are called through a table, as a plugin is.

use crate::host::table::TableFunctions;
use common::clock::Clock;
use common::config::Settings;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// Plugin that only returns a handle.
pub(super) const EMPTY: TableFunctions =
    TableFunctions { name: c"empty".as_ptr(), init: std::ptr::null(), start, stop, state, finalize: stop };

/// Plugin that only records. Each thread allocates its ring at its first callback.
pub(super) const LIMIT: TableFunctions = TableFunctions {
    name: c"limit".as_ptr(),
    init: std::ptr::null(),
    start: limit_start,
    stop: limit_stop,
    state: limit_state,
    finalize: stop,
};

unsafe extern "C" fn start(_context: *mut c_void, handle: *mut *mut c_void, _descriptor: *const u8) -> c_int {
    // SAFETY: the driver passes a valid pointer for the handle.
    unsafe { *handle = std::ptr::dangling_mut() };
    0
}

unsafe extern "C" fn stop(_handle: *mut c_void) -> c_int {
    0
}

unsafe extern "C" fn state(_handle: *mut c_void, _state: c_int, _argument: *const u64) -> c_int {
    0
}

static CLOCK: Clock = Clock::new();

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Slot(#[allow(dead_code, reason = "written alone, as a recording is by those who pay for it")] [u64; 8]);

thread_local! {
    static RING: Cell<(*mut Slot, usize, usize)> = const { Cell::new((std::ptr::null_mut(), 0, 0)) };
}

#[cold]
fn ring() -> (*mut Slot, usize, usize) {
    let length = Settings::default().memory_bytes / size_of::<Slot>();
    // every byte is written, because recording memory that is in use has been written, too
    let slots = vec![Slot([1; 8]); length].leak();
    (slots.as_mut_ptr(), 0, length)
}

/// Reads the clock once and writes one slot.
#[inline(always)]
fn write(words: [u64; 3]) -> u64 {
    let (slots, next, length) = match RING.get() {
        (slots, ..) if slots.is_null() => ring(),
        ring => ring,
    };
    let [first, second, third] = words;
    // SAFETY: `next` is below the length of the thread's own slots, which are never freed.
    unsafe { *slots.add(next) = Slot([CLOCK.now(), first, second, third, 0, 0, 0, 0]) };
    RING.set((slots, if next + 1 < length { next + 1 } else { 0 }, length));
    next as u64 + 1
}

unsafe extern "C" fn limit_start(context: *mut c_void, handle: *mut *mut c_void, descriptor: *const u8) -> c_int {
    // SAFETY: the driver passes a descriptor, which begins with two words in every version.
    let parent = unsafe { *descriptor.cast::<u64>().add(1) };
    // SAFETY: the driver passes a valid pointer for the handle.
    unsafe { *handle = write([context as u64, parent, 1]) as *mut c_void };
    0
}

unsafe extern "C" fn limit_stop(handle: *mut c_void) -> c_int {
    write([handle as u64, 0, 2]);
    0
}

unsafe extern "C" fn limit_state(handle: *mut c_void, state: c_int, _argument: *const u64) -> c_int {
    write([handle as u64, u64::from(state.unsigned_abs()), 3]);
    0
}
