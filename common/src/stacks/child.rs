//! Work that may fault, in a child process that shares this process' memory: a fault ends the child alone.
//!
//! The child is made as `posix_spawn` makes one (`CLONE_VM | CLONE_VFORK`): no page is copied or marked, so that memory
//! which GPUs and network cards have pinned stays as it is, and the calling thread waits in the kernel. Handlers that
//! the program has registered by `pthread_atfork` are not called. No signal announces the child's end to the program.

use crate::base::signal::Blocked;
use crate::base::system_file;
use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Stack of the child, bytes. Its lowest page is the guard.
const STACK: usize = 256 << 10;
const GUARD: usize = 64 << 10;
/// Time after which the system ends the child, seconds.
const MOST_SECONDS: c_uint = 2;
/// The signals of a fault.
const FAULTS: [c_int; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGSYS];

/// The signal that ended the child; 0 before. One thread makes children, one at a time.
static FAULT: AtomicI32 = AtomicI32::new(0);

/// How the child ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChildEnd {
    /// The work is done.
    Done,
    /// This signal ended it.
    Fault(i32),
    /// It took too long.
    TimedOut,
}

struct ChildTask {
    work: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    is_done: AtomicBool,
}

/// The child's stack, unmapped when it is dropped.
struct ChildStack(*mut c_void);

impl ChildStack {
    fn new() -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK;
        // SAFETY: a new mapping touches no memory in use.
        let lowest = unsafe { libc::mmap(ptr::null_mut(), STACK, libc::PROT_NONE, flags, -1, 0) };
        if lowest == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self(lowest);
        // SAFETY: the range lies in the mapping above.
        let opened =
            unsafe { libc::mprotect(lowest.byte_add(GUARD), STACK - GUARD, libc::PROT_READ | libc::PROT_WRITE) };
        if opened == 0 { Ok(stack) } else { Err(io::Error::last_os_error()) }
    }

    fn top(&self) -> *mut c_void {
        // SAFETY: one past the end of the mapping.
        unsafe { self.0.byte_add(STACK) }
    }
}

impl Drop for ChildStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one's, and the child has ended.
        unsafe { libc::munmap(self.0, STACK) };
    }
}

/// Runs `work` in a child, and waits for its end. The work gets an empty table of descriptors of its own. Where the system
/// does not offer that (Linux before 5.9), the child ends as by SIGSYS, and the work is not done.
///
/// # Errors
/// Fails where the system makes no child.
///
/// # Safety
/// The work must be sound with `argument` in a process of one thread that shares all memory: it takes no lock,
/// allocates nothing and does not unwind. Only one thread of the process calls this at a time.
pub(super) unsafe fn run(work: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) -> io::Result<ChildEnd> {
    let stack = ChildStack::new()?;
    let mut task = ChildTask { work, argument, is_done: AtomicBool::new(false) };
    FAULT.store(0, Ordering::Relaxed);
    // the program's handlers must not run in the child
    let _blocked = Blocked::all();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_FS;
    // SAFETY: the stack and the task live until the child has given the memory up: CLONE_VFORK waits for that.
    let child = unsafe { libc::clone(begin, stack.top(), flags, (&raw mut task).cast()) };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    // a child without a signal of its end is waited for by __WALL alone
    // SAFETY: the status is not wanted; the child is this function's.
    unsafe { libc::waitpid(child, ptr::null_mut(), libc::__WALL) };
    Ok(match (task.is_done.load(Ordering::Acquire), FAULT.load(Ordering::Relaxed)) {
        (true, _) => ChildEnd::Done,
        (false, 0) => ChildEnd::TimedOut,
        (false, signal) => ChildEnd::Fault(signal),
    })
}

/// Begin of the child.
extern "C" fn begin(task: *mut c_void) -> c_int {
    // SAFETY: `run` passes its task, which lives as long as the child. Handlers, mask, alarm and table of descriptors
    // are the child's own. The calls are system calls.
    unsafe {
        let task = &*task.cast::<ChildTask>();
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = fault as extern "C" fn(c_int) as usize;
        let mut open: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut open);
        for signal in FAULTS {
            libc::sigaction(signal, &raw const action, ptr::null_mut());
            libc::sigaddset(&raw mut open, signal);
        }
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(libc::SIGALRM, &raw const action, ptr::null_mut());
        libc::sigaddset(&raw mut open, libc::SIGALRM);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const open, ptr::null_mut());
        libc::alarm(MOST_SECONDS);
        // in the program's table, a descriptor would stay behind where a fault ends the child
        if system_file::take_own_descriptors() {
            (task.work)(task.argument);
            task.is_done.store(true, Ordering::Release);
        } else {
            FAULT.store(libc::SIGSYS, Ordering::Relaxed);
        }
    }
    leave()
}

/// Handler of a fault in the child. Without it, the system would write a core file of the memory, and end this process,
/// too.
extern "C" fn fault(signal: c_int) {
    FAULT.store(signal, Ordering::Relaxed);
    leave();
}

/// Ends the child, without a function that the program may have put in place of `_exit`.
fn leave() -> c_int {
    // SAFETY: the child has no other thread.
    unsafe { libc::syscall(libc::SYS_exit_group, 0) };
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn add(place: *mut c_void) {
        // SAFETY: the test passes a number.
        unsafe { *place.cast::<u32>() += 1 };
    }

    unsafe extern "C" fn read_nowhere(_: *mut c_void) {
        // SAFETY: none: the fault is wanted.
        unsafe { ptr::without_provenance::<u32>(64).read_volatile() };
    }

    unsafe extern "C" fn wait(_: *mut c_void) {
        loop {
            // SAFETY: pause touches no memory.
            unsafe { libc::pause() };
        }
    }

    /// The three ends in one test: children are made one at a time.
    #[test]
    fn a_child_shares_the_memory_and_its_fault_ends_it_alone() {
        let mut number = 7_u32;
        // SAFETY: each work is sound in a child, or its fault ends the child.
        unsafe {
            assert_eq!(run(add, (&raw mut number).cast()).unwrap(), ChildEnd::Done);
            for _ in 0..20 {
                assert_eq!(run(read_nowhere, ptr::null_mut()).unwrap(), ChildEnd::Fault(libc::SIGSEGV));
            }
            assert_eq!(run(wait, ptr::null_mut()).unwrap(), ChildEnd::TimedOut);
        }
        assert_eq!(number, 8);
    }
}
