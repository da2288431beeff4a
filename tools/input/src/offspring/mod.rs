//! Child processes that end when this process ends, however it ends.

pub mod apart;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Returns a command that starts this program with a hidden subcommand.
///
/// # Errors
/// When the system does not say which file this program is.
pub fn of_own(command: &str) -> io::Result<Command> {
    let mut child = Command::new(std::env::current_exe()?);
    child.arg(command);
    end_with_parent(&mut child);
    Ok(child)
}

/// Has the system kill the child when the thread that starts it ends.
pub fn end_with_parent(child: &mut Command) {
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: prctl and getppid are system calls, which are allowed between fork and exec.
        unsafe {
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            // the parent may have ended before prctl took effect
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec; it makes two system calls and allocates nothing.
    unsafe { child.pre_exec(tie) };
}

/// Ignores the signals of the terminal and those sent to a whole process group. The parent handles them: it removes the
/// files of both processes, and this process ends with it.
pub(crate) fn leave_signals_to_parent() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: SIG_IGN is no handler; the system carries out the action.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}
