//! Jobs that are ended from outside: nobody waits for anything, and nothing is left.

use crate::slurm::captures;
use crate::slurm::cluster::Cluster;
use crate::slurm::job::{Job, Task};
use crate::slurm::processes;
use crate::support::until::until;

/// What SLURM says has become of a job, once it is over.
fn end_of(cluster: &Cluster, number: &str) -> String {
    until(&format!("the end of job {number}"), || {
        let output = cluster.command("scontrol").args(["--oneliner", "show", "job", number]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let state = text.split_whitespace().find_map(|word| word.strip_prefix("JobState=")).unwrap_or_default();
        (!["", "PENDING", "RUNNING", "COMPLETING"].contains(&state)).then(|| state.to_owned())
    })
}

fn has_loaded_the_library(task: &Task) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", task.process())).unwrap_or_default();
    maps.contains("libscorep_substrate_nccl.so")
}

/// SLURM sends SIGTERM, and SIGKILL only long after the tests' patience: whatever the library does in a process, that
/// ends it.
#[test]
fn a_job_that_is_ended_leaves_nothing() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let captures = captures("nodes2x2_graph");
    // played for three minutes: longer than the test has patience
    let program = [env!("HOST_REPLAY_APP").as_ref(), "pace=0.003".as_ref()];
    let begun = ["cancelled", "limited"].map(|name| {
        let plugin = cluster.path("installed/lib/libnccl-profiler-scorep.so");
        let job = Job::new(&cluster, name, &program, false, &captures)
            .with_summaries()
            .with("NCCL_PROFILER_PLUGIN", plugin.to_str().unwrap())
            .with("NCCL_ALLGATHERV_ENABLE", "0");
        let number = job.begin();
        until("the library in all tasks", || job.tasks().iter().all(has_loaded_the_library).then_some(()));
        (job, number)
    });
    let [(_, cancelled), (_, limited)] = &begun;
    let succeeds =
        |program: &str, arguments: &[&str]| cluster.command(program).args(arguments).status().unwrap().success();
    assert!(succeeds("scancel", &[cancelled]));
    // limits count minutes; SLURM looks at them twice in one, and takes no end that is over when it hears of it
    let end_soon = || succeeds("scontrol", &["update", &format!("JobId={limited}"), "EndTime=now+1"]);
    until("another end of the job", || end_soon().then_some(()));
    assert_eq!(end_of(&cluster, cancelled), "CANCELLED");
    assert_eq!(end_of(&cluster, limited), "TIMEOUT");
    for (job, _) in &begun {
        // slurmd and its like aside, which have nothing of a job's
        until("the end of all processes", || processes::all_of(&job.directory).is_empty().then_some(()));
        let tasks = job.tasks();
        assert!(tasks.iter().all(|task| !has_loaded_the_library(task)));
    }
}
