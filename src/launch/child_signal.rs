//! The signal of a child's end (SIGCHLD), which is the user's again when the command begins.

/// The signal of a child's end, with its default action for as long as this process has children to wait for: where it
/// is ignored, the system forgets how they end.
#[derive(Debug)]
pub(super) struct ChildSignal {
    before: libc::sighandler_t,
    was_pending: bool,
}

impl ChildSignal {
    /// Takes the default action. To be called before this process has children of its own.
    pub(super) fn by_default() -> Self {
        let was_pending = is_pending();
        // SAFETY: SIG_DFL is no handler of ours.
        let before = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        Self { before, was_pending }
    }

    /// Restores the action for the command that this process becomes. Where the signal is blocked, that of our children
    /// would wait for the command, so it is taken away.
    pub(super) fn restore(self) {
        if is_pending() && !self.was_pending {
            // SAFETY: `own` and `now` are ours, and live through the calls.
            unsafe {
                let mut own: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut own);
                libc::sigaddset(&raw mut own, libc::SIGCHLD);
                let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(&raw const own, std::ptr::null_mut(), &raw const now);
            }
        }
        if self.before != libc::SIG_ERR && self.before != libc::SIG_DFL {
            // SAFETY: before this process began, `exec` left SIG_IGN or SIG_DFL, and it has no handler of its own.
            unsafe { libc::signal(libc::SIGCHLD, self.before) };
        }
    }
}

/// Returns whether the signal of a child's end waits.
fn is_pending() -> bool {
    // SAFETY: `pending` is ours, for the system to write to.
    unsafe {
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut pending) == 0 && libc::sigismember(&raw const pending, libc::SIGCHLD) == 1
    }
}
