//! A recording is a capture: recording a replay gives the played calls again, except for times, threads and the numbers
//! of handles.

use crate::support::{lines, tool};

use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Captures that are replayed through the version with which they were recorded.
const RUNS: [&str; 8] = [
    "net2_single",
    "v231_nvlink2_graph",
    "v232_nodes2x1_defaults",
    "nodes2x1_comms",
    "nodes2x2_graph",
    "nodes4x1_pipeline",
    "v230_nodes2x2_collectives",
    "v230_nvlink4_graph",
];

fn replay(capture: &Path, directory: &Path) -> Command {
    let mut command = tool::tool();
    command
        .args(["replay", "--format", "json"])
        .arg(capture)
        .env("NCCL_SCOREP_RECORD", directory)
        .env("NCCL_SCOREP_LOG", "warn");
    command
}

/// Returns the only recording in a directory.
fn recording(directory: &Path) -> PathBuf {
    let files: Vec<PathBuf> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(files[0].to_string_lossy().ends_with(".jsonl.gz"), "{files:?}");
    files[0].clone()
}

/// Renumbers the ids that a recorder chose by their order of appearance, and removes times.
#[derive(Default)]
struct Renumbered([HashMap<u64, u64>; 3]);

impl Renumbered {
    fn line(&mut self, line: &Value, pid: &Value) -> Value {
        let mut line = line.clone();
        let fields = line.as_object_mut().unwrap();
        fields.remove("t");
        for (field, kind) in [("ctx", 0), ("h", 1), ("parent", 1), ("tid", 2)] {
            if let Some(number) = fields.get_mut(field).filter(|number| **number != json!(0)) {
                let known = &mut self.0[kind];
                let next = known.len() as u64 + 1;
                *number = json!(*known.entry(number.as_u64().unwrap()).or_insert(next));
            }
        }
        if let Some(owner) = fields.get_mut("pid") {
            *owner = json!(*owner == *pid);
        }
        line
    }
}

/// Returns the first line in which two captures differ; `None` if one is a prefix of the other.
fn difference(one: &Path, other: &Path) -> Option<(usize, Value, Value)> {
    let ((one_meta, one_lines), (other_meta, other_lines)) = (lines::played(one), lines::played(other));
    let (mut one, mut other) = (Renumbered::default(), Renumbered::default());
    one_lines.iter().zip(&other_lines).enumerate().find_map(|(number, (a, b))| {
        let (a, b) = (one.line(a, &one_meta["pid"]), other.line(b, &other_meta["pid"]));
        (a != b).then_some((number + 2, a, b))
    })
}

/// Returns the figures that do not depend on times.
fn counts(summary: &Value) -> Value {
    let pick = |row: &Value, fields: &[&str]| -> Value {
        fields.iter().map(|field| ((*field).to_owned(), row[field].clone())).collect::<serde_json::Map<_, _>>().into()
    };
    let rows = |list: &str, fields: &[&str]| -> Vec<Value> {
        summary[list].as_array().unwrap().iter().map(|row| pick(row, fields)).collect()
    };
    json!({
        "processes": rows("processes", &["callbacks", "events", "dropped", "invisible", "ignored_handles", "unknown_events"]),
        "communicators": rows("communicators", &["comm", "nranks", "nnodes", "name", "ranks"]),
        "operations": rows("operations", &["comm", "rank", "kind", "func", "peer", "count", "bytes"]),
        "transfers": rows("transfers", &["comm", "rank", "peer", "transfers", "bytes", "sizes"]),
    })
}

#[test]
fn a_recording_of_a_replay_is_the_capture_again() {
    for run in RUNS {
        let capture = &tool::captures(&tool::run(run))[0];
        let directory = tempfile::tempdir().unwrap();
        // some captures make the plugin warn about NCCL itself
        let summary = tool::summary(replay(capture, directory.path()).env("NCCL_SCOREP_LOG", "off"));
        let recorded = recording(directory.path());
        let ((meta, played), (recorded_meta, recorded_lines)) = (lines::played(capture), lines::played(&recorded));
        assert_eq!((&recorded_meta["api"], &recorded_meta["dropped"]), (&meta["api"], &json!(0)), "{run}");
        assert_eq!(recorded_lines.len(), played.len(), "{run}");
        assert_eq!(difference(capture, &recorded), None, "{run}");
        // a recording changes no figure, and its own replay gives the same counts
        let plain = tool::summary(tool::tool().args(["replay", "--format", "json"]).arg(capture));
        assert_eq!(counts(&summary), counts(&plain), "{run}");
        let again = tool::summary(tool::tool().args(["replay", "--format", "json"]).arg(&recorded));
        assert_eq!(counts(&again), counts(&plain), "{run}");
    }
}

