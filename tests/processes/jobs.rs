//! The jobs of processes: by communicators, names, ranks and times, it is known who is of one job.

use crate::processes::{ranks, replay, with_meta};
use crate::support::edited::Edited;
use crate::support::tool;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a recording as if of a process of another communicator, this many hours later, with this description of
/// itself.
fn elsewhere(path: &Path, process: &Value, comm: &'static str, hours: u64) -> Edited {
    let process = process.clone();
    Edited::of(path, move |line| match line["cb"].as_str() {
        Some("meta") => {
            line["process"] = process.clone();
            line["real0"] = json!(line["real0"].as_u64().unwrap() + hours * 3_600_000_000_000);
        }
        Some("init") => {
            let own = line["comm"].as_str().unwrap().to_owned();
            line["comm"] = json!(format!("{comm}{}", &own[comm.len()..]));
        }
        _ => {}
    })
}

/// Returns two pairs of processes with a communicator each, by job, ranks, number of ranks, and hours by which they
/// begin later.
pub(crate) fn two_pairs(of: [(Option<&str>, [u32; 2], u32, u64); 2]) -> Vec<Edited> {
    let pair = ranks("nvlink2_collectives");
    let both = of.into_iter().zip(["aa", "bb"]).flat_map(|((job, ranks, size, hours), comm)| {
        let edited = |(path, rank): (&PathBuf, u32)| {
            let id = format!("{comm}{rank}");
            elsewhere(path, &json!({"id": id, "host": "a", "job": job, "rank": rank, "ranks": size}), comm, hours)
        };
        pair.iter().zip(ranks).map(edited).collect::<Vec<_>>()
    });
    both.collect()
}

fn paths(edited: &[Edited]) -> Vec<PathBuf> {
    edited.iter().map(Edited::path).collect()
}

pub(crate) fn replay_all(edited: &[Edited], format: &str) -> Command {
    let paths = paths(edited);
    replay(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), format)
}

#[test]
fn jobs_stand_apart() {
    let (one, other) = (ranks("nodes2x1_comms"), ranks("nvlink2_collectives"));
    let mixed = [&one[0], &other[0], &one[1], &other[1]].map(PathBuf::as_path);
    let apart = tool::succeed(&mut replay(&mixed, "table"));
    assert!(apart.starts_with("These processes are of 2 jobs, whose figures stand apart.\n"), "{apart}");
    let jobs: Vec<&str> = apart.split("== Job ").skip(1).collect();
    assert_eq!(jobs.len(), 2, "{apart}");
    for (job, own) in jobs.iter().zip([&one, &other]) {
        let (head, tables) = job.split_once("\n\n").unwrap();
        let named = |(rank, path): (usize, &PathBuf)| head.contains(&format!("{} (rank {rank})", path.display()));
        assert!(own.iter().enumerate().all(named), "{head}");
        // the figures are the same as without the other job
        let own: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
        assert_eq!(tables.trim_end(), tool::succeed(&mut replay(&own, "table")).trim_end());
    }
    let summary = tool::summary(&mut replay(&mixed, "json"));
    assert_eq!(summary["jobs"], json!([{"name": null, "processes": [0, 2]}, {"name": null, "processes": [1, 3]}]));
}

#[test]
fn a_communicator_decides_over_the_names_of_jobs() {
    let named = |path: &Path, job: &str| {
        let job = job.to_owned();
        with_meta(path, move |meta| meta["process"] = json!({"job": job}))
    };
    let (one, other) = (ranks("nodes2x1_comms"), ranks("nvlink2_collectives"));
    let jobs = |names: [&str; 4]| {
        let paths = one.iter().chain(&other).zip(names);
        let edited: Vec<Edited> = paths.map(|(path, name)| named(path, name)).collect();
        let paths: Vec<PathBuf> = edited.iter().map(Edited::path).collect();
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        tool::summary(&mut replay(&paths, "json"))["jobs"].clone()
    };
    let expected = json!([{"name": "a", "processes": [0, 1]}, {"name": "c", "processes": [2, 3]}]);
    assert_eq!(jobs(["a", "b", "c", "c"]), expected);
    // the same name at different times means two runs
    let expected = json!([{"name": "a, run 2", "processes": [0, 1]}, {"name": "a, run 1", "processes": [2, 3]}]);
    assert_eq!(jobs(["a", "b", "a", "c"]), expected);
}

