//! Divides the processes of a directory into jobs: those that share a communicator or the name of a job.

use crate::statuses::Observed;
use std::collections::HashMap;

/// Processes of one job.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DirectoryJob {
    /// Name from scheduler and launcher.
    pub(super) name: Option<String>,
    /// Indices of its processes.
    pub(super) processes: Vec<usize>,
}

/// Returns the jobs, in the order of their first processes.
pub(super) fn divided(processes: &[Observed]) -> Vec<DirectoryJob> {
    let mut first: Vec<usize> = (0..processes.len()).collect();
    let mut known: HashMap<(bool, &str), usize> = HashMap::new();
    for (index, process) in processes.iter().enumerate() {
        let status = &process.status;
        // before its first operation, a communicator may have no id yet
        let named = status.communicators.iter().filter(|of| !of.comm.is_empty());
        let communicators = named.map(|of| (true, of.comm.as_str()));
        for key in communicators.chain(status.origin.job.as_deref().map(|job| (false, job))) {
            let other = *known.entry(key).or_insert(index);
            let (one, other) = (root(&mut first, index), root(&mut first, other));
            first[one.max(other)] = one.min(other);
        }
    }
    let mut jobs: Vec<DirectoryJob> = vec![];
    let mut of_root: HashMap<usize, usize> = HashMap::new();
    for (index, process) in processes.iter().enumerate() {
        let at = *of_root.entry(root(&mut first, index)).or_insert_with(|| {
            jobs.push(DirectoryJob::default());
            jobs.len() - 1
        });
        let job = &mut jobs[at];
        job.processes.push(index);
        if job.name.is_none() {
            job.name.clone_from(&process.status.origin.job);
        }
    }
    jobs
}

fn root(first: &mut [usize], mut index: usize) -> usize {
    while first[index] != index {
        first[index] = first[first[index]];
        index = first[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statuses::Life;
    use common::origin::Origin;
    use common::status::{Status, StatusCommunicator};

    #[test]
    fn jobs_share_neither_communicators_nor_names() {
        let process = |job: Option<&str>, comms: &[&str]| {
            let communicator =
                |comm: &&str| StatusCommunicator { comm: (*comm).into(), ..StatusCommunicator::default() };
            let origin = Origin { job: job.map(str::to_owned), ..Origin::default() };
            let communicators = comms.iter().map(communicator).collect();
            let status = Status { origin, communicators, ..Status::default() };
            Observed { file: String::new(), status, life: Life::Runs, beats: true, moved: vec![] }
        };
        let processes = [
            process(None, &["a"]),
            process(Some("slurm 1"), &["b"]),
            process(None, &["a", "c"]),
            process(Some("slurm 1"), &["d"]),
            process(None, &["c", ""]),
            process(None, &[""]),
        ];
        let jobs: Vec<(Option<String>, Vec<usize>)> =
            divided(&processes).into_iter().map(|job| (job.name, job.processes)).collect();
        assert_eq!(jobs, [(None, vec![0, 2, 4]), (Some("slurm 1".into()), vec![1, 3]), (None, vec![5])]);
    }
}
