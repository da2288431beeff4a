//! The end of a program whose main thread has ended before it.
//!
//! POSIX ends a process with its last thread: a program may leave its main thread by `pthread_exit` and end with a
//! thread that ends later. The library's threads must not be the last ones, which would keep the process for ever. So
//! one of them looks whether any other is left, and ends the process in order if not, as the C library does on the last
//! thread of a program.
//!
//! The same thread does the end's work for a program that ends in a signal handler which has interrupted an init: the
//! interrupted thread may hold the lock of the C library's memory, for which its own allocations would wait for ever.

use crate::base::bell::Bell;
use crate::base::birth;
use crate::base::own_thread::{self, Registered};
use crate::base::pause::pause_while;
use crate::base::system_file;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};
use std::time::Duration;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// The fields of /proc/PID/stat from the third one on: the main thread's state, and the number of threads.
const STATE: usize = 0;
const THREADS: usize = 17;

/// Milliseconds for which the end waits for the work that it has handed over.
const PATIENCE: u32 = 3000;

/// Threads that are within an init or a finalization. One that finds no free place does the end's work itself.
static WITHIN: [AtomicI64; 16] = [const { AtomicI64::new(0) }; 16];
/// Works that were handed over, and those that are done, a bit each.
static HANDED_OVER: AtomicU8 = AtomicU8::new(0);
static DONE: AtomicU8 = AtomicU8::new(0);
static BELL: Bell = Bell::new();

/// Marks the calling thread as within a call of NCCL's that may allocate, until this is dropped.
pub(crate) fn within() -> Registered {
    Registered::begin(&WITHIN)
}

/// Hands a work of the end over, by its number, and waits for it, if the calling thread was interrupted within such a
/// call. Returns false if it was not. Allocates nothing.
pub(crate) fn takes_over(work: u8) -> bool {
    if !own_thread::is_in(&WITHIN) {
        return false;
    }
    HANDED_OVER.fetch_or(1 << work, Ordering::Release);
    BELL.ring();
    pause_while(PATIENCE, || DONE.load(Ordering::Acquire) & 1 << work == 0);
    true
}

fn do_what_is_handed_over(works: &[fn()]) {
    let handed_over = HANDED_OVER.swap(0, Ordering::Acquire);
    for (number, work) in works.iter().enumerate().filter(|(number, _)| handed_over & 1 << number != 0) {
        work();
        DONE.fetch_or(1 << number, Ordering::Release);
    }
}

/// Begins to look. Called once, before the library's other threads that live as long as the process. `works` are those
/// of the end.
///
/// # Errors
/// Fails when the system refuses a thread.
pub(crate) fn begin(works: &'static [fn()]) -> std::io::Result<()> {
    own_thread::spawn("scorep-nccl-end", || {
        while is_main_alive() || !own_thread::are_alone_with(others()) {
            BELL.wait(PERIOD);
            do_what_is_handed_over(works);
        }
        // from here on this is the program's last thread, not one of the library's
        own_thread::leave();
        // SAFETY: the program has no other thread, and the library's own wait or write files. Handlers of `atexit` run
        // here as they do on a program's last thread.
        unsafe { libc::exit(0) };
    })
}

/// Returns whether the main thread is alive, as far as a look without a descriptor shows: the C library gives each
/// thread a list of robust mutexes, which the kernel forgets when the thread ends.
fn is_main_alive() -> bool {
    let (mut list, mut length) = (std::ptr::null_mut::<libc::c_void>(), 0_usize);
    // SAFETY: the kernel writes an address, which is not followed, and a length. A process' id is its main thread's.
    let refused = unsafe { libc::syscall(libc::SYS_get_robust_list, libc::getpid(), &raw mut list, &raw mut length) };
    refused == 0 && !list.is_null()
}

/// Returns the number of threads besides the main one, once that has ended; `None` before, and where the system does
/// not say.
fn others() -> Option<usize> {
    let mut buffer = [0; 1024];
    let stat = system_file::read(c"/proc/self/stat", &mut buffer)?;
    let mut fields = birth::fields(stat)?;
    let has_ended = fields.nth(STATE)? == "Z";
    // the number has the main thread for as long as the process lives
    has_ended.then(|| fields.nth(THREADS - STATE - 1)?.parse::<usize>().ok()?.checked_sub(1)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_thread_of_this_program_is_alive() {
        assert!(is_main_alive() && others().is_none());
    }
}
