//! The library in jobs of a real SLURM, on two pretended nodes of this machine: each task plays the capture of its
//! rank, with stand-ins for NCCL and Score-P or, where there is one, with a real Score-P (tests/score_p). What is
//! shipped in examples/slurm is run as it is.

mod cluster;
mod companion;
mod ends;
mod examples;
mod job;
mod prefix;
mod processes;
mod task_prolog;

use crate::support::{installation, summaries, tool};
use std::ffi::OsStr;
use std::path::PathBuf;

use cluster::Cluster;
use job::Job;

/// Captures of four ranks, two on each of two nodes.
fn captures(run: &str) -> Vec<PathBuf> {
    tool::captures(&tool::run(run))
}

/// Both of the library's hosts as a replay has them, in tasks that srun has started on two nodes: every figure is the
/// replay's.
#[test]
fn every_task_has_the_figures_of_its_rank() {
    let Some(cluster) = Cluster::start(&[]) else { return };
    let captures = captures("nodes2x2_collectives");
    let program = [env!("CARGO_BIN_EXE_scorep-nccl"), "replay-one"].map(OsStr::new);
    let job = Job::new(&cluster, "job", &program, false, &captures)
        .with_summaries()
        // as in a replay
        .with("NCCL_SCOREP_TICK_RATE", "1000000000")
        .with("NCCL_SCOREP_WINDOW_SECONDS", "0.1")
        .with("NCCL_SCOREP_SETTLE_SECONDS", "1e6")
        .with("NCCL_SCOREP_TRUST_NCCL", "on")
        .with("NCCL_SCOREP_LOG", "off");
    job.srun();
    let tasks = job.tasks();
    assert_eq!(tasks.len(), 4);
    for (rank, task) in tasks.iter().enumerate() {
        let number = rank.to_string();
        assert_eq!(task.variable("SLURM_PROCID"), Some(number.as_str()));
        let node = ["node1", "node2"][rank / 2];
        assert_eq!(task.variable("SLURMD_NODENAME"), Some(node));
        assert_eq!(task.variable("TASK_HOST"), Some(cluster.name_of(node).as_str()));
        let (found, replayed) = (job.summary_of(task), summaries::replay(&captures[rank..=rank]));
        for list in ["communicators", "operations", "transfers", "channels"] {
            assert_eq!(found[list], replayed[list], "{list} of rank {rank}");
        }
        assert_eq!(found["processes"][0]["counters"], replayed["processes"][0]["counters"], "rank {rank}");
        // a replay's figures are of the recorded process
        assert_eq!(found["processes"][0]["pid"], replayed["processes"][0]["pid"]);
    }
}
