//! Child processes that end when this process ends, however it ends.

pub mod apart;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
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
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // the parent may have ended before that took effect
        if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
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
