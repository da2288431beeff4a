//! The watch beside a job (`run --watch`) in SLURM: a step ends without it, whatever it does.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::slurm::cluster::Cluster;
use crate::slurm::examples::example;
use crate::slurm::job::{FOUR_ON_TWO, Job, application};
use crate::slurm::{captures, installation, prefix, processes};
use crate::support::tool;
use crate::support::until::{PATIENCE, until};

/// Its tasks go on until the file is there.
const TASK: &str = r#"echo begun > "begun.$SLURM_PROCID"; until [ -e over ]; do sleep 0.1; done; echo "$SLURM_PROCID""#;

/// Returns the watches that a directory's files are of.
fn watches(directory: &Path) -> Vec<u32> {
    let is_watch = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).any(|word| word == b"--beside")
    };
    processes::all_of(directory).into_iter().filter(is_watch).collect()
}

#[test]
fn a_step_does_not_wait_for_a_watch_that_is_stopped() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let directory = cluster.path("watched");
    fs::create_dir(&directory).unwrap();
    let mut srun = cluster.command("srun");
    srun.env("PATH", prefix::path(&cluster.path("installed"), &srun)).current_dir(&directory);
    srun.args(FOUR_ON_TWO).args(["scorep-nccl", "run", "--watch", "--status", "status", "--", "sh", "-c", TASK]);
    let [output, errors] = ["output", "errors"].map(|name| fs::File::create(directory.join(name)).unwrap());
    let step = srun.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().unwrap();
    let has_begun = |rank: u32| directory.join(format!("begun.{rank}")).exists();
    until("the begin of all tasks", || (0..4).all(has_begun).then_some(()));
    let found = watches(&directory);
    let of_task = |id: &str| Command::new("kill").args([id, &found[0].to_string()]).status().unwrap().success();
    assert!(found.len() == 1 && of_task("-STOP"), "{found:?}");
    fs::write(directory.join("over"), "").unwrap();
    let ended = tool::ended(step, PATIENCE, "the step");
    let [output, errors] = ["output", "errors"].map(|name| fs::read_to_string(directory.join(name)).unwrap());
    assert!(ended.success() && errors.is_empty(), "{ended}: {errors}");
    let mut ranks: Vec<&str> = output.lines().collect();
    ranks.sort_unstable();
    assert_eq!(ranks, ["0", "1", "2", "3"]);
    // where SLURM has not killed it with the step
    of_task("-CONT");
    until("the end of the watch", || watches(&directory).is_empty().then_some(()));
}

#[test]
fn torch_with_a_watch() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let captures = captures("nodes2x2_graph");
    let (program, with_mpi) = application(installation::Model::Threads);
    let job = Job::new(&cluster, "torch", &[program.as_os_str()], with_mpi, &captures);
    job.sbatch(&example("watch.sbatch"), &FOUR_ON_TWO);
    let tasks = job.tasks();
    let rank = |rank: usize| tasks[rank].variable("RANK").map(str::to_owned);
    assert_eq!([0, 1, 2, 3].map(rank), ["0", "1", "2", "3"].map(|rank| Some(rank.to_owned())));
    assert!(tasks.iter().all(|task| task.variable("NCCL_PROFILER_PLUGIN").is_some()));
    let status = Path::new(tasks[0].variable("NCCL_SCOREP_STATUS").unwrap());
    let said = fs::read_to_string(status.join("watch.log")).unwrap();
    assert_eq!(said.matches(" the watch begins, beside process ").count(), 1, "{said}");
    until("the end of the watch", || watches(&job.directory).is_empty().then_some(()));
}
