//! The origin of figures: recordings and summaries name their process, job and time. Each process counts once, jobs
//! stand apart, and missing ranks are named.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/edited/mod.rs"]
mod edited;
#[path = "support/lines/mod.rs"]
mod lines;
#[path = "support/tool/mod.rs"]
mod tool;

use edited::Edited;
use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn replay(captures: &[&Path], format: &str) -> Command {
    let mut command = tool::tool();
    command.args(["replay", "--format", format]).args(captures);
    command
}

/// Returns the message of a replay that must fail and print nothing.
fn refused(captures: &[&Path]) -> String {
    let output = replay(captures, "table").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{said}");
    said
}

fn ranks(run: &str) -> Vec<PathBuf> {
    tool::captures(&tool::run(run))
}

/// Returns a copy of a capture with a changed first line.
fn with_meta(capture: &Path, change: impl Fn(&mut Value)) -> Edited {
    Edited::of(capture, |line| {
        if line["cb"] == "meta" {
            change(line);
        }
    })
}

#[test]
fn a_process_that_is_there_twice_is_refused_by_name() {
    let one = &ranks("nodes2x1_comms")[0];
    let copy = with_meta(one, |_| {});
    for other in [one, &copy.path()] {
        let said = refused(&[one, other]);
        let named = format!("{} and {} are recordings of one process (process ", one.display(), other.display());
        assert!(said.contains(&named), "{said}");
    }
    // the process' own id decides, whatever else the files say
    let numbered = |real0: u64| {
        with_meta(one, move |meta| {
            meta["real0"] = json!(real0);
            meta["process"] = json!({"id": "00112233aabbccdd", "host": "a"});
        })
    };
    let (first, second) = (numbered(1), numbered(2));
    let said = refused(&[&first.path(), &second.path()]);
    assert!(said.contains(" on a, begun 1970-01-01T00:00:00"), "{said}");
}

/// An incomplete copy is a bad recording, and does not count as a second recording of its process.
#[test]
fn a_bad_copy_of_a_good_recording_is_left_out() {
    let all = ranks("nodes2x1_comms");
    let directory = tempfile::tempdir().unwrap();
    let cut = directory.path().join("cut.jsonl.gz");
    let bytes = std::fs::read(&all[0]).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let whole = tool::succeed(&mut replay(&[&all[0], &all[1]], "table"));
    for order in [[&cut, &all[0], &all[1]], [&all[0], &cut, &all[1]]] {
        let output = replay(&order.map(PathBuf::as_path), "table").output().unwrap();
        let (text, said) = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).into();
        assert!(output.status.code() == Some(1) && said.contains(&cut.display().to_string()), "{said}");
        assert!(
            text.starts_with("2 of 3 recordings: the others are left out") && !said.contains("recordings of one"),
            "{said}"
        );
        // the figures are those of the good recordings
        let operations =
            |text: &str| text.lines().filter(|line| line.starts_with('│')).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(operations(&text), operations(&whole));
    }
}

/// The first lines of both files differ, and a rank of a communicator is in both.
#[test]
fn a_rank_that_two_files_have_is_refused_by_name() {
    let one = &ranks("nodes2x1_comms")[1];
    let other = with_meta(one, |meta| meta["real0"] = json!(5));
    let said = refused(&[one, &other.path()]);
    assert!(said.contains("rank 1 of communicator "), "{said}");
    assert!(said.contains(&format!("is in {} and in {}: ", one.display(), other.path().display())), "{said}");
}

/// Returns the headings of all tables.
fn heads(text: &str) -> Vec<&str> {
    let words = ["Communicators;", "Operations;", "Transfers over", "Bus bandwidth", "Arrival at"];
    text.lines().filter(|line| words.iter().any(|word| line.starts_with(word))).collect()
}

#[test]
fn every_table_says_of_how_many_ranks_it_is() {
    let all: Vec<PathBuf> = ranks("nodes2x2_collectives");
    let all: Vec<&Path> = all.iter().map(PathBuf::as_path).collect();
    let text = |captures: &[&Path]| tool::succeed(replay(captures, "table").arg("--lateness"));
    let whole = text(&all);
    assert!(heads(&whole).len() >= 4 && heads(&whole).iter().all(|head| head.contains("; 4 of 4 ranks")), "{whole}");
    assert!(!whole.contains("these are not here"), "{whole}");

    let part = text(&[all[0], all[1], all[3]]);
    assert!(heads(&part).len() >= 2, "{part}");
    assert!(heads(&part).iter().all(|head| head.contains("; 3 of 4 ranks of communicator ")), "{part}");
    assert!(part.contains("these are not here: 2\n"), "{part}");
    let summary = tool::summary(&mut replay(&all[..1], "json"));
    assert!(summary["notes"].to_string().contains("these are not here: 1 to 3"), "{}", summary["notes"]);
}

