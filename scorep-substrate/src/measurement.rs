//! Score-P's measurement, as far as our own threads must keep out of it.

use common::own_thread;
use std::ffi::c_int;

/// Has our threads stay unseen. Score-P's I/O recording (`--io=runtime:posix`) wraps `write` and `open` for every thread, and would
/// record ours on the main thread's location, beside the main thread: a race. A thread that is inside the measurement already is left
/// alone.
pub(crate) fn keep_own_threads_out() {
    own_thread::begin_with(enter);
}

/// Counts the calling thread as inside the measurement, for ever.
fn enter() {
    // SAFETY: dlsym with the default handle searches what is loaded.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"scorep_get_in_measurement".as_ptr()) };
    if function.is_null() {
        return;
    }
    // SAFETY: Score-P's function of that name gives the address of a thread-local int, in 8.4 and 9.0.
    let get = unsafe { std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> *mut c_int>(function) };
    // SAFETY: as above; the int is the calling thread's own.
    unsafe {
        let depth = get();
        if !depth.is_null() {
            *depth += 1;
        }
    }
}
