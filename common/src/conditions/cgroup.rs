//! The process' control groups: how long their limits held it up, and how long its tasks waited for memory.
//!
//! A limit may be that of the process' own group or of any above it, as that of a job's step and of the job. Both versions
//! of control groups are understood, where they are mounted as systemd mounts them.

use crate::base::system_file::{number_behind, path, read};
use std::ffi::CString;

/// Most groups, from the process' own upwards.
const MOST: usize = 12;
/// Where version 2 is mounted: alone, or beside version 1.
const UNIFIED: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The files that say it.
#[derive(Debug)]
pub(super) struct Cgroups {
    /// `cpu.stat` of the process' groups.
    processor: Vec<CString>,
    /// Pressure by memory.
    memory: Option<CString>,
}

impl Cgroups {
    /// Finds the files of this process.
    pub(super) fn find() -> Self {
        let mut buffer = [0; 4096];
        let text = read(c"/proc/self/cgroup", &mut buffer).unwrap_or_default();
        let is_there = |file: &CString| read(file, &mut [0; 16]).is_some();
        let cpu_stat = |folder: String| path(format!("{folder}/cpu.stat")).filter(is_there);
        let own_pressure = folders(text).into_iter().filter_map(|folder| path(format!("{folder}/memory.pressure")));
        let memory = own_pressure.chain(path("/proc/pressure/memory".into())).find(is_there);
        Self { processor: folders(text).into_iter().filter_map(cpu_stat).take(MOST).collect(), memory }
    }

    /// Returns for how long limits have held the groups up so far, microseconds; `None` where no group counts it.
    pub(super) fn throttled(&self) -> Option<u64> {
        // the root's file has no such line; one that cannot be read leaves the sum unknown, or the next one would have all
        // of its past
        let texts: Option<Vec<Option<u64>>> =
            self.processor.iter().map(|file| Some(throttled(read(file, &mut [0; 1024])?))).collect();
        texts?.into_iter().flatten().reduce(u64::saturating_add)
    }

    /// Returns for how long some task has waited for memory so far, microseconds.
    pub(super) fn memory_stall(&self) -> Option<u64> {
        stalled(read(self.memory.as_deref()?, &mut [0; 512])?)
    }
}

/// Returns the folders of the groups that limit processors, from the process' own upwards, by the text of
/// /proc/self/cgroup.
fn folders(text: &str) -> Vec<String> {
    let mut found = vec![];
    for line in text.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(group)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let mounts = if number == "0" && controllers.is_empty() {
            UNIFIED.map(str::to_owned)
        } else if controllers.split(',').any(|it| it == "cpu") {
            [format!("/sys/fs/cgroup/{controllers}"), "/sys/fs/cgroup/cpu".to_owned()]
        } else {
            continue;
        };
        let mut group = group.trim_end_matches('/');
        loop {
            let here = mounts.iter().map(|mount| format!("{mount}{group}"));
            here.for_each(|folder| {
                if !found.contains(&folder) {
                    found.push(folder)
                }
            });
            let Some((above, _)) = group.rsplit_once('/') else { break };
            group = above;
        }
    }
    found
}

/// Returns for how long a limit has held a group up, microseconds, from the text of cpu.stat.
fn throttled(text: &str) -> Option<u64> {
    // version 2 in microseconds, version 1 in nanoseconds
    number_behind(text, "throttled_usec").or_else(|| Some(number_behind(text, "throttled_time")? / 1000))
}

/// Returns for how long some task was stalled, microseconds, from the text of a pressure file.
fn stalled(text: &str) -> Option<u64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_ascii_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_upwards() {
        let text = "4:cpu,cpuacct:/slurm/job_7\n3:memory:/slurm/job_7/step_0\n0::/a/b\n";
        let folders = folders(text);
        let expected = [
            "/sys/fs/cgroup/cpu,cpuacct/slurm/job_7",
            "/sys/fs/cgroup/cpu/slurm/job_7",
            "/sys/fs/cgroup/cpu,cpuacct/slurm",
            "/sys/fs/cgroup/cpu/slurm",
            "/sys/fs/cgroup/cpu,cpuacct",
            "/sys/fs/cgroup/cpu",
            "/sys/fs/cgroup/a/b",
            "/sys/fs/cgroup/unified/a/b",
            "/sys/fs/cgroup/a",
            "/sys/fs/cgroup/unified/a",
            "/sys/fs/cgroup",
            "/sys/fs/cgroup/unified",
        ];
        assert_eq!(folders, expected);
        assert!(super::folders("nonsense\n1:memory:/x\n").is_empty());
    }

    #[test]
    fn both_versions_are_understood() {
        assert_eq!(throttled("nr_periods 1\nnr_throttled 1\nthrottled_time 2500000\n"), Some(2_500));
        assert_eq!(throttled("usage_usec 9\nnr_throttled 1\nthrottled_usec 2500\n"), Some(2_500));
        assert_eq!(throttled("usage_usec 9\n"), None);
        assert_eq!(stalled("some avg10=0.00 avg60=0.00 avg300=0.00 total=71\nfull avg10=0 total=3\n"), Some(71));
        assert_eq!(stalled("full total=3\n"), None);
    }
}
