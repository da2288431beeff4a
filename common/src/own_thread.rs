//! Threads of our own in somebody else's process.
//!
//! They block all signals, since the application's handlers must not run on them, a fault in one ends that thread alone, and Score-P
//! does not record what they do.

use crate::signal::Blocked;
use crate::switch;
use crate::unseen::Unseen;
use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::Thread;

/// Stack of a thread of ours, bytes.
const STACK: usize = 512 << 10;

/// What the C library takes of a thread's stack for thread-local variables, the application's among them, which may be megabytes.
fn reserved_stack() -> usize {
    // SAFETY: dlsym with the default handle searches what is loaded.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) };
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: pthread_attr_init fills the attributes in.
    if function.is_null() || unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return 0;
    }
    type Minimum = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: glibc's function of that name has this type; Rust's standard library calls it so, too.
    let minimum = unsafe { std::mem::transmute::<*mut c_void, Minimum>(function) };
    // SAFETY: the attributes were filled in above, and are given back.
    unsafe {
        let bytes = minimum(attributes.as_ptr());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        bytes
    }
}

/// Starts a thread of that name (15 characters are shown).
///
/// # Errors
/// When the system refuses a thread.
pub fn spawn(name: &'static str, body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let blocked = Blocked::all();
    // `--io=runtime:posix` would record what this thread writes on the main thread's location, beside the main thread: a race
    let unseen = Unseen::look_up();
    let guarded = move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            unseen.stay();
            body();
        }));
        if outcome.is_err() {
            // without it nothing would be read any more
            switch::off_after_fault(name);
        }
    };
    let thread = std::thread::Builder::new().name(name.into()).stack_size(STACK + reserved_stack()).spawn(guarded)?;
    drop(blocked);
    Ok(thread.thread().clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn is_blocked(signal: libc::c_int) -> bool {
        let mut mask = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: pthread_sigmask without a new mask writes the present one, which sigismember reads.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr());
            libc::sigismember(mask.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn signals_are_blocked_there_and_not_here() {
        let (sender, answer) = mpsc::channel();
        spawn("test", move || sender.send(is_blocked(libc::SIGUSR1)).unwrap()).unwrap();
        assert!(answer.recv().unwrap());
        assert!(!is_blocked(libc::SIGUSR1));
    }

    #[test]
    fn a_fault_ends_the_thread_alone() {
        let (sender, answer) = mpsc::channel::<()>();
        spawn("test", move || {
            let _sender = sender;
            panic!("on purpose");
        })
        .unwrap();
        assert!(answer.recv().is_err());
    }
}
