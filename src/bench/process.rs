//! What the kernel says of this process: processor time and memory.

use common::clock::nanoseconds;
use std::fs;

/// Processor time of `RUSAGE_SELF` or `RUSAGE_THREAD`, ns.
pub(super) fn processor_ns(whose: libc::c_int) -> u64 {
    nanoseconds(if whose == libc::RUSAGE_THREAD {
        libc::CLOCK_THREAD_CPUTIME_ID
    } else {
        libc::CLOCK_PROCESS_CPUTIME_ID
    })
}

/// A line of /proc/self/status, KiB; 0 where there is none.
fn status_kib(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Memory in use now.
pub(super) fn resident_kib() -> u64 {
    status_kib("VmRSS:")
}

/// Largest memory that ever was in use since [`forget_peak_kib`].
pub(super) fn peak_kib() -> u64 {
    status_kib("VmHWM:")
}

/// Gives memory that is free back to the system, and makes what is in use now the largest that ever was. Gives that.
pub(super) fn forget_peak_kib() -> u64 {
    // SAFETY: takes any number of bytes to keep.
    unsafe { libc::malloc_trim(0) };
    // a kernel that refuses leaves the older peak, from which what is shown is too small: then it shows in the figures
    // as 0
    let _ = fs::write("/proc/self/clear_refs", "5");
    resident_kib()
}