#[test]
fn when_its_memory_is_full_it_ends_and_counts_the_rest() {
    let capture = &tool::captures(&tool::run("nodes4x1_pipeline"))[1];
    let directory = tempfile::tempdir().unwrap();
    // the line comes once, at the default level; the recording is written only at the end, as on a file system that
    // accepts no writes before
    let mut command = replay(capture, directory.path());
    command.env("NCCL_SCOREP_RECORD_SECONDS", "0");
    let output = command.env("NCCL_SCOREP_RECORD_MB", "1").env("NCCL_SCOREP_LOG", "warn").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let full =
        said.lines().filter(|line| line.contains("the recording is full") && line.contains("NCCL_SCOREP_RECORD_MB"));
    assert!(output.status.success() && full.count() == 1 && said.lines().count() == 1, "{said}");
    let recorded = recording(directory.path());
    let ((_, played), (meta, kept)) = (lines::played(capture), lines::played(&recorded));
    assert!(kept.len() > 5_000 && kept.len() < played.len(), "{}", kept.len());
    assert_eq!(meta["dropped"], json!(played.len() - kept.len()));
    assert_eq!(difference(capture, &recorded), None);
    // the recorded part can be replayed; the summary, the tables and the last line say what is missing
    let dropped = meta["dropped"].as_u64().unwrap();
    assert!(meta["full"].as_u64().unwrap() > 0, "{meta}");
    let replayed = |format: &str| tool::tool().args(["replay", "--format", format]).arg(&recorded).output().unwrap();
    let [json, table] = ["json", "table"].map(replayed);
    let summary: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(summary["processes"][0]["dropped"], dropped);
    let tables = String::from_utf8(table.stdout).unwrap();
    let causes: Vec<&str> = tables.lines().filter(|line| line.contains("_MB")).collect();
    assert!(matches!(causes[..], [line] if line.contains("callbacks are not in the recordings")), "{tables}");
    assert!(!tables.contains("the recording lacks"), "{tables}");
    for said in [json.stderr, table.stderr] {
        let said = String::from_utf8(said).unwrap();
        let last = said.lines().last().unwrap();
        assert!(last.contains(&format!("{} ({dropped}, full after ", recorded.display())), "{said}");
    }
}

/// A value of quotes doubles its length in JSON.
#[test]
fn a_head_that_would_be_too_long_leaves_out_the_variables() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("HOST_EXPORT_HOST"));
    command.arg(tool::library()).args(["6", "0"]).env("NCCL_SCOREP_RECORD", directory.path());
    let launchers = ["RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID"];
    let sizes = [
        "WORLD_SIZE",
        "OMPI_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_SIZE",
        "PMI_SIZE",
        "JSM_NAMESPACE_SIZE",
        "FLUX_JOB_SIZE",
    ];
    let slurm = [
        "SLURM_PROCID",
        "SLURM_STEP_NUM_TASKS",
        "SLURM_NTASKS",
        "SLURM_JOB_ID",
        "SLURM_STEP_ID",
        "SLURM_RESTART_COUNT",
    ];
    let local = ["LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PALS_LOCAL_RANKID"];
    let jobs =
        ["PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "PMIX_NAMESPACE", "PALS_APID", "TORCHELASTIC_RUN_ID", "LSB_JOBINDEX"];
    let more = ["JSM_NAMESPACE_RANK", "FLUX_TASK_RANK", "MV2_COMM_WORLD_LOCAL_RANK"];
    for name in launchers.iter().chain(&sizes).chain(&slurm).chain(&local).chain(&jobs).chain(&more) {
        command.env(name, "\"".repeat(200));
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let (meta, _) = lines::all(&recording(directory.path()));
    assert!(meta["process"]["id"].is_string() && meta["process"]["variables"] == json!({}), "{meta}");
}

/// The recording is larger than its memory: written parts make room for later ones.
#[test]
fn memory_that_is_written_is_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("HOST_EXPORT_HOST"));
    command
        .arg(tool::library())
        // an operation each millisecond: the memory has room for those of more than a second, so that a collector that
        // waits for a processor is in time. A job without a pause would show how fast the machine is.
        .args(["6", "1"])
        .env("NCCL_SCOREP_RECORD", directory.path())
        .env("NCCL_SCOREP_LOG", "warn");
    command.env("NCCL_SCOREP_RECORD_MB", "1").env("NCCL_SCOREP_RECORD_SECONDS", "0.1");
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let length = || {
        let files: Vec<_> = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files
            .iter()
            .filter(|path| path.to_string_lossy().ends_with(".gz"))
            .map(|path| path.metadata().unwrap().len())
            .sum::<u64>()
    };
    // twice as many lines, of that many bytes, as the memory has room for
    let (mut longest, mut grown) = (0, std::time::Instant::now());
    while longest < 500_000 {
        // detects a file that stops growing, not a slow machine
        assert!(process.try_wait().unwrap().is_none() && grown.elapsed().as_secs() < 60, "{longest}");
        std::thread::sleep(std::time::Duration::from_millis(10));
        if length() > longest {
            (longest, grown) = (length(), std::time::Instant::now());
        }
    }
    drop(process.stdin.take());
    let output = process.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let (meta, lines) = lines::all(&recording(directory.path()));
    assert!(meta["dropped"] == json!(0) && lines::ends(&lines), "{meta}");
    assert!(lines.len() > 2 * (1 << 20) / 96, "{}", lines.len());
}