/// A job of 8 ranks, two of which share the largest known communicator.
#[test]
fn ranks_of_the_job_that_no_communicator_tells_of_are_missed() {
    let few = two_pairs([(Some("slurm 9"), [0, 1], 8, 0), (None, [0, 1], 8, 0)]);
    let text = tool::succeed(&mut replay_all(&few[..2], "table"));
    assert!(
        !heads(&text).is_empty() && heads(&text).iter().all(|head| head.contains("; 2 of 8 ranks of the job")),
        "{text}"
    );
    let note = "of the 8 ranks of job slurm 9 these are not here, or have not called NCCL: 2 to 7";
    assert_eq!(tool::summary(&mut replay_all(&few[..2], "json"))["notes"], json!([note]));
    assert!(text.contains(&format!("note: {note}\n")), "{text}");
}

/// Operations are paired by their order, so all of them must be known: a missing operation would shift all later pairs.
#[test]
fn ranks_are_not_compared_where_a_recording_lacks_callbacks() {
    let all: Vec<PathBuf> = ranks("nodes2x2_collectives");
    let lacking: Vec<Edited> = all.iter().map(|path| with_meta(path, |meta| meta["dropped"] = json!(1))).collect();
    let lacking: Vec<PathBuf> = lacking.iter().map(Edited::path).collect();
    let [whole, lacking] = [&all, &lacking].map(|captures| {
        let captures: Vec<&Path> = captures.iter().map(PathBuf::as_path).collect();
        let output = replay(&captures, "json").arg("--lateness").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    });
    let rows = |summary: &Value| ["lateness", "bandwidth"].map(|list| summary[list].as_array().map_or(0, Vec::len));
    assert!(!rows(&whole).contains(&0) && rows(&lacking) == [0, 0], "{:?} {:?}", rows(&whole), rows(&lacking));
    let said = "this process has no lateness and no bandwidth";
    assert!(lacking["processes"].to_string().contains(said) && !whole.to_string().contains(said), "{lacking}");
}

