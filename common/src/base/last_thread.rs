//! The end of a program whose main thread has ended before it.
//!
//! POSIX ends a process with its last thread: a program may leave its main thread by `pthread_exit` and end with a
//! thread that ends later. The library's threads must not be the last ones, which would keep the process for ever. So
//! one of them looks whether any other is left, and ends the process in order if not, as the C library does on the last
//! thread of a program.

use crate::base::birth;
use crate::base::own_thread;
use crate::base::pause::pause;
use crate::base::system_file;
use std::time::Duration;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// The fields of /proc/PID/stat from the third one on: the main thread's state, and the number of threads.
const STATE: usize = 0;
const THREADS: usize = 17;

/// Begins to look. Called once, before the library's other threads that live as long as the process.
///
/// # Errors
/// Fails when the system refuses a thread.
pub(crate) fn begin() -> std::io::Result<()> {
    own_thread::spawn("scorep-nccl-end", || {
        while is_main_alive() || !own_thread::are_alone_with(others()) {
            pause(PERIOD);
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
