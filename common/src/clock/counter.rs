//! The processor's own counter of time, read in one instruction: a third of what asking the system costs.
//!
//! It is used where the system itself keeps time by it, which it does only where the counter runs at one rate, never
//! stops, and is the same on all processors. So far that is x86-64's time stamp counter. The processor may read it some
//! instructions too early, which is far below what the clocks of GPUs are known to.

/// Whether the counter can be read here, and the system trusts it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn is_trusted() -> bool {
    let mut permission: libc::c_int = 0;
    // SAFETY: PR_GET_TSC writes an int to the address it is given, and takes no more arguments.
    let told = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut permission) } == 0;
    // a thread may be forbidden to read it, for itself and those it starts, and dies if it does
    told && permission == libc::PR_TSC_ENABLE && is_the_systems() == Some(true)
}

/// Whether the system says that it keeps time by something else. A process that may open no file any more does not hear
/// of it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) fn is_distrusted() -> bool {
    is_the_systems() == Some(false)
}

/// Whether the system keeps time by it, if it says.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_the_systems() -> Option<bool> {
    let source = std::fs::read("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()?;
    Some(source.trim_ascii() == b"tsc")
}

/// Ticks now.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn read() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and `is_trusted` has found that this process may use it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// There is none.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) fn is_trusted() -> bool {
    false
}

/// There is none.
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