/// A batch script starts a program twice, by a launcher that gives it no name of its own.
#[test]
fn two_runs_of_one_name_stand_apart() {
    let named = Some("slurm 7");
    let runs = two_pairs([(named, [0, 1], 2, 0), (named, [0, 1], 2, 1)]);
    let expected =
        json!([{"name": "slurm 7, run 1", "processes": [0, 1]}, {"name": "slurm 7, run 2", "processes": [2, 3]}]);
    assert_eq!(tool::summary(&mut replay_all(&runs, "json"))["jobs"], expected);
    let text = tool::succeed(&mut replay_all(&runs, "table"));
    assert!(text.starts_with("These processes are of 2 jobs, whose figures stand apart.\n"), "{text}");
    assert!(text.contains("== Job 1: slurm 7, run 1; ") && text.contains("== Job 2: slurm 7, run 2; "), "{text}");
    // each run counts only its own operations
    for run in [&runs[..2], &runs[2..]] {
        let alone = tool::succeed(&mut replay_all(run, "table"));
        assert!(text.contains(alone.trim_end()), "{text}\n{alone}");
    }

    let one_run = two_pairs([(named, [0, 1], 4, 0), (named, [2, 3], 4, 0)]);
    let expected = json!([{"name": "slurm 7", "processes": [0, 1, 2, 3]}]);
    assert_eq!(tool::summary(&mut replay_all(&one_run, "json"))["jobs"], expected);
}

/// In an archive of two jobs, each job is a node of the system tree, with the machines it ran on.
#[test]
fn jobs_stand_apart_in_an_archive() {
    if Command::new("otf2-print").arg("--version").output().is_err() {
        return tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    let named = Some("slurm 7");
    let runs = two_pairs([(named, [0, 1], 2, 0), (named, [0, 1], 2, 1)]);
    let directory = tempfile::tempdir().unwrap();
    let tree = |edited: &[Edited], name: &str| {
        let archive = directory.path().join(name);
        tool::succeed(replay_all(edited, "table").arg("--otf2").arg(&archive));
        let text = tool::succeed(Command::new("otf2-print").arg("-G").arg(archive.join("traces.otf2")));
        text.lines().filter(|line| line.starts_with("SYSTEM_TREE_NODE ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let both = tree(&runs, "both");
    let of = |class: &str| both.iter().filter(|line| line.contains(&format!("Class: \"{class}\""))).count();
    assert_eq!((both.len(), of("job"), of("node")), (5, 2, 2), "{both:#?}");
    assert!(
        ["job 1: slurm 7, run 1", "job 2: slurm 7, run 2"].iter().all(|job| both.iter().any(|line| line.contains(job)))
    );
    assert_eq!(tree(&runs[..2], "one").len(), 2);
}

/// Tensor parallel groups of a job without a name.
#[test]
fn nameless_ranks_of_as_many_are_of_one_job() {
    let jobs = |of| tool::summary(&mut replay_all(&two_pairs(of), "json"))["jobs"].clone();
    let one = json!([{"name": null, "processes": [0, 1, 2, 3]}]);
    assert_eq!(jobs([(None, [0, 1], 4, 0), (None, [2, 3], 4, 0)]), one);
    for apart in [
        [(None, [0, 1], 4, 0), (None, [1, 2], 4, 0)],
        [(None, [0, 1], 4, 0), (None, [2, 3], 8, 0)],
        [(None, [0, 1], 4, 0), (None, [2, 3], 4, 1)],
    ] {
        assert_eq!(jobs(apart).as_array().unwrap().len(), 2, "{apart:?}");
    }
}

#[test]
fn where_nothing_says_whether_there_are_several_jobs_that_is_said() {
    let pair = ranks("nvlink2_collectives");
    let alone = |comm| elsewhere(&pair[0], &json!({"id": comm}), comm, 0);
    let text = tool::succeed(&mut replay_all(&[alone("aa"), alone("bb")], "table"));
    assert!(text.starts_with("These processes may be of 2 jobs, whose figures stand apart.\n"), "{text}");
}

#[test]
fn different_nccls_in_one_job_are_said() {
    let all = ranks("nodes2x1_comms");
    let text = |release: &str, file: &Path| {
        let edited = with_meta(file, |meta| meta["process"] = json!({"nccl": release}));
        (tool::succeed(&mut replay(&[&edited.path(), &all[1]], "table")), edited)
    };
    let (unknown, known) = text("2.28.9", &all[0]);
    // the recording does not name the release of the other one, which may be the same
    assert!(!unknown.contains("different NCCLs"), "{unknown}");
    let other = with_meta(&all[1], |meta| meta["process"] = json!({"nccl": "2.28.3"}));
    let both = tool::succeed(&mut replay(&[&known.path(), &other.path()], "table"));
    assert!(both.contains("different NCCLs: 2.28.3 (process 1); 2.28.9 (process 0)"), "{both}");
}
