//! The job that this process belongs to, named after its scheduler and its launcher.
//!
//! A scheduler's number alone is not enough: a batch script may start several programs, one after the other or at the
//! same time. A launcher's name alone is not enough either: the user chooses torchrun's, and often uses the same one
//! for every job. So the name has both. It is only the second-best evidence: processes that share an NCCL communicator
//! belong to one job, whatever their names.

/// Each scheduler's variable of the job.
const SCHEDULERS: [(&str, &str); 4] =
    [("slurm", "SLURM_JOB_ID"), ("pbs", "PBS_JOBID"), ("lsf", "LSB_JOBID"), ("flux", "FLUX_JOB_ID")];
/// Each scheduler's variable that separates the tasks of a job array, or the runs of a job that was queued again.
const OF_MANY: [(&str, &str, &str); 2] =
    [("slurm", "restart", "SLURM_RESTART_COUNT"), ("lsf", "index", "LSB_JOBINDEX")];
/// Each launcher's variable of the program that it has started. SLURM's step comes last: Open MPI's daemons run in a
/// step, but processes on the machine of `mpirun` do not.
const LAUNCHERS: [(&str, &str); 4] =
    [("pmix", "PMIX_NAMESPACE"), ("pals", "PALS_APID"), ("torchrun", "TORCHELASTIC_RUN_ID"), ("step", "SLURM_STEP_ID")];

/// Lists the variables that name a job.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    let of_many = OF_MANY.iter().map(|(_, _, variable)| *variable);
    SCHEDULERS.iter().chain(&LAUNCHERS).map(|(_, variable)| *variable).chain(of_many)
}

/// Returns the name of the job from an environment, given by `lookup`. Example: `slurm 7, step 0`.
pub(crate) fn name(lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let text = |variable: &str| lookup(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let scheduler = SCHEDULERS.iter().find_map(|&(name, variable)| Some((name, text(variable)?)));
    let of_many = OF_MANY.iter().filter(|of| scheduler.as_ref().is_some_and(|(name, _)| *name == of.0));
    let of_many = of_many.filter_map(|&(_, word, variable)| Some(format!("{word} {}", text(variable)?)));
    // torchrun uses `none` for a run without a name
    let launcher = LAUNCHERS
        .into_iter()
        .find_map(|(name, variable)| Some((name, text(variable).filter(|value| value != "none")?)));
    let scheduler = scheduler.iter().map(|(name, value)| format!("{name} {value}"));
    let parts: Vec<String> =
        scheduler.chain(of_many).chain(launcher.iter().map(|(name, value)| format!("{name} {value}"))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(environment: &str) -> Option<String> {
        let pairs: Vec<(&str, &str)> = environment.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        name(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned()))
    }

    #[test]
    fn a_job_is_called_by_its_scheduler_and_its_launcher() {
        for (environment, name) in [
            ("SLURM_JOB_ID=7 SLURM_STEP_ID=0", "slurm 7, step 0"),
            ("SLURM_JOB_ID=7", "slurm 7"),
            ("SLURM_JOB_ID=7 SLURM_RESTART_COUNT=1 SLURM_STEP_ID=0", "slurm 7, restart 1, step 0"),
            // on the machine of mpirun, and under its daemon, which SLURM has started
            ("SLURM_JOB_ID=7 PMIX_NAMESPACE=prterun-a@1", "slurm 7, pmix prterun-a@1"),
            ("SLURM_JOB_ID=7 SLURM_STEP_ID=0 PMIX_NAMESPACE=prterun-a@1", "slurm 7, pmix prterun-a@1"),
            ("PBS_JOBID=12.server TORCHELASTIC_RUN_ID=100", "pbs 12.server, torchrun 100"),
            ("LSB_JOBID=5 LSB_JOBINDEX=3", "lsf 5, index 3"),
            ("FLUX_JOB_ID=f2x", "flux f2x"),
            ("TORCHELASTIC_RUN_ID=a", "torchrun a"),
        ] {
            assert_eq!(named(environment).as_deref(), Some(name), "{environment}");
        }
        assert_eq!(named("TORCHELASTIC_RUN_ID=none RANK=3"), None);
    }

    #[test]
    fn each_part_is_a_variable_that_is_kept() {
        assert!(
            ["SLURM_JOB_ID", "PMIX_NAMESPACE", "LSB_JOBINDEX"]
                .iter()
                .all(|name| variables().any(|known| known == *name))
        );
    }
}
