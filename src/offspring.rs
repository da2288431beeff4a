//! Child processes that end when this one does, however it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// This program, to be started with a hidden command.
///
/// # Errors
/// When the system does not say which file this program is.
pub(crate) fn of_own(command: &str) -> io::Result<Command> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg(command);
    end_with_parent(&mut child);
    Ok(child)
}

/// Has the system kill a child when the thread that has started it ends.
pub(crate) fn end_with_parent(child: &mut Command) {
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: both are calls of the system, which may be made between fork and exec.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // it may have ended before
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    };
    // SAFETY: what runs between fork and exec makes two calls of the system, and allocates nothing.
    unsafe { child.pre_exec(tie) };
}

/// Leaves signals of the terminal, and of who ends a whole process group, to the parent: it removes what both have
/// made, and this process ends with it.
pub(crate) fn leave_signals_to_parent() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: no handler is installed; the system takes the action.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
