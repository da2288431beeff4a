//! The limit of open files.

/// Raises the process' limit of open files as far as the system allows: a report reads the tables of all processes at
/// once. Where it stays too low, opening a table gives the system's error.
pub fn raise_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the argument is a structure that getrlimit fills in.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 || limit.rlim_cur >= limit.rlim_max {
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the argument is a structure that setrlimit reads.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
}
