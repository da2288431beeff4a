//! Rank of this process in its job, as the launcher's environment variables give it before any communicator exists.
//!
//! | source | rank | number of ranks |
//! |---|---|---|
//! | PyTorch (torchrun, accelerate, deepspeed) | `RANK` | `WORLD_SIZE` |
//! | Open MPI | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` |
//! | MVAPICH | `MV2_COMM_WORLD_RANK` | `MV2_COMM_WORLD_SIZE` |
//! | PMIx | `PMIX_RANK` | |
//! | MPICH, Intel MPI, PMI-2 | `PMI_RANK` | `PMI_SIZE` |
//! | Cray PALS | `PALS_RANKID` | |
//! | IBM jsrun | `JSM_NAMESPACE_RANK` | `JSM_NAMESPACE_SIZE` |
//! | Flux | `FLUX_TASK_RANK` | `FLUX_JOB_SIZE` |
//! | SLURM, in a step | `SLURM_PROCID` | `SLURM_STEP_NUM_TASKS`, `SLURM_NTASKS` |
//! | a script, by `RANK` alone | `RANK` | |
//!
//! The first row that gives a rank is taken. The rows are in this order because launchers start each other from the
//! last row to the first: a SLURM task may be `mpirun` or its daemon, and an MPI process may be `torchrun`. The inner
//! launcher knows the process best. A rank that is not below its number of ranks belongs to another job and is passed
//! over. Anybody may set `RANK`, so it comes first only together with `WORLD_SIZE`, as PyTorch sets it.
//!
//! SLURM also sets `SLURM_PROCID=0` in a batch script and in the shell of an interactive allocation, whatever the
//! number of tasks. Neither is a rank: the batch script is in no step, and the shell is in a step with a reserved
//! number.

use super::ranks;
use std::sync::OnceLock;

/// The variable of the rank and those of the number of ranks, for each source, in the order of the table above.
const TELLERS: [(&str, &[&str]); 10] = [
    (PYTORCH, &["WORLD_SIZE"]),
    ("OMPI_COMM_WORLD_RANK", &["OMPI_COMM_WORLD_SIZE"]),
    ("MV2_COMM_WORLD_RANK", &["MV2_COMM_WORLD_SIZE"]),
    ("PMIX_RANK", &[]),
    ("PMI_RANK", &["PMI_SIZE"]),
    ("PALS_RANKID", &[]),
    ("JSM_NAMESPACE_RANK", &["JSM_NAMESPACE_SIZE"]),
    ("FLUX_TASK_RANK", &["FLUX_JOB_SIZE"]),
    (SLURM, &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"]),
    (PYTORCH, &[]),
];
const PYTORCH: &str = "RANK";
const SLURM: &str = "SLURM_PROCID";
/// Variables of the rank among the processes of one machine: PyTorch, SLURM, Open MPI, MVAPICH, Intel MPI, Cray.
pub const LOCAL: [&str; 6] = [
    "LOCAL_RANK",
    "SLURM_LOCALID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "PALS_LOCAL_RANKID",
];
/// First step number that SLURM reserves for its own steps (`SLURM_MAX_NORMAL_STEP_ID` of slurm.h).
const STEPS_OF_SLURM: u32 = 0xffff_fff0;

/// Lists all variables that are read: for the rank, the number of ranks, and the rank on the machine.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    let all = TELLERS.iter().flat_map(|(variable, sizes)| std::iter::once(variable).chain(*sizes));
    // `RANK` is in the table twice
    all.take(TELLERS.iter().map(|(_, sizes)| 1 + sizes.len()).sum::<usize>() - 1).chain(&LOCAL).copied()
}

/// Lists the variables that a rank is read from, each once.
pub fn tellers() -> impl Iterator<Item = &'static str> {
    TELLERS[..TELLERS.len() - 1].iter().map(|&(variable, _)| variable)
}

/// Rank and number of ranks that the environment gives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// Rank of this process in its job, from 0.
    pub rank: Option<u32>,
    /// The variable that gave the rank.
    pub variable: Option<&'static str>,
    /// Number of processes of the job, where a variable gives it.
    pub ranks: Option<u32>,
}

/// Returns what the environment said at the first call.
pub fn told() -> Told {
    static TOLD: OnceLock<Told> = OnceLock::new();
    *TOLD.get_or_init(|| Told::by(|name| std::env::var(name).ok()))
}

/// Returns the rank of this process in its job, from 0.
pub fn rank() -> Option<u32> {
    told().rank
}

/// Returns the number of processes of the job.
pub fn ranks() -> Option<u32> {
    told().ranks
}

impl Told {
    /// Returns whether a launcher set the rank. A `RANK` without `WORLD_SIZE` may come from a script.
    pub fn is_of_launcher(&self) -> bool {
        self.variable.is_some_and(|variable| variable != PYTORCH || self.ranks.is_some())
    }

