//! The processor's own time counter, read in one instruction: a third of the cost of a clock of the system.
//!
//! The counter is used only where the system itself keeps time by it. The system does so only if the counter has a
//! constant rate, never stops, and is the same on all processors. So far this is x86-64's time stamp counter. The
//! processor may read it some instructions too early, which is far below the uncertainty of the GPUs' clocks.

/// Returns whether this process can read the counter and the system trusts it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn is_trusted() -> bool {
    let mut permission: libc::c_int = 0;
    // SAFETY: PR_GET_TSC writes an int to the given address and takes no more arguments.
    let told = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut permission) } == 0;
    // a thread may be forbidden to read the counter, together with the threads that it starts; reading it then ends the
    // process
    told && permission == libc::PR_TSC_ENABLE && is_the_systems() == Some(true)
}

/// Returns whether the system says that it keeps time by another source. False if the process can open no more files.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn is_distrusted() -> bool {
    is_the_systems() == Some(false)
}

/// Returns whether the system keeps time by the counter; `None` where the system does not say.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_the_systems() -> Option<bool> {
    let source = std::fs::read("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()?;
    Some(source.trim_ascii() == b"tsc")
}

/// Returns the counter's ticks.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and `is_trusted` has checked that this process may use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Returns false: there is no such counter.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn is_trusted() -> bool {
    false
}

/// Returns false: there is no such counter.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn is_distrusted() -> bool {
    false
}

/// Never called.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(super) fn read() -> u64 {
    0
}
