//! Checks of the machine and of the job's launcher: shared memory, processors, SLURM.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use common::config::Preset;
use nccl_plugin::shared_memory::{self, LEAST};
use std::path::Path;

/// Returns all findings on the machine. `shared` is the mount point of shared memory, and `processors` are those that
/// this process may run on, if that is known.
pub(crate) fn check(around: &Surroundings, shared: &Path, processors: Option<usize>) -> Vec<DoctorFinding> {
    let memory = shared_memory(around, shared);
    let findings = [memory, one_processor(around, processors), slurm_export(around), slurm_node(around)];
    findings.into_iter().flatten().collect()
}

/// Checks whether shared memory has room for kernel events.
fn shared_memory(around: &Surroundings, shared: &Path) -> Option<DoctorFinding> {
    let settings = around.settings().0;
    if settings.preset == Preset::Api && settings.mask.is_none() {
        return None;
    }
    let size = shared_memory::size(shared)?;
    let what = format!(
        "{} has {} MiB: NCCL's kernel events can fail with less than {}",
        shared.display(),
        size >> 20,
        LEAST >> 20
    );
    (size < LEAST).then(|| {
        DoctorFinding::new(
            Code::SharedMemory,
            what,
            "enlarge it (docker run --shm-size=1g), or set NCCL_SCOREP_PRESET=api",
        )
    })
}

/// Checks whether NCCL's threads have processors beside that of the calling thread. `processors` are those that this
/// process may run on: a rank that is started in the same way has as many.
fn one_processor(around: &Surroundings, processors: Option<usize>) -> Option<DoctorFinding> {
    // NCCL then gives its threads the processors near the GPU (ncclTopoGetCpuAffinity)
    let ignores = around.text("NCCL_IGNORE_CPU_AFFINITY").is_some_and(|value| value != "0");
    let what = "this process is bound to one processor, which NCCL's progress thread and the program's threads would \
                share: over sockets, a job took four times as long";
    let cure = "give each rank more processors: mpirun --bind-to none, srun --cpus-per-task=4";
    (processors == Some(1) && !ignores).then(|| DoctorFinding::new(Code::OneProcessor, what, cure))
}

/// Checks whether srun will pass the environment to the tasks. A task already has it.
fn slurm_export(around: &Surroundings) -> Option<DoctorFinding> {
    let export = around.text("SLURM_EXPORT_ENV").filter(|_| !is_task(around))?;
    let names: Vec<&str> = export.split(',').map(|entry| entry.split('=').next().unwrap_or_default().trim()).collect();
    let has = |name: &str| names.iter().any(|exported| exported.eq_ignore_ascii_case(name));
    let what =
        format!("SLURM_EXPORT_ENV={export}: srun hands the tasks only that, so they do not see what is set here");
    let cure = "srun --export=ALL, or put `scorep-nccl run --` behind srun, before the program";
    let enough = has("ALL") || has("NCCL_PROFILER_PLUGIN") && has("LD_LIBRARY_PATH");
    (!enough).then(|| DoctorFinding::new(Code::SlurmExport, what, cure))
}

/// Returns whether srun has started this process.
fn is_task(around: &Surroundings) -> bool {
    // a batch script has SLURM_PROCID, too, but no ordinary step
    around.text("SLURM_PROCID").is_some()
        && around.text("SLURM_STEP_ID").is_some_and(|step| step.parse::<u32>().is_ok_and(|step| step < u32::MAX - 16))
}

/// Notes that a check on one node covers no other node.
fn slurm_node(around: &Surroundings) -> Option<DoctorFinding> {
    let nodes: u32 = around.text("SLURM_JOB_NUM_NODES")?.parse().ok().filter(|&nodes| nodes > 1)?;
    let what = format!("this is one of {nodes} nodes of job {}", around.text("SLURM_JOB_ID").unwrap_or_default());
    let cure = "srun --ntasks-per-node=1 scorep-nccl doctor looks at all of them";
    (!is_task(around)).then(|| DoctorFinding::new(Code::SlurmNode, what, cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_is_found_where_nccl_stays_on_it() {
        let code = |settings: &[(&str, &str)], processors| {
            one_processor(&Surroundings::of(settings), processors).map(|finding| finding.code)
        };
        assert_eq!([code(&[], Some(1)), code(&[], Some(2)), code(&[], None)], [Some(Code::OneProcessor), None, None]);
        let ignored = |value| code(&[("NCCL_IGNORE_CPU_AFFINITY", value)], Some(1));
        assert_eq!([ignored("1"), ignored("0")], [None, Some(Code::OneProcessor)]);
    }

    #[test]
    fn what_srun_withholds_is_told() {
        let code =
            |export: &str| slurm_export(&Surroundings::of(&[("SLURM_EXPORT_ENV", export)])).map(|finding| finding.code);
        assert_eq!(["ALL", "X=1,ALL", "LD_LIBRARY_PATH,NCCL_PROFILER_PLUGIN"].map(code), [None; 3]);
        assert_eq!(["NONE", "PATH,HOME"].map(code), [Some(Code::SlurmExport); 2]);
        let task = [("SLURM_EXPORT_ENV", "NONE"), ("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1")];
        assert_eq!(slurm_export(&Surroundings::of(&task)), None);
    }
}