    /// Reads rank and number of ranks from an environment, given by `lookup`.
    pub fn by(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| lookup(name)?.trim().parse::<u32>().ok();
        let in_step = number("SLURM_STEP_ID").is_some_and(|step| step < STEPS_OF_SLURM);
        let of_teller = |&(variable, sizes): &(&'static str, &[&str])| {
            let possible = |ranks: &u32| ranks::are_possible(*ranks);
            let ranks = sizes.iter().find_map(|&size| number(size).filter(possible));
            let rank = number(variable).filter(|&rank| ranks.is_none_or(|ranks| rank < ranks))?;
            let counts = match variable {
                PYTORCH => ranks.is_some() || sizes.is_empty(),
                SLURM => in_step,
                _ => true,
            };
            counts.then_some(Self { rank: Some(rank), variable: Some(variable), ranks })
        };
        let mut tellers = TELLERS.iter().filter_map(of_teller);
        let Some(first) = tellers.next() else { return Self::default() };
        // PMIx gives no number of ranks; a launcher that uses PMIx gives it in a variable of its own
        let others = || tellers.filter(|other| other.rank == first.rank).find_map(|other| other.ranks);
        Self { ranks: first.ranks.or_else(others), ..first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(environment: &str) -> (Option<u32>, Option<u32>) {
        let pairs: Vec<(&str, &str)> = environment.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let told = Told::by(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()));
        assert_eq!(told.rank.is_some(), told.variable.is_some(), "{environment}");
        (told.rank, told.ranks)
    }

    #[test]
    fn each_launcher_tells_by_names_of_its_own() {
        for (environment, rank, ranks) in [
            ("RANK=5 WORLD_SIZE=8", 5, Some(8)),
            ("OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8", 5, Some(8)),
            ("MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_SIZE=1", 0, Some(1)),
            ("PMI_RANK=1 PMI_SIZE=2", 1, Some(2)),
            ("PALS_RANKID=1", 1, None),
            ("JSM_NAMESPACE_RANK=1 JSM_NAMESPACE_SIZE=2", 1, Some(2)),
            ("FLUX_TASK_RANK=1 FLUX_JOB_SIZE=2", 1, Some(2)),
            ("SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=8", 3, Some(4)),
            ("SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_NTASKS=4", 3, Some(4)),
            ("RANK=7", 7, None),
        ] {
            assert_eq!(told(environment), (Some(rank), ranks), "{environment}");
        }
    }

    #[test]
    fn a_launcher_is_told_from_a_script() {
        let is_of_launcher = |set: &str| {
            let lookup = |name: &str| Some(set.strip_prefix(name)?.strip_prefix('=')?.to_owned());
            Told::by(lookup).is_of_launcher()
        };
        assert_eq!(
            ["PALS_RANKID=0", "PMIX_RANK=0", "RANK=0", "HOME=0"].map(is_of_launcher),
            [true, true, false, false]
        );
        let names: Vec<&str> = tellers().collect();
        assert_eq!((names.len(), names.iter().filter(|name| **name == PYTORCH).count()), (TELLERS.len() - 1, 1));
    }

    #[test]
    fn the_inner_launcher_knows_the_process() {
        let slurm = "SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2";
        let under = |inner: &str| told(&format!("{slurm} {inner}"));
        assert_eq!(under("RANK=9 WORLD_SIZE=16"), (Some(9), Some(16)));
        assert_eq!(under("OMPI_COMM_WORLD_RANK=9 OMPI_COMM_WORLD_SIZE=16"), (Some(9), Some(16)));
        // PMIx gives no number of ranks; SLURM's counts if SLURM gives the same rank
        assert_eq!(under("PMIX_RANK=1"), (Some(1), Some(2)));
        assert_eq!(under("PMIX_RANK=9"), (Some(9), None));
        // anybody may set `RANK`
        assert_eq!(under("RANK=9"), (Some(1), Some(2)));
    }

    #[test]
    fn a_script_of_a_scheduler_is_no_rank() {
        for environment in [
            "SLURM_PROCID=0 SLURM_NTASKS=8",
            "SLURM_PROCID=0 SLURM_NTASKS=1",
            // the shell of an interactive allocation
            "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_ID=4294967290",
            "RANK=high WORLD_SIZE=8",
            "RANK=-1 WORLD_SIZE=8",
            "PMI_RANK=8 PMI_SIZE=8",
            "WORLD_SIZE=8",
            "",
        ] {
            assert_eq!(told(environment), (None, None), "{environment}");
        }
        // a rank of another job is passed over; the next source counts
        assert_eq!(told("PMI_RANK=8 PMI_SIZE=8 PMIX_RANK=2"), (Some(2), None));
    }
}