/// NCCL's first interfaces do not give the number of ranks of a communicator.
#[test]
fn where_nobody_says_how_many_ranks_there_are_that_is_said() {
    let one = ranks("nodes2x1_comms");
    let text = tool::succeed(replay(&[&one[0]], "table").args(["--interface", "1"]));
    assert!(
        !heads(&text).is_empty() && heads(&text).iter().all(|head| head.contains("it is not known of how many ranks")),
        "{text}"
    );
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
fn two_pairs(of: [(Option<&str>, [u32; 2], u32, u64); 2]) -> Vec<Edited> {
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

fn replay_all(edited: &[Edited], format: &str) -> Command {
    let paths = paths(edited);
    replay(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>(), format)
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

/// A recording of an older recorder: data that it lacks is unknown, and its times come from its clocks.
#[test]
fn a_replay_is_of_the_recorded_process() {
    let capture = &ranks("nodes2x1_comms")[0];
    let (meta, all) = lines::all(capture);
    let process = &tool::summary(&mut replay(&[capture], "json"))["processes"][0];
    assert_eq!((&process["pid"], &process["interface"]), (&meta["pid"], &meta["api"]));
    assert_eq!(process["file"], json!(capture.display().to_string()));
    assert_eq!((&process["gpu_source"], &process["variables"]), (&json!("stamps"), &json!({})));
    for field in ["id", "host", "boot", "job", "rank", "ranks", "nccl"] {
        assert_eq!(process[field], Value::Null, "{field}");
    }
    let last = all.iter().map(|line| line["t"].as_u64().unwrap()).max().unwrap();
    let seconds = |field: &str| {
        let time = process[field].as_str().unwrap();
        let output = tool::succeed(Command::new("date").args(["+%s%N", "--date", time]));
        output.trim().parse::<u64>().unwrap() / 1000
    };
    let real0 = meta["real0"].as_u64().unwrap();
    assert_eq!((seconds("started"), seconds("ended")), (real0 / 1000, (real0 + last) / 1000));
}

/// Runs a process with a stand-in for NCCL; returns its directory, its summary and its recording.
fn job(settings: &[(&str, &str)], prepare: impl FnOnce(&mut Command)) -> (TempDir, Value, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary.json");
    let mut command = tool::host(env!("HOST_SURROUNDINGS_HOST"));
    command.arg(tool::library()).arg("5").arg(format!("nccl={}", env!("NCCL_STAND_IN")));
    for name in ["RANK", "WORLD_SIZE", "SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_PROCID", "PMIX_RANK", "PMIX_NAMESPACE"] {
        command.env_remove(name);
    }
    command.env("NCCL_SCOREP_SUMMARY", &summary).env("NCCL_SCOREP_RECORD", directory.path().join("recordings"));
    command.envs(settings.iter().copied());
    prepare(&mut command);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    let recording = directory.path().join("recordings").read_dir().unwrap().next().unwrap().unwrap().path();
    let summary: Value = serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap();
    (directory, summary["processes"][0].clone(), recording)
}

const STEP: [(&str, &str); 4] =
    [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "3"), ("SLURM_NTASKS", "8")];

#[test]
fn a_summary_and_a_recording_say_whose_they_are() {
    let (_directory, process, recording) = job(&STEP, |command| {
        command.env("HOST_RELEASE", "22809");
    });
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let host = tool::succeed(&mut Command::new("hostname"));
    for (field, value) in [
        ("host", json!(host.trim())),
        ("boot", json!(boot.trim())),
        ("job", json!("slurm 7, step 0")),
        ("rank", json!(3)),
        ("ranks", json!(8)),
        ("nccl", json!("2.28.9")),
        ("interface", json!(5)),
        ("file", Value::Null),
    ] {
        assert_eq!(process[field], value, "{field}");
    }
    assert!(STEP.iter().all(|&(name, value)| process["variables"][name] == value), "{}", process["variables"]);
    assert_eq!(process["id"].as_str().unwrap().len(), 16);
    assert!(process["started"].as_str().unwrap() <= process["ended"].as_str().unwrap(), "{process}");

    // the recording has the same data, here and wherever it is replayed
    let replayed =
        &tool::summary(replay(&[&recording], "json").env("SLURM_JOB_ID", "8").env("RANK", "1"))["processes"][0];
    let fields = ["id", "pid", "host", "boot", "job", "rank", "ranks", "variables", "nccl", "interface"];
    assert!(fields.iter().all(|field| replayed[field] == process[field]), "{replayed}\n{process}");
    assert_eq!(replayed["file"], json!(recording.display().to_string()));
    let micros = |time: &Value| time.as_str().unwrap()[..19].to_owned();
    assert_eq!(micros(&replayed["started"])[..16], micros(&process["started"])[..16]);
    assert!(replayed["ended"].as_str().unwrap() >= replayed["started"].as_str().unwrap());
}

#[test]
fn two_processes_have_two_numbers() {
    let (_one, first, _) = job(&[], |_| {});
    let (_other, second, _) = job(&[], |_| {});
    assert_ne!(first["id"], second["id"]);
    assert_eq!((&first["job"], &first["rank"], &first["ranks"]), (&Value::Null, &Value::Null, &Value::Null));
}

/// Installs a filter of system calls under which getrandom fails with EPERM.
fn deny_random() -> std::io::Result<()> {
    let instruction = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let (load, equal, answer) = (0x20, 0x15, 0x06);
    let mut filter = [
        instruction(load, 0, 0, 0),
        instruction(equal, 0, 1, libc::SYS_getrandom as u32),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        instruction(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: two system calls; the program and its instructions outlive them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[test]
fn where_random_numbers_are_denied_processes_still_differ() {
    let deny = |command: &mut Command| {
        // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
        unsafe { command.pre_exec(deny_random) };
    };
    let (_one, first, _) = job(&[], deny);
    let (_other, second, _) = job(&[], deny);
    assert_eq!([&first, &second].map(|process| process["id"].as_str().unwrap().len()), [16, 16]);
    assert_ne!(first["id"], second["id"]);
}
