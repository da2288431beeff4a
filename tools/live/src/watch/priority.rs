//! The priority of a watch beside a job, on a node where the job has all processors: the job comes first.

use std::fs;

/// Lowest priority.
const LOWEST: i32 = 19;
/// The process that the system ends first where memory runs out (`OOM_SCORE_ADJ_MAX`).
const FIRST: &str = "1000";

/// Gives way to the job: the lowest priority, no processors of one rank, and the first end where memory runs out.
/// Threads that begin later have it, too. Where the system refuses a part of it, the rest is done.
pub(super) fn give_way() {
    // a session of its own may have a group of its own, whose priority counts then instead of that of the process
    let _ = fs::write("/proc/self/autogroup", LOWEST.to_string());
    let _ = fs::write("/proc/self/oom_score_adj", FIRST);
    let ordinary = libc::sched_param { sched_priority: 0 };
    // SAFETY: `ordinary` lives through the call, which reads it. A rank may have real-time priority; this has not.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const ordinary) };
    // SAFETY: the call has no memory of ours.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST) };
    // SAFETY: `cpu_set_t` is an array of bits, all of which may be set. The call reads as many bytes as it is told.
    // The system takes those processors away that the control group does not have.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        (&raw mut all).cast::<u8>().write_bytes(0xff, size_of::<libc::cpu_set_t>());
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const all);
    }
}
