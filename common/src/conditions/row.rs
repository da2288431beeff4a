//! The conditions of a process in an interval: its host's and those of its GPUs.

use super::gpu_row::GpuRow;
use super::joined;
use serde::{Deserialize, Serialize};

/// The conditions of a process in an interval. Times are microseconds within it. A figure that the system does not give is
/// absent.
///
/// *Launching threads* are those of the application that enqueued operations of NCCL. Their times are summed over them:
/// two threads that wait together for a second wait two seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConditionRow {
    /// End of the interval, nanoseconds of the system's monotonic clock; in a recording, since the recording began.
    pub until: u64,
    /// Its length, microseconds.
    pub length_us: u64,
    /// The host.
    #[serde(flatten)]
    pub host: HostCondition,
    /// The process' GPUs, as far as NVML has answered in the interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuRow>,
}

/// The host's side of [`ConditionRow`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostCondition {
    /// Launching threads on a processor (/proc/self/task/TID/schedstat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_us: Option<u64>,
    /// Launching threads that were ready and had no processor (schedstat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_us: Option<u64>,
    /// Launching threads that ran or were ready for at least 1 % of the time, mean over the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<f64>,
    /// NCCL's threads that called the plugin, on a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nccl_running_us: Option<u64>,
    /// The same threads, ready and without a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nccl_waiting_us: Option<u64>,
    /// The process was not run although it had work and nothing is known to have had its processor: SIGSTOP, a debugger,
    /// a virtual machine that was held. Known to a few milliseconds each time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_us: Option<u64>,
    /// A limit of the process' cgroup, or of one above it, held its threads up (cpu.stat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
    /// Some task of the process' cgroup, or of the machine if the cgroup does not say it, waited for memory
    /// (memory.pressure, /proc/pressure/memory).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_stall_us: Option<u64>,
    /// The virtual machine's processors ran others, mean over the processors (/proc/stat, `steal`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_us: Option<u64>,
    /// Voluntary switches of all threads of the process (getrusage).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voluntary: Option<u64>,
    /// Involuntary switches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub involuntary: Option<u64>,
    /// Page faults without input or output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Page faults with input or output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// Tasks of the whole machine that ran or were ready, at one moment of the interval (/proc/loadavg).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runnable: Option<f64>,
    /// Clock of a processor that a launching thread was last on, MHz (cpufreq).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mhz: Option<f64>,
    /// Processors that a launching thread may run on, the fewest of these threads (sched_getaffinity).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// Processors among these that are near the process' GPUs (local_cpulist of their PCI devices).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_gpu: Option<u32>,
}

impl ConditionRow {
    /// Returns the row as JSON, on one line.
    pub fn json(&self) -> String {
        // numbers and names alone: never fails
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Joins the row with the one that follows it.
    #[must_use]
    pub fn followed_by(self, next: &Self) -> Self {
        let weights = [self.length_us as f64, next.length_us as f64];
        Self {
            until: next.until,
            length_us: self.length_us.saturating_add(next.length_us),
            host: self.host.joined(&next.host, weights),
            gpus: joined_gpus(self.gpus, &next.gpus, weights),
        }
    }
}

/// Joins the rows of GPUs; one that stands in one of them alone keeps its row.
fn joined_gpus(mut gpus: Vec<GpuRow>, next: &[GpuRow], weights: [f64; 2]) -> Vec<GpuRow> {
    for next in next {
        match gpus.iter_mut().find(|gpu| gpu.bus == next.bus) {
            Some(gpu) => *gpu = gpu.followed_by(next, weights),
            None => gpus.push(next.clone()),
        }
    }
    gpus
}

impl HostCondition {
    fn joined(&self, next: &Self, lengths: [f64; 2]) -> Self {
        let sum = |of: fn(&Self) -> Option<u64>| joined::sum([of(self), of(next)]);
        let mean = |of: fn(&Self) -> Option<f64>| joined::mean([of(self), of(next)], lengths);
        let least = |of: fn(&Self) -> Option<u32>| of(self).into_iter().chain(of(next)).min();
        Self {
            running_us: sum(|it| it.running_us),
            waiting_us: sum(|it| it.waiting_us),
            threads: mean(|it| it.threads),
            nccl_running_us: sum(|it| it.nccl_running_us),
            nccl_waiting_us: sum(|it| it.nccl_waiting_us),
            stopped_us: sum(|it| it.stopped_us),
            throttled_us: sum(|it| it.throttled_us),
            memory_stall_us: sum(|it| it.memory_stall_us),
            steal_us: sum(|it| it.steal_us),
            voluntary: sum(|it| it.voluntary),
            involuntary: sum(|it| it.involuntary),
            minor_faults: sum(|it| it.minor_faults),
            major_faults: sum(|it| it.major_faults),
            runnable: mean(|it| it.runnable),
            mhz: mean(|it| it.mhz),
            processors: least(|it| it.processors),
            near_gpu: least(|it| it.near_gpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_rows_have_sums_means_and_the_least() {
        let row = |until, waiting, mhz, processors| ConditionRow {
            until,
            length_us: 1_000,
            host: HostCondition { waiting_us: waiting, mhz, processors, ..HostCondition::default() },
            gpus: vec![],
        };
        let joined = row(1, Some(3), Some(1000.0), Some(8)).followed_by(&row(2, Some(4), Some(3000.0), Some(1)));
        assert_eq!(joined, ConditionRow { length_us: 2_000, ..row(2, Some(7), Some(2000.0), Some(1)) });
        let unknown = row(1, None, None, None).followed_by(&row(2, Some(4), Some(3000.0), Some(1)));
        assert_eq!(unknown, ConditionRow { length_us: 2_000, ..row(2, None, Some(3000.0), Some(1)) });
    }

    #[test]
    fn absent_figures_take_no_room_in_a_line() {
        let row = ConditionRow { until: 5, length_us: 6, ..ConditionRow::default() };
        assert_eq!(serde_json::to_string(&row).unwrap(), r#"{"until":5,"length_us":6}"#);
        assert_eq!(serde_json::from_str::<ConditionRow>(r#"{"until":5,"length_us":6,"later":1}"#).unwrap(), row);
    }
}
