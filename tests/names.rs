//! File names: several processes of a job with the same name, and the placeholders of a name.

use crate::support::tool;

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Returns a command for a process that ends when its input ends.
fn process(directory: &Path, said: &str) -> Command {
    let mut command = tool::host(env!("HOST_EXPORT_HOST"));
    command.arg(tool::library()).args(["6", "1"]).current_dir(directory);
    for name in [
        "RANK",
        "WORLD_SIZE",
        "SLURM_PROCID",
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "PMIX_RANK",
        "SLURM_JOB_ID",
        "PMIX_NAMESPACE",
    ] {
        command.env_remove(name);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(File::create(directory.join(said)).unwrap());
    command
}

/// Runs all commands at the same time, and returns their messages.
fn run(directory: &Path, commands: Vec<Command>) -> Vec<String> {
    let mut processes: Vec<Child> = commands.into_iter().map(|mut command| command.spawn().unwrap()).collect();
    // each process ends when all have begun
    let inputs: Vec<_> = processes.iter_mut().map(|process| process.stdin.take()).collect();
    drop(inputs);
    assert!(processes.iter_mut().all(|process| process.wait().unwrap().success()));
    (0..processes.len()).map(|number| fs::read_to_string(directory.join(format!("said.{number}"))).unwrap()).collect()
}

fn names(directory: &Path, ending: &str) -> Vec<String> {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

fn pids(directory: &TempDir) -> BTreeSet<u64> {
    let pid = |name: &String| {
        let summary: Value = serde_json::from_slice(&fs::read(directory.path().join(name)).unwrap()).unwrap();
        summary["processes"][0]["pid"].as_u64().unwrap()
    };
    names(directory.path(), ".json").iter().map(pid).collect()
}

#[test]
fn ranks_that_have_one_name_each_write_a_file_and_say_which() {
    const RANKS: usize = 4;
    let directory = tempfile::tempdir().unwrap();
    let commands = |count: usize, name: &str| -> Vec<Command> {
        let one = |rank: usize| {
            let mut command = process(directory.path(), &format!("said.{rank}"));
            command.env("NCCL_SCOREP_SUMMARY", name).env("NCCL_SCOREP_SUMMARY_SECONDS", "0.05");
            command.env("RANK", rank.to_string()).env("WORLD_SIZE", RANKS.to_string());
            command
        };
        (0..count).map(one).collect()
    };
    let said = run(directory.path(), commands(RANKS, "all.json"));
    let found = names(directory.path(), ".json");
    assert!(found.len() == RANKS && found.contains(&"all.json".to_owned()), "{found:?}");
    assert_eq!(pids(&directory).len(), RANKS);
    // the first two ranks that found the name taken say where their summaries are
    let told: Vec<&String> = said.iter().filter(|said| !said.is_empty()).collect();
    assert!((1..=2).contains(&told.len()) && said[2..].iter().all(String::is_empty), "{said:?}");
    for told in told {
        assert!(
            found.iter().filter(|name| *name != "all.json" && told.contains(*name)).count() == 1 && told.contains("%r"),
            "{told}"
        );
    }
    assert!(names(directory.path(), ".part").is_empty());

    // a process of a later job takes the name; it must begin later by a tick of the system's start times
    std::thread::sleep(std::time::Duration::from_millis(100));
    let before = pids(&directory);
    let said = run(directory.path(), commands(1, "all.json"));
    assert!(said[0].contains("takes the place of an earlier one") && said[0].lines().count() == 1, "{said:?}");
    assert_eq!(names(directory.path(), ".json"), found);
    assert_eq!(pids(&directory).difference(&before).count(), 1);

    let directory_of_ranks = tempfile::tempdir_in(directory.path()).unwrap();
    let name = directory_of_ranks.path().join("%r.json").to_string_lossy().into_owned();
    let said = run(directory.path(), commands(RANKS, &name));
    assert!(said.iter().all(String::is_empty), "{said:?}");
    assert_eq!(names(directory_of_ranks.path(), ".json"), ["0.json", "1.json", "2.json", "3.json"]);
}

/// Runs programs of given jobs one after the other under one name, and compares the files and the last program's
/// messages.
#[test]
fn an_earlier_program_of_the_same_job_keeps_its_summary() {
    let directory = tempfile::tempdir().unwrap();
    let program = |job: Option<&str>, rank: &str, name: &str| {
        // later by a tick of the system's start times
        std::thread::sleep(std::time::Duration::from_millis(100));
        let mut command = process(directory.path(), "said.0");
        command.env("NCCL_SCOREP_SUMMARY", name).envs(job.map(|job| ("SLURM_JOB_ID", job)));
        command.env("RANK", rank).env("WORLD_SIZE", "8");
        let said = run(directory.path(), vec![command]).remove(0);
        (names(directory.path(), ".json"), said)
    };
    assert_eq!(program(Some("7"), "0", "all.%r.json"), (vec!["all.0.json".to_owned()], String::new()));
    let first = fs::read(directory.path().join("all.0.json")).unwrap();
    let (two, said) = program(Some("7"), "0", "all.%r.json");
    let second = two.iter().find(|name| *name != "all.0.json").unwrap();
    assert!(
        two.len() == 2 && said.lines().count() == 1 && said.contains(second.as_str()) && said.contains("%p"),
        "{two:?}: {said}"
    );
    assert_eq!(fs::read(directory.path().join("all.0.json")).unwrap(), first);
    // another job's program takes the name, with a line that says so
    let (found, said) = program(Some("8"), "0", "all.%r.json");
    assert!(found == two && said.contains("takes the place of an earlier one of job slurm 7"), "{found:?}: {said}");
    // a program without a job takes it, too; then the owner of the earlier file is not known
    let (found, said) = program(None, "0", "all.%r.json");
    assert!(found == two && said.contains("of job slurm 8"), "{found:?}: {said}");
    let (found, said) = program(Some("8"), "0", "all.%r.json");
    assert!(found.len() == 3 && said.contains("does not say of which job"), "{found:?}: {said}");
    // only the first of many ranks prints the line
    assert_eq!(program(Some("8"), "3", "all.%r.json").1, "");
    let (found, said) = program(Some("8"), "3", "all.%r.json");
    assert!(found.len() == 5 && said.is_empty(), "{found:?}: {said}");
}

/// The earlier file looks like one of another container.
#[test]
fn the_cure_is_not_what_the_name_has_already() {
    let directory = tempfile::tempdir().unwrap();
    for (name, cure) in [("s.%p.json", "with %r in it"), ("s.%r.%p.json", "A directory of its own")] {
        let host = process(directory.path(), "said.0");
        let mut command = tool::host("sh");
        command
            .args(["-c", r#"echo other >s.$$.json; echo other >s.3.$$.json; exec "$@""#, "sh"])
            .arg(host.get_program())
            .args(host.get_args());
        command.current_dir(directory.path()).env("NCCL_SCOREP_SUMMARY", name).env("RANK", "3").env("WORLD_SIZE", "8");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(directory.path().join("said.0")).unwrap());
        let said = run(directory.path(), vec![command]).remove(0);
        assert!(said.contains(cure) && said.lines().count() == 1, "{name}: {said}");
    }
}

#[test]
fn a_rank_that_nobody_has_told_is_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = process(directory.path(), "said.0");
    command.env("NCCL_SCOREP_SUMMARY", "%r.json").env("NCCL_SCOREP_RECORD", "of-%r");
    assert_eq!(run(directory.path(), vec![command]), [""]);
    let pid = pids(&directory).pop_first().unwrap();
    assert_eq!(names(directory.path(), ".json"), [format!("pid{pid}.json")]);
    assert_eq!(names(&directory.path().join(format!("of-pid{pid}")), ".jsonl.gz").len(), 1);
}

/// The earlier file looks like one of another container with the same host name and the same process ids.
#[test]
fn a_recording_takes_the_place_of_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let host = process(directory.path(), "said.0");
    let mut command = process(directory.path(), "said.0");
    let mut shell = tool::host("sh");
    shell
        .args(["-c", "name=$(uname -n).$$.jsonl.gz; echo other >$name; touch -d yesterday $name; exec \"$@\"", "sh"])
        .arg(host.get_program())
        .args(host.get_args());
    shell.current_dir(directory.path()).env("NCCL_SCOREP_RECORD", ".");
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(File::create(directory.path().join("said.0")).unwrap());
    let said = run(directory.path(), vec![shell]).remove(0);
    let found = names(directory.path(), ".jsonl.gz");
    assert_eq!(found.len(), 2, "{found:?}");
    let other: Vec<&String> =
        found.iter().filter(|name| fs::read(directory.path().join(name)).unwrap() == b"other\n").collect();
    let own = found.iter().find(|name| !other.contains(name)).unwrap();
    assert!(other.len() == 1 && said.contains(own.as_str()), "{found:?}: {said}");
    tool::summary(tool::tool().args(["replay", "--format", "json"]).arg(directory.path().join(own)));
    // a recording that finds no earlier file has the plain name
    command.env("NCCL_SCOREP_RECORD", "alone");
    run(directory.path(), vec![command]);
    assert_eq!(names(&directory.path().join("alone"), ".jsonl.gz")[0].matches('.').count(), 3);
}