#[test]
fn a_directory_that_cannot_be_written_is_told_in_one_line() {
    let capture = &tool::captures(&tool::run("nodes2x1_comms"))[0];
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = replay(capture, file.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success());
    assert!(said.lines().count() == 1 && said.contains(&*file.path().to_string_lossy()), "{said}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        counts(&summary),
        counts(&tool::summary(tool::tool().args(["replay", "--format", "json"]).arg(capture)))
    );
}

#[test]
fn a_file_that_cannot_be_written_to_its_end_is_told_in_one_line_and_not_left_behind() {
    let capture = &tool::captures(&tool::run("nodes4x1_pipeline"))[1];
    let directory = tempfile::tempdir().unwrap();
    let replay = replay(capture, directory.path());
    // files of at most 64 KiB, which is enough for everything else
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 128; exec \"$@\"", "sh"])
        .arg(replay.get_program())
        .args(replay.get_args());
    for (name, value) in replay.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.lines().count() == 1 && said.contains("the recording could not be written"), "{said}");
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn every_process_has_a_file_of_its_own() {
    let run = tool::run("nvlink4_ring");
    let directory = tempfile::tempdir().unwrap();
    // a missing directory is created
    let inner = directory.path().join("a/b");
    tool::succeed(&mut replay(&run, &inner));
    let files: HashSet<PathBuf> = inner.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), tool::captures(&run).len());
}

#[test]
fn many_threads_at_once_are_in_their_true_order() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("HOST_STRESS_HOST"));
    command
        .arg(tool::library())
        .args(["4", "5000", "2"])
        .env("NCCL_SCOREP_LOG", "off")
        // parts are written while callbacks come
        .env("NCCL_SCOREP_RECORD_SECONDS", "0.01")
        .env("NCCL_SCOREP_RECORD", directory.path());
    tool::succeed(&mut command);
    let recorded = recording(directory.path());
    let (meta, kept) = lines::played(&recorded);
    assert_eq!(meta["dropped"], json!(0));
    // no event is stopped before it starts, and no thread's times fall
    let mut started: HashSet<u64> = HashSet::new();
    let mut last: HashMap<u64, u64> = HashMap::new();
    for line in &kept {
        let number = |field: &str| line[field].as_u64().unwrap();
        assert!(last.insert(number("tid"), number("t")).is_none_or(|before| before <= number("t")), "{line}");
        match line["cb"].as_str().unwrap() {
            "start" => {
                assert!(started.insert(number("h")), "{line}");
                assert!(number("parent") == 0 || started.contains(&number("parent")), "{line}");
            }
            "state" | "stop" => assert!(started.contains(&number("h")), "{line}"),
            _ => {}
        }
    }
    assert_eq!((started.len(), last.len()), (4 * 5000 * 5, 5));
    tool::summary(tool::tool().args(["replay", "--format", "json"]).arg(&recorded));
}

#[test]
fn odd_handles_of_a_c_program_are_left_out_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
    command.arg(tool::library()).arg("5").env("NCCL_SCOREP_RECORD", directory.path());
    tool::succeed(&mut command);
    let (meta, kept) = lines::played(&recording(directory.path()));
    // stops of NULL and of an invented handle are dropped; the second stop of a handle is recorded
    assert_eq!((meta["dropped"].as_u64(), kept.len()), (Some(2), 14), "{kept:#?}");
}
