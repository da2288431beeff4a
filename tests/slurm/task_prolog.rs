//! The TaskProlog in examples/slurm: what jobs get that ask for it, and those that do not.

use std::os::unix::fs::PermissionsExt;

use crate::slurm::cluster::Cluster;
use crate::slurm::examples::{SETTINGS, example, wrong_settings};
use crate::slurm::job::{Job, Task};
use crate::slurm::{captures, summaries};

/// A cluster with the script, changed as its administrator must: it says where the tool is.
fn with_prolog() -> Option<Cluster> {
    let cluster = Cluster::start(&[("TaskProlog", "task-prolog.sh")])?;
    let text = std::fs::read_to_string(example("task-prolog.sh")).unwrap();
    let line = "tool=/opt/scorep-nccl/bin/scorep-nccl\n";
    assert_eq!(text.matches(line).count(), 1);
    let own = format!("tool={}\n", cluster.path("installed/bin/scorep-nccl").display());
    let path = cluster.path("task-prolog.sh");
    std::fs::write(&path, text.replace(line, &own)).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    Some(cluster)
}

/// A job that uses no Score-P and sets nothing itself.
fn job<'a>(cluster: &'a Cluster, name: &str) -> Job<'a> {
    Job::new(cluster, name, &["true".as_ref()], false, &captures("nodes2x2_graph"))
}

fn has_none(task: &Task) -> bool {
    SETTINGS.iter().all(|(name, _)| *name == "NCCL_SCOREP_PRESET" || task.variable(name).is_none())
        && task.variable("LD_LIBRARY_PATH") == std::env::var("LD_LIBRARY_PATH").ok().as_deref()
}

#[test]
fn a_job_that_asks_gets_the_plugin() {
    let Some(cluster) = with_prolog() else { return };
    let captures = captures("nodes2x2_graph");
    let job = Job::new(&cluster, "job", &[env!("HOST_REPLAY_APP").as_ref()], false, &captures);
    let job = job.with_summaries().with("NCCL_SCOREP_PRESET", "network").with("LD_LIBRARY_PATH", "/some where/else");
    assert!(!job.srun().contains("no NCCL plugin"));
    let tasks = job.tasks();
    let wrong: Vec<String> = tasks.iter().flat_map(wrong_settings).collect();
    assert_eq!((tasks.len(), wrong), (4, vec![]));
    let places = format!("{}:/some where/else", cluster.path("installed/lib").display());
    assert!(tasks.iter().all(|task| task.variable("LD_LIBRARY_PATH") == Some(&places)));
    let found: Vec<_> = tasks.iter().map(|task| job.summary_of(task)).collect();
    assert_eq!(summaries::differences(&found, &summaries::replay(&captures)), Vec::<String>::new());
}

#[test]
fn other_jobs_get_nothing() {
    let Some(cluster) = with_prolog() else { return };
    let plain = job(&cluster, "plain");
    assert_eq!(plain.srun(), "");
    assert!(plain.tasks().len() == 4 && plain.tasks().iter().all(has_none));
    // what a job asks for need not be there: its tasks run as ever, and a line tells
    check_told(&job(&cluster, "unknown").with("NCCL_SCOREP_PRESET", "everything"));
    std::fs::remove_file(cluster.path("installed/bin/scorep-nccl")).unwrap();
    check_told(&job(&cluster, "missing").with("NCCL_SCOREP_PRESET", "network"));
}

fn check_told(job: &Job<'_>) {
    let said = job.srun();
    assert!(said.lines().count() >= 4 && said.lines().all(|line| line.starts_with("no NCCL plugin: ")), "{said}");
    assert!(job.tasks().len() == 4 && job.tasks().iter().all(has_none));
}
