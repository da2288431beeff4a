//! What is shipped in examples/slurm, as it is. Python and torchrun are stand-ins: they start an application that
//! Score-P has instrumented as its bindings do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::slurm::cluster::Cluster;
use crate::slurm::job::{FOUR_ON_TWO, Job, Task, application};
use crate::slurm::{captures, summaries};
use crate::support::installation::Model;
use crate::support::tool;

pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/slurm").join(name)
}

/// What the library's two hosts must find in a task, and no other settings of theirs.
pub(crate) const SETTINGS: [(&str, &str); 5] = [
    ("NCCL_PROFILER_PLUGIN", "libnccl-profiler-scorep.so"),
    ("SCOREP_METRIC_PLUGINS", "nccl_plugin"),
    ("SCOREP_METRIC_NCCL_PLUGIN", "default"),
    ("SCOREP_SUBSTRATE_PLUGINS", "nccl"),
    ("NCCL_SCOREP_PRESET", "network"),
];

/// What a task finds other than that.
pub(crate) fn wrong_settings(task: &Task) -> Vec<String> {
    let differs = |&&(name, value): &&(&str, &str)| task.variable(name) != Some(value);
    SETTINGS.iter().filter(differs).map(|(name, _)| format!("{name} is {:?}", task.variable(name))).collect()
}

/// Runs a script with the application; every process' figures must be those of a replay.
fn run<'a>(cluster: &'a Cluster, script: &str, model: Model, options: &[&str]) -> Job<'a> {
    let captures = captures("nodes2x2_graph");
    let (program, with_mpi) = application(model);
    let job = Job::new(cluster, script, &[program.as_os_str()], with_mpi, &captures).with_summaries();
    job.sbatch(&example(script), options);
    let tasks = job.tasks();
    let wrong: Vec<String> = tasks.iter().flat_map(wrong_settings).collect();
    assert_eq!((tasks.len(), wrong), (4, vec![]));
    let found: Vec<_> = tasks.iter().map(|task| job.summary_of(task)).collect();
    let mut jobs = BTreeSet::new();
    for (rank, (task, summary)) in tasks.iter().zip(&found).enumerate() {
        let process = &summary["processes"][0];
        assert_eq!(process["pid"].as_u64(), Some(task.process().into()));
        assert_eq!((process["rank"].as_u64(), process["ranks"].as_u64()), (Some(rank as u64), Some(4)), "{process}");
        assert_eq!(process["variables"]["SLURM_JOB_ID"].as_str(), task.variable("SLURM_JOB_ID"));
        jobs.insert(process["job"].as_str().unwrap());
    }
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert_eq!(summaries::differences(&found, &summaries::replay(&captures)), Vec::<String>::new());
    job
}

/// With a real Score-P, one experiment holds the summary of all ranks.
fn check_one_experiment(job: &Job<'_>) {
    let directories: BTreeSet<_> =
        job.tasks().iter().map(|task| task.variable("SCOREP_EXPERIMENT_DIRECTORY").unwrap().to_owned()).collect();
    assert_eq!(directories.len(), 1, "{directories:?}");
    if crate::support::installation::is_there(Model::Mpi) {
        let replayed = summaries::replay(&captures("nodes2x2_graph"));
        let directory = directories.first().unwrap();
        assert_eq!(summaries::wrong_of_job(Path::new(directory), 4, &replayed), Vec::<String>::new());
    }
}

#[test]
fn mpi() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    check_one_experiment(&run(&cluster, "mpi.sbatch", Model::Mpi, &FOUR_ON_TWO));
}

#[test]
fn torch_under_srun() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let job = run(&cluster, "torch-srun.sbatch", Model::Mpi, &FOUR_ON_TWO);
    check_one_experiment(&job);
    for (rank, task) in job.tasks().iter().enumerate() {
        let expected = [rank.to_string(), (rank % 2).to_string(), "4".into(), "node1".into()];
        let found = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR"]
            .map(|name| task.variable(name).unwrap_or_default().to_owned());
        assert_eq!(found, expected);
    }
}

/// Each rank is a program of its own to Score-P, with an experiment of its own.
#[test]
fn torch_under_torchrun() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let job =
        run(&cluster, "torchrun.sbatch", Model::Threads, &["--nodes=2", "--gpus-per-node=2", "--cpus-per-task=4"]);
    let tasks = job.tasks();
    let directories: BTreeSet<_> =
        tasks.iter().filter_map(|task| task.variable("SCOREP_EXPERIMENT_DIRECTORY")).collect();
    assert_eq!(directories.len(), 4, "{directories:?}");
    if crate::support::installation::is_there(Model::Threads) {
        for (rank, task) in tasks.iter().enumerate() {
            let directory = Path::new(task.variable("SCOREP_EXPERIMENT_DIRECTORY").unwrap());
            let replayed = summaries::replay(&captures("nodes2x2_graph")[rank..=rank]);
            assert_eq!(summaries::wrong_of_job(directory, 1, &replayed), Vec::<String>::new());
        }
    }
}

/// The figures go where sbatch's environment says, under the job's name. (tests/otel has what arrives; here the library
/// is built without.)
#[test]
fn torch_over_opentelemetry() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let job = run(&cluster, "otlp.sbatch", Model::Threads, &FOUR_ON_TWO);
    for (rank, task) in job.tasks().iter().enumerate() {
        let expected = [
            rank.to_string(),
            (rank % 2).to_string(),
            "on".into(),
            "http://localhost:4318".into(),
            "scorep-nccl".into(),
        ];
        let names = ["RANK", "LOCAL_RANK", "NCCL_SCOREP_OTEL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME"];
        assert_eq!(names.map(|name| task.variable(name).unwrap_or_default().to_owned()), expected);
    }
}

#[test]
fn the_scripts_are_clean() {
    let scripts =
        ["mpi.sbatch", "otlp.sbatch", "torch-srun.sbatch", "torchrun.sbatch", "watch.sbatch", "task-prolog.sh"];
    let scripts = scripts.map(example);
    match Command::new("shellcheck").args(&scripts).output() {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(_) => tool::skip("shellcheck is not installed (`make test-packages`)"),
    }
}
