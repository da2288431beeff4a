//! The rank that a launcher has told a process: it is in names, and one rank speaks for all.

use crate::launch::value;
use crate::support::site::{Site, texts};
use common::rank::Told;

#[test]
fn ranks_of_torchrun_have_directories_of_their_own() {
    let directory = |set: &[(&str, &str)], options: &[&str]| {
        let (job, _) = Site::new().environment_of_job(set, options);
        value(&job, "SCOREP_EXPERIMENT_DIRECTORY").map(str::to_owned)
    };
    let torchrun = [("TORCHELASTIC_RUN_ID", "train"), ("RANK", "12")];
    assert_eq!(directory(&torchrun, &[]).as_deref(), Some("scorep-train.rank12"));
    let named = [torchrun[0], torchrun[1], ("SCOREP_EXPERIMENT_DIRECTORY", "/scratch/run")];
    assert_eq!(directory(&named, &[]).as_deref(), Some("/scratch/run.rank12"));
    assert_eq!(directory(&[("SLURM_PROCID", "3")], &[]), None);
    // a RANK that a script has exported is the same for all processes
    let of_slurm = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "3"), ("RANK", "0")];
    assert_eq!(directory(&of_slurm, &["--per-rank"]).as_deref(), Some("scorep-nccl.rank3"));
    assert_eq!(directory(&[("TORCHELASTIC_RUN_ID", "train")], &[]), None);
}

/// The experiment directory and the summary's name have the same number.
#[test]
fn a_process_has_one_rank() {
    let slurm = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")];
    let inner = [&slurm[..], &[("RANK", "9"), ("WORLD_SIZE", "16")]].concat();
    for (set, rank) in [(&slurm[..], "1"), (&inner, "9")] {
        let (job, _) = Site::new().environment_of_job(set, &["--per-rank"]);
        let directory = value(&job, "SCOREP_EXPERIMENT_DIRECTORY").unwrap().to_owned();
        let lookup = |name: &str| set.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        let in_names = Told::by(lookup).rank.unwrap().to_string();
        assert_eq!(
            (directory.as_str(), in_names.as_str()),
            (format!("scorep-nccl.rank{rank}").as_str(), rank),
            "{set:?}"
        );
    }
    // a batch script is no rank
    let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")];
    let output = Site::new().tool().envs(script).args(["run", "--per-rank", "--", "true"]).output().unwrap();
    assert!(!output.status.success() && texts(&output).1.contains("no launcher has said this process' rank"));
}

/// One rank prints the lines that concern the whole job, whichever launcher has started the ranks.
#[test]
fn one_rank_speaks_for_all() {
    let site = Site::new();
    for (variable, more) in [("OMPI_COMM_WORLD_RANK", "SLURM_PROCID"), ("PALS_RANKID", ""), ("FLUX_TASK_RANK", "")] {
        let lines = |rank: &str| {
            let mut run = site.tool();
            run.env(variable, rank).env("NCCL_PROFILER_PLUGIN", "inspector").args([
                "run",
                "sh",
                "-c",
                "true",
                "torchrun",
                "torch.distributed.run",
            ]);
            if !more.is_empty() {
                run.env(more, "0");
            }
            texts(&run.output().unwrap()).1.lines().count()
        };
        assert_eq!([lines("0"), lines("1")], [2, 0], "{variable}");
    }
}
