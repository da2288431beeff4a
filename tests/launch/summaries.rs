//! The place of a summary: who makes its directory, and what is said of a name that ranks share, or that cannot be.

use crate::support::site::{Site, texts};

#[test]
fn one_rank_says_that_the_ranks_share_a_name() {
    let site = Site::new();
    let said = |variables: &[(&str, &str)], name: &str| {
        let mut run = site.tool();
        run.envs(variables.iter().copied()).args(["run", "--summary", name, "--", "true"]);
        texts(&run.output().unwrap()).1
    };
    let first = said(&[("RANK", "0"), ("WORLD_SIZE", "8")], "all.json");
    assert!(
        first.contains("all.json is the summary's name for all 8 ranks of the job (RANK)") && first.contains("%r"),
        "{first}"
    );
    for (variables, name, part) in [
        (&[("PALS_RANKID", "0")][..], "all.json", "for all ranks of the job (PALS_RANKID)"),
        (
            &[("LOCAL_RANK", "3"), ("LOCAL_WORLD_SIZE", "8")],
            "a.%h.json",
            "for all 8 ranks of a host (LOCAL_WORLD_SIZE)",
        ),
        (&[("SLURM_NTASKS", "8")], "all.json", "for all 8 tasks of a step (SLURM_NTASKS)"),
    ] {
        let said = said(variables, name);
        assert!(said.contains(part), "{variables:?}: {said}");
    }
    for (variables, name) in [
        (&[("RANK", "1"), ("WORLD_SIZE", "8")][..], "all.json"),
        (&[("RANK", "0"), ("WORLD_SIZE", "8")], "all.%r.json"),
        (&[("RANK", "0"), ("WORLD_SIZE", "1")], "all.json"),
        (&[], "all.json"),
        (&[("PALS_RANKID", "1")], "all.json"),
        (&[("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")], "all.%h.json"),
    ] {
        assert_eq!(said(variables, name), "", "{variables:?} {name}");
    }
}

/// A bad place is reported before the job starts, and does not stop it.
#[test]
fn a_summary_of_the_environment_is_looked_at_as_well() {
    let site = Site::new();
    let run = |place: &str| {
        texts(&site.tool().env("NCCL_SCOREP_SUMMARY", place).args(["run", "--", "echo", "here"]).output().unwrap())
    };
    for place in ["/proc/nowhere/%p.json", "/tmp"] {
        let (printed, said) = run(place);
        assert!(printed == "here\n" && said.starts_with("scorep-nccl: NCCL_SCOREP_SUMMARY: /"), "{printed} {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let fine = site.path("work/new/all.json").display().to_string();
    assert_eq!((run(&fine), site.path("work/new").exists()), (("here\n".into(), String::new()), false));
}

#[test]
fn a_summary_has_its_directory_before_the_job_begins() {
    let site = Site::new();
    let run = |summary: &str, command: &[&str]| {
        let output = site.tool().args(["run", "--summary", summary, "--"]).args(command).output().unwrap();
        (output.status.code(), texts(&output))
    };
    let made = site.path("work/new/er/x.json");
    let directory = made.parent().unwrap();
    assert_eq!(run("new/er/x.json", &["test", "-d", directory.to_str().unwrap()]).0, Some(0));
    assert_eq!(run("-", &["printenv", "NCCL_SCOREP_SUMMARY"]).1.0, "/dev/stdout\n");
    // a directory whose name depends on the process is created by that process
    assert_eq!(run("of/%p/x.json", &["ls"]).1.0.lines().collect::<Vec<_>>(), ["new"]);
    for place in ["new/er", "/proc/nowhere/x.json"] {
        let (status, (printed, said)) = run(place, &["echo", "begun"]);
        assert!(status == Some(1) && printed.is_empty() && said.contains(place) && said.lines().count() == 1, "{said}");
    }
}

/// The library itself creates a directory that is named after the process.
#[test]
fn a_process_makes_the_directory_of_its_summary() {
    let site = Site::new();
    let mut run = site.tool();
    run.args(["run", "--summary", "of/%p/x.json", env!("HOST_ALL_REDUCE_HOST"), "libnccl-profiler-scorep.so", "5"]);
    let (_, said) = texts(&run.output().unwrap());
    let made: Vec<_> = site.path("work/of").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(made.len() == 1 && made[0].join("x.json").is_file(), "{made:?} {said}");
}
