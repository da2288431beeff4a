//! File names that several ranks of a job would share.

use common::files;
use common::rank::{LOCAL, Told};
use std::path::Path;

/// Variables with the number of a job's processes on this machine, of PyTorch, Open MPI, MVAPICH and Intel MPI.
const LOCAL_SIZES: [&str; 4] =
    ["LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
/// SLURM's variables with the number of tasks on each node: of a step, and of a batch script.
const TASKS_PER_NODE: [&str; 2] = ["SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"];

/// Returns a remark on the name of a summary that several ranks share, or `None` if each has its own. A name with the
/// host in it is shared by the ranks of that host only.
pub(crate) fn shared_name(summary: &Path, lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    if files::is_one_for_each_process(summary) || !files::is_replaced(summary) {
        return None;
    }
    let sharers = if files::holds(summary, files::HOST) { on_host(lookup) } else { in_job(lookup) }?;
    let of = summary.display();
    Some(format!("{of} is the summary's name for {sharers}: one gets it, the others one with a random part"))
}

/// Returns the ranks of the job in words, where there are several.
fn in_job(lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let told = Told::by(&lookup);
    match (told.rank, told.variable, told.ranks) {
        (Some(_), Some(variable), Some(ranks)) => {
            (ranks > 1).then(|| format!("all {ranks} ranks of the job ({variable})"))
        }
        // without a number of ranks: a single process is rarely started by a launcher
        (Some(rank), Some(variable), None) => {
            (rank > 0 || told.is_of_launcher()).then(|| format!("all ranks of the job ({variable})"))
        }
        _ => {
            // a batch script: its steps inherit its environment
            let tasks = number(lookup("SLURM_NTASKS")).filter(|&tasks| tasks > 1)?;
            Some(format!("all {tasks} tasks of a step (SLURM_NTASKS)"))
        }
    }
}

/// Returns the ranks of a host in words, where there are several.
fn on_host(lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let size = LOCAL_SIZES.into_iter().find_map(|name| Some((name, number(lookup(name))?)));
    let of_slurm = || TASKS_PER_NODE.into_iter().find_map(|name| Some((name, most_tasks(&lookup(name)?)?)));
    if let Some((name, size)) = size.or_else(of_slurm) {
        return (size > 1).then(|| format!("all {size} ranks of a host ({name})"));
    }
    let (name, rank) = LOCAL.into_iter().find_map(|name| Some((name, number(lookup(name))?)))?;
    (rank > 0).then(|| format!("all ranks of a host ({name})"))
}

fn number(text: Option<String>) -> Option<u32> {
    text?.trim().parse().ok()
}

/// Returns the largest number of tasks in a list such as `2(x3),1`: three nodes of two tasks, then one node of one.
fn most_tasks(list: &str) -> Option<u32> {
    list.split(',').filter_map(|nodes| number(nodes.split('(').next().map(str::to_owned))).max()
}

/// Cure for a shared name.
pub(crate) const CURE: &str = "put %r, which stands for the rank, into the name: all.%r.json";

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(name: &str, environment: &str) -> Option<String> {
        let pairs: Vec<(&str, &str)> = environment.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let lookup = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        let said = shared_name(Path::new(name), lookup)?;
        Some(said.split_once(" for ")?.1.split_once(':')?.0.to_owned())
    }

    #[test]
    fn a_name_is_shared_where_there_are_others_to_share_it_with() {
        for (environment, sharers) in [
            ("RANK=0 WORLD_SIZE=8", "all 8 ranks of the job (RANK)"),
            ("PMIX_RANK=1", "all ranks of the job (PMIX_RANK)"),
            // launchers that give no number of ranks, only this process' rank
            ("PMIX_RANK=0", "all ranks of the job (PMIX_RANK)"),
            ("PALS_RANKID=0", "all ranks of the job (PALS_RANKID)"),
            ("SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=2", "all 2 ranks of the job (SLURM_PROCID)"),
            ("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2", "all 2 ranks of the job (OMPI_COMM_WORLD_RANK)"),
            // a batch script
            ("SLURM_NTASKS=8", "all 8 tasks of a step (SLURM_NTASKS)"),
            ("SLURM_PROCID=0 SLURM_NTASKS=8", "all 8 tasks of a step (SLURM_NTASKS)"),
        ] {
            assert_eq!(shared("all.json", environment).as_deref(), Some(sharers), "{environment}");
            for other in ["all.%r.json", "%p", "%h.json", "/dev/null"] {
                assert_eq!(shared(other, environment), None, "{other}");
            }
        }
        for alone in [
            "",
            "RANK=0 WORLD_SIZE=1",
            "RANK=0",
            "SLURM_NTASKS=1",
            "PMIX_RANK=0 SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_NTASKS=1",
        ] {
            assert_eq!(shared("all.json", alone), None, "{alone}");
        }
    }

    #[test]
    fn a_name_with_the_host_is_shared_by_the_ranks_of_a_host() {
        for (environment, sharers) in [
            ("LOCAL_RANK=3 LOCAL_WORLD_SIZE=8", "all 8 ranks of a host (LOCAL_WORLD_SIZE)"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE=2", "all 2 ranks of a host (OMPI_COMM_WORLD_LOCAL_SIZE)"),
            ("SLURM_TASKS_PER_NODE=1,4(x2)", "all 4 ranks of a host (SLURM_TASKS_PER_NODE)"),
            ("PALS_LOCAL_RANKID=1", "all ranks of a host (PALS_LOCAL_RANKID)"),
        ] {
            assert_eq!(shared("a.%h.json", environment).as_deref(), Some(sharers), "{environment}");
            assert_eq!(shared("a.%h.%r.json", environment), None);
        }
        for alone in [
            "",
            "RANK=3 WORLD_SIZE=8 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1",
            // torchrun, started once per node
            "SLURM_TASKS_PER_NODE=1(x8) SLURM_LOCALID=0",
            "SLURM_STEP_TASKS_PER_NODE=1(x2) SLURM_TASKS_PER_NODE=4(x2)",
            "SLURM_TASKS_PER_NODE=many",
        ] {
            assert_eq!(shared("a.%h.json", alone), None, "{alone}");
        }
    }
}
