//! The kernel's counts for this process: processor time and memory.

use common::clock::nanoseconds;
use std::fs;

/// Returns the processor time for `RUSAGE_SELF` or `RUSAGE_THREAD`, ns.
pub(super) fn processor_ns(whose: libc::c_int) -> u64 {
    nanoseconds(if whose == libc::RUSAGE_THREAD {
        libc::CLOCK_THREAD_CPUTIME_ID
    } else {
        libc::CLOCK_PROCESS_CPUTIME_ID
    })
}

/// Returns the value of a line of /proc/self/status, KiB; 0 where there is no such line.
fn status_kib(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Returns the memory in use now.
pub(super) fn resident_kib() -> u64 {
    status_kib("VmRSS:")
}

/// Returns the largest memory in use since [`forget_peak_kib`].
pub(super) fn peak_kib() -> u64 {
    status_kib("VmHWM:")
}

/// Returns free memory to the system, resets the peak to the memory in use now, and returns that.
pub(super) fn forget_peak_kib() -> u64 {
    // SAFETY: the function takes any number of bytes to keep.
    unsafe { libc::malloc_trim(0) };
    // if the kernel refuses, the older peak stays, and with it memory of the driver in the plugin's figure
    let _ = fs::write("/proc/self/clear_refs", "5");
    resident_kib()
}
