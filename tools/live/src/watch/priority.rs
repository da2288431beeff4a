//! The priority of a watch beside a job, on a node where the job has all processors: the job comes first.

use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity};
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
    let _ = setpriority_process(None, LOWEST);
    // the system takes those processors away that the control group does not have
    let mut all = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|processor| all.set(processor));
    let _ = sched_setaffinity(None, &all);
}
