//! The process of the job that a process in an export is.

use super::file::{NsysFile, NsysProcess};
use report::job::Process;

/// Returns the place of a process: by its id on its machine; else by its rank in MPI; else by its only GPU. An id alone
/// does not do where it is that of a container.
pub(super) fn find(file: &NsysFile, id: i64, of: &NsysProcess, processes: &[Process]) -> Option<usize> {
    let is_here = |process: &Process| is_of_host(file, process);
    let only = |fits: &dyn Fn(&Process) -> bool| {
        let mut places = processes.iter().enumerate().filter(|(_, process)| fits(process)).map(|(place, _)| place);
        places.next().filter(|_| places.next().is_none())
    };
    let by_id = || only(&|process| is_here(process) && process.pid.is_some_and(|pid| i64::from(pid) == id));
    let by_rank = || of.rank.and_then(|rank| only(&|process| process.rank == Some(rank)));
    let by_gpu = || {
        let [gpu] = &of.gpus[..] else { return None };
        let gpu = bus(gpu)?;
        only(&|process| {
            let own = process.links.as_ref().map(|links| &links.gpus[..]);
            file.host.is_some()
                && process.host.is_some()
                && is_here(process)
                && own.is_some_and(|own| matches!(own, [own] if bus(&own.gpu) == Some(gpu)))
        })
    };
    by_id().or_else(by_rank).or_else(by_gpu)
}

/// Returns whether a process in an export may be a process of the job, by machine, rank in MPI and GPUs, as far as both
/// are known.
pub(super) fn may_be(file: &NsysFile, of: &NsysProcess, process: &Process) -> bool {
    let is_of_rank = of.rank.is_none_or(|rank| process.rank.is_none_or(|own| own == rank));
    let own: Vec<_> = process.links.iter().flat_map(|links| &links.gpus).filter_map(|gpu| bus(&gpu.gpu)).collect();
    let used: Vec<_> = of.gpus.iter().filter_map(|gpu| bus(gpu)).collect();
    let is_of_gpu = own.is_empty() || used.is_empty() || used.iter().any(|gpu| own.contains(gpu));
    is_of_host(file, process) && is_of_rank && is_of_gpu
}

fn is_of_host(file: &NsysFile, process: &Process) -> bool {
    match (file.host.as_deref(), process.host.as_deref()) {
        (Some(one), Some(other)) => short(one) == short(other),
        _ => true,
    }
}

/// Returns a machine's name without its domain.
fn short(host: &str) -> &str {
    host.split('.').next().unwrap_or(host)
}

/// Reads a place on the PCI bus: domain, bus and device, in hexadecimal digits of any number.
fn bus(place: &str) -> Option<[u32; 3]> {
    let (place, _) = place.rsplit_once('.').unwrap_or((place, ""));
    let parts: Vec<u32> = place.split(':').map(|part| u32::from_str_radix(part, 16).ok()).collect::<Option<_>>()?;
    match parts[..] {
        [domain, bus, device] => Some([domain, bus, device]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::links::{GpuLinks, ProcessLinks};

    fn process(pid: u32, host: &str, rank: u32, gpu: &str) -> Process {
        let gpu = GpuLinks { gpu: gpu.into(), ..GpuLinks::default() };
        Process {
            pid: Some(pid),
            host: Some(host.into()),
            rank: Some(rank),
            links: Some(ProcessLinks { gpus: vec![gpu], ..ProcessLinks::default() }),
            ..Process::default()
        }
    }

    #[test]
    fn a_process_is_found_by_id_rank_or_gpu() {
        // two machines with equal ids and GPUs
        let job: Vec<_> = [("a.site", 0), ("a.site", 1), ("b.site", 2), ("b.site", 3)]
            .map(|(host, rank)| process(70 + rank % 2, host, rank, ["0000:1b:00.0", "0000:2A:00.0"][rank as usize % 2]))
            .to_vec();
        let on = |host: Option<&str>| NsysFile { host: host.map(str::to_owned), ..NsysFile::default() };
        let nothing = NsysProcess::default();
        assert_eq!(find(&on(Some("b")), 71, &nothing, &job), Some(3));
        assert_eq!(find(&on(Some("a.site")), 70, &nothing, &job), Some(0));
        // which machine it is, nobody knows
        assert_eq!(find(&on(None), 71, &nothing, &job), None);
        let by_rank = NsysProcess { rank: Some(2), ..NsysProcess::default() };
        assert_eq!(find(&on(None), 71, &by_rank, &job), Some(2));
        // in a container
        let by_gpu = |gpus: &[&str]| NsysProcess {
            gpus: gpus.iter().map(|&gpu| gpu.into()).collect(),
            ..NsysProcess::default()
        };
        assert_eq!(find(&on(Some("b")), 1, &by_gpu(&["00000000:2a:00.0"]), &job), Some(3));
        assert_eq!(find(&on(None), 1, &by_gpu(&["00000000:2a:00.0"]), &job), None);
        assert_eq!(find(&on(Some("b")), 1, &by_gpu(&["00000000:2a:00.0", "0000:1b:00.0"]), &job), None);
        assert_eq!(find(&on(Some("c")), 71, &by_gpu(&["x"]), &job), None);
        // the order of files may say that it is rank 1 on a.site
        let may_be = |host: Option<&str>, of: &NsysProcess| may_be(&on(host), of, &job[1]);
        assert!(may_be(Some("a"), &by_gpu(&["0000:1b:00.0", "00000000:2a:00.0"])) && may_be(None, &nothing));
        assert!(!may_be(Some("b"), &nothing), "another machine");
        assert!(!may_be(None, &by_rank), "another rank");
        assert!(!may_be(Some("a"), &by_gpu(&["0000:1b:00.0"])), "another process' GPU");
    }
}
