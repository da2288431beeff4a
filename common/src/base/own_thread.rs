//! The library's own threads, which run in a process of somebody else.
//!
//! They block all signals, because the application's handlers must not run on them. A fault in one of them ends that
//! thread alone. Score-P does not record their calls.

use crate::base::pause::pause;
use crate::base::signal::Blocked;
use crate::base::switch;
use crate::base::unseen::Unseen;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// Stack size of one of the library's threads, bytes.
const STACK: usize = 512 << 10;

/// Returns how many bytes of a thread's stack the C library uses for thread-local variables. The application's
/// variables are among them and may take megabytes. The C library's function for it is looked up once, as
/// [`Unseen::look_up`] is.
fn reserved_stack() -> usize {
    static FUNCTION: OnceLock<usize> = OnceLock::new();
    // SAFETY: dlsym with the default handle searches the loaded libraries.
    let look_up = || unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr()) }.expose_provenance();
    let function = std::ptr::with_exposed_provenance_mut::<c_void>(*FUNCTION.get_or_init(look_up));
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: pthread_attr_init fills the attributes in.
    if function.is_null() || unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return 0;
    }
    type Minimum = unsafe extern "C" fn(*const libc::pthread_attr_t) -> libc::size_t;
    // SAFETY: glibc's function of that name has this type; Rust's standard library calls it with the same type.
    let minimum = unsafe { std::mem::transmute::<*mut c_void, Minimum>(function) };
    // SAFETY: the attributes were initialised above and are destroyed once.
    unsafe {
        let bytes = minimum(attributes.as_ptr());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        bytes
    }
}

/// Thread ids of the library's running threads; 0 marks a free place. A thread that finds no free place counts as the
/// application's.
static RUNNING: [AtomicI64; 16] = [const { AtomicI64::new(0) }; 16];

/// Returns the calling thread's id.
pub(crate) fn number() -> i64 {
    // SAFETY: gettid takes nothing.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Returns whether the calling thread is one of the library's.
pub(crate) fn is_own() -> bool {
    is_in(&RUNNING)
}

/// Returns whether the calling thread is registered in a list.
pub(super) fn is_in(list: &[AtomicI64]) -> bool {
    let number = number();
    list.iter().any(|of| of.load(Ordering::Relaxed) == number)
}

/// Returns whether these many threads are all of the library's.
pub(super) fn are_alone_with(others: Option<usize>) -> bool {
    others == Some(RUNNING.iter().filter(|running| running.load(Ordering::Relaxed) != 0).count())
}

/// Makes the calling thread one of the application's: from here on it does the program's end.
pub(super) fn leave() {
    let number = number();
    let own = RUNNING.iter().find(|running| running.load(Ordering::Relaxed) == number);
    own.into_iter().for_each(|own| own.store(0, Ordering::Relaxed));
}

/// Stops the calling thread, one of the library's, for good. It must not end, because others may still use its memory
/// and the locks that it holds.
pub(crate) fn stop() -> ! {
    loop {
        pause(Duration::from_secs(3600));
    }
}

/// Registers the calling thread in a list of threads' numbers until this is dropped; 0 marks a free place.
#[derive(Debug)]
pub struct Registered(Option<&'static AtomicI64>);

impl Registered {
    pub(super) fn begin(list: &'static [AtomicI64]) -> Self {
        let number = number();
        let free = |place: &&AtomicI64| place.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        Self(list.iter().find(free))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            place.store(0, Ordering::Relaxed);
        }
    }
}

/// Everything that a new thread needs.
struct ThreadTask<F> {
    name: &'static str,
    unseen: Unseen,
    body: F,
}

/// Starts a thread called `name`. The system shows the first 15 characters.
///
/// Uses pthreads directly: threads of the standard library have thread-local variables, for which the C library ends
/// the process where memory has run out.
///
/// # Errors
/// Fails when the system refuses a thread.
pub fn spawn<F: FnOnce() + Send + 'static>(name: &'static str, body: F) -> io::Result<()> {
    let _blocked = Blocked::all();
    // Unseen: with `--io=runtime:posix`, Score-P would record the new thread's writes on the main thread's location,
    // concurrently with the main thread: a data race
    let task = Box::into_raw(Box::new(ThreadTask { name, unseen: Unseen::look_up(), body }));
    let refused = start(run::<F>, task.cast());
    if refused != 0 {
        // SAFETY: no thread was started, so the task is still this function's.
        drop(unsafe { Box::from_raw(task) });
        return Err(io::Error::from_raw_os_error(refused));
    }
    Ok(())
}

/// Starts a detached thread. Returns 0, or the system's error number.
fn start(function: extern "C" fn(*mut c_void) -> *mut c_void, task: *mut c_void) -> libc::c_int {
    let (mut attributes, mut thread) = (MaybeUninit::<libc::pthread_attr_t>::uninit(), MaybeUninit::uninit());
    // SAFETY: the attributes are initialised first and destroyed last; the new thread takes over the task.
    unsafe {
        let attributes = attributes.as_mut_ptr();
        let refused = libc::pthread_attr_init(attributes);
        if refused != 0 {
            return refused;
        }
        libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        // rounded up to whole pages: POSIX lets a system ask for that
        libc::pthread_attr_setstacksize(attributes, (STACK + reserved_stack()).next_multiple_of(1 << 16));
        let refused = libc::pthread_create(thread.as_mut_ptr(), attributes, function, task);
        libc::pthread_attr_destroy(attributes);
        refused
    }
}

extern "C" fn run<F: FnOnce()>(task: *mut c_void) -> *mut c_void {
    let _running = Registered::begin(&RUNNING);
    // SAFETY: `spawn` made the pointer from a box and gave it to this thread alone.
    let ThreadTask { name, unseen, body } = *unsafe { Box::from_raw(task.cast::<ThreadTask<F>>()) };
    let mut shown = [0_u8; 16];
    shown.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
    // SAFETY: the name ends with 0 within the array, and the kernel copies it.
    unsafe { libc::prctl(libc::PR_SET_NAME, shown.as_ptr()) };
    let guarded = || {
        unseen.stay();
        body();
    };
    if let Err(payload) = catch_unwind(AssertUnwindSafe(guarded)) {
        // dropping the payload may panic again
        std::mem::forget(payload);
        // without this thread nothing would be read any more
        switch::off_after_fault(name);
    }
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn is_blocked(signal: libc::c_int) -> bool {
        let mut mask = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: without a new mask, pthread_sigmask writes the current one, which sigismember reads.
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
