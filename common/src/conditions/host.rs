//! What the host has given the process, as the system counts it since the process began.

use super::cgroup::Cgroups;
use super::row::HostCondition;
use super::threads::{self, GrownTimes, ThreadsByKind};
use super::{absence, near};
use crate::base::birth;
use crate::base::system_file::{path, read};
use std::mem::MaybeUninit;
use std::time::Duration;

/// Processor time of a reading of /proc/stat up to which it is read each time: on machines with many processors and
/// interrupts it takes milliseconds.
const DEAR: Duration = Duration::from_micros(200);

/// Where the system says it.
#[derive(Debug)]
pub(super) struct Host {
    cgroups: Cgroups,
    /// Microseconds in a unit of /proc/stat, as a mean over the machine's processors; `None` where it is not read.
    stat_unit: Option<f64>,
    near: near::NearGpus,
}

/// Counts since the process began.
#[derive(Debug, Default)]
pub(super) struct HostCounts {
    threads: ThreadsByKind,
    collector_waited: Option<u64>,
    absent: u64,
    throttled: Option<u64>,
    memory_stall: Option<u64>,
    steal: Option<f64>,
    /// Voluntary and involuntary switches, minor and major faults.
    usage: Option<[u64; 4]>,
}

impl Host {
    pub(super) fn find() -> Self {
        let begun = processor_time();
        let is_there = steal().is_some();
        let is_cheap = processor_time().saturating_sub(begun) < DEAR;
        // SAFETY: sysconf only looks values up.
        let [each_second, processors] =
            unsafe { [libc::sysconf(libc::_SC_CLK_TCK), libc::sysconf(libc::_SC_NPROCESSORS_ONLN)] };
        let unit = 1e6 / (each_second.max(1) as f64 * processors.max(1) as f64);
        Self {
            cgroups: Cgroups::find(),
            stat_unit: (is_there && is_cheap).then_some(unit),
            near: near::NearGpus::default(),
        }
    }

    /// Reads all counts.
    pub(super) fn counts(&self) -> HostCounts {
        HostCounts {
            threads: threads::look(),
            collector_waited: absence::collector().and_then(threads::times).map(|times| times.waiting / 1000),
            absent: absence::sum(),
            throttled: self.cgroups.throttled(),
            memory_stall: self.cgroups.memory_stall(),
            steal: self.stat_unit.and_then(|unit| Some(steal()? as f64 * unit)),
            usage: usage(),
        }
    }

    /// Returns the conditions between two readings, so many microseconds apart, the later of which is made now.
    pub(super) fn between(&mut self, before: &HostCounts, now: &HostCounts, length_us: u64) -> HostCondition {
        let grown = |of: fn(&HostCounts) -> Option<u64>| Some(of(now)?.saturating_sub(of(before)?));
        let [launching, nccl]: [Option<GrownTimes>; 2] =
            std::array::from_fn(|kind| threads::grown(&before.threads[kind], &now.threads[kind], length_us));
        let usage = |place: usize| Some(now.usage?[place].saturating_sub(before.usage?[place]));
        let launching_threads: Vec<u32> = now.threads[0].keys().copied().collect();
        let allowed = launching_threads.iter().filter_map(|&thread| threads::processors(thread)).min_by_key(Vec::len);
        HostCondition {
            running_us: launching.map(|times| times.sum.running),
            waiting_us: launching.map(|times| times.sum.waiting),
            threads: launching.map(|times| times.active.into()),
            nccl_running_us: nccl.map(|times| times.sum.running),
            nccl_waiting_us: nccl.map(|times| times.sum.waiting),
            // the collector was late, and neither for want of a processor, nor for a limit, nor for memory
            stopped_us: grown(|it| it.collector_waited)
                .map(|waited| now.absent.saturating_sub(before.absent).saturating_sub(waited))
                .map(|late| late.saturating_sub(grown(|it| it.throttled).unwrap_or(0)))
                .map(|late| late.saturating_sub(grown(|it| it.memory_stall).unwrap_or(0))),
            throttled_us: grown(|it| it.throttled),
            memory_stall_us: grown(|it| it.memory_stall),
            steal_us: now.steal.zip(before.steal).map(|(now, before)| (now - before).max(0.0) as u64),
            voluntary: usage(0),
            involuntary: usage(1),
            minor_faults: usage(2),
            major_faults: usage(3),
            runnable: runnable(),
            mhz: launching_threads.first().and_then(|&thread| clock_of(thread)),
            near_gpu: allowed.as_deref().and_then(|allowed| self.near.count(allowed)),
            processors: allowed.and_then(|allowed| u32::try_from(allowed.len()).ok()),
        }
    }
}

/// Returns the processor time of the calling thread.
pub(super) fn processor_time() -> Duration {
    Duration::from_nanos(crate::clock::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID))
}

fn usage() -> Option<[u64; 4]> {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the function fills the structure in, which is also valid as zeros.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    let counts = [usage.ru_nvcsw, usage.ru_nivcsw, usage.ru_minflt, usage.ru_majflt];
    Some(counts.map(|count| u64::try_from(count).unwrap_or(0)))
}

/// Returns the time that the machine's processors were stolen, in units of /proc/stat, summed over them.
fn steal() -> Option<u64> {
    let mut buffer = [0; 256];
    steal_of(read(c"/proc/stat", &mut buffer)?)
}

fn steal_of(stat: &str) -> Option<u64> {
    stat.strip_prefix("cpu ")?.split_ascii_whitespace().nth(7)?.parse().ok()
}

/// Returns the number of the machine's tasks that run or are ready.
fn runnable() -> Option<f64> {
    let mut buffer = [0; 128];
    runnable_of(read(c"/proc/loadavg", &mut buffer)?)
}

fn runnable_of(loadavg: &str) -> Option<f64> {
    loadavg.split_ascii_whitespace().nth(3)?.split_once('/')?.0.parse().ok()
}

/// Returns the clock of the processor that a thread was last on, MHz.
fn clock_of(thread: u32) -> Option<f64> {
    let mut buffer = [0; 1024];
    let stat = read(&path(format!("/proc/self/task/{thread}/stat"))?, &mut buffer)?;
    // field 39
    let processor: u32 = birth::fields(stat)?.nth(36)?.parse().ok()?;
    let file = path(format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_cur_freq"))?;
    Some(read(&file, &mut [0; 32])?.trim().parse::<f64>().ok()? / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_s_words_are_understood() {
        assert_eq!(steal_of("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 2"), Some(88));
        assert_eq!([steal_of("cpu  1 2 3 4"), steal_of("intr 5")], [None; 2]);
        assert_eq!(runnable_of("0.20 0.18 0.12 3/512 11206\n"), Some(3.0));
        assert_eq!(runnable_of("0.20"), None);
    }

    #[test]
    fn a_process_without_launches_has_no_times_of_threads() {
        let mut host = Host::find();
        let before = host.counts();
        let row = host.between(&before, &host.counts(), 1_000);
        assert_eq!(([row.running_us, row.waiting_us], row.threads), ([None; 2], None));
        assert!(row.minor_faults.is_some() && row.runnable.is_some_and(|tasks| tasks >= 1.0), "{row:?}");
    }
}
