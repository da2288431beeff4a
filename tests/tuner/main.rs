//! The library as NCCL's tuner: it changes nothing, passes a user's tuner on, and the summary has NCCL's predictions
//! beside the times. A host (tests/c/nccl/tuner_host.c) plays NCCL in one process a scenario.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod layouts;
#[path = "../support/lines/mod.rs"]
mod lines;
mod recorded;
#[path = "../support/tool/mod.rs"]
mod tool;

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Versions that NCCL speaks to the library.
const SPOKEN: [u32; 4] = [3, 4, 5, 6];

/// Tuners of a user's, by version.
const USERS: [(u32, &str); 5] = [
    (2, env!("USER_TUNER_V2")),
    (3, env!("USER_TUNER_V3")),
    (4, env!("USER_TUNER_V4")),
    (5, env!("USER_TUNER_V5")),
    (6, env!("USER_TUNER_V6")),
];

/// What a host wrote: its output, the library's lines, and the summary if there is one.
struct Played {
    output: String,
    lines: String,
    summary: Option<Value>,
}

impl Played {
    fn summary(&self) -> &Value {
        self.summary.as_ref().unwrap()
    }

    fn predicted(&self) -> Vec<Value> {
        self.summary()["predicted"].as_array().cloned().unwrap_or_default()
    }

    /// Returns the notes of the process that contain a text.
    fn notes(&self, text: &str) -> Vec<&str> {
        let notes = self.summary()["processes"][0]["notes"].as_array().unwrap();
        notes.iter().filter_map(Value::as_str).filter(|note| note.contains(text)).collect()
    }

    /// Returns the number of predictions without room, as a note has it.
    fn lost(&self) -> u64 {
        let notes = self.notes("predictions of NCCL's tuner found no room");
        notes.first().map_or(0, |note| note.split(' ').next().unwrap().parse().unwrap())
    }
}

fn host(version: u32, scenario: &str) -> Command {
    let mut command = tool::host(env!("HOST_TUNER_HOST"));
    command.arg(tool::library()).args([&version.to_string(), scenario]).env("NCCL_ALLGATHERV_ENABLE", "0");
    command
}

/// Plays a scenario to its end, with these settings.
fn play(version: u32, scenario: &str, settings: &[(&str, &str)]) -> Played {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("summary.json");
    let mut command = host(version, scenario);
    let output = command.env("NCCL_SCOREP_SUMMARY", &path).envs(settings.iter().copied()).output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "v{version}, {scenario}, {settings:?}: {lines}");
    let lines =
        lines.lines().filter(|line| !line.contains("/dev/shm")).fold(String::new(), |all, line| all + line + "\n");
    let summary = std::fs::read(path).ok().map(|text| serde_json::from_slice(&text).unwrap());
    Played { output: String::from_utf8(output.stdout).unwrap(), lines, summary }
}

#[test]
fn no_call_changes_a_byte_and_every_prediction_is_counted() {
    for version in SPOKEN {
        let played = play(version, "unchanged", &[]);
        let noted: u64 = played.output.trim().strip_prefix("noted ").unwrap().parse().unwrap();
        let calls: u64 = played.predicted().iter().map(|row| row["calls"].as_u64().unwrap()).sum();
        assert!(noted > 10_000 && played.predicted().len() > 800, "{noted}");
        assert_eq!(calls + played.lost(), noted, "v{version}");
        assert_eq!(played.lines, "");
    }
}

#[test]
fn predictions_stand_beside_the_operations_of_their_shape() {
    for version in SPOKEN {
        let played = play(version, "compared", &[]);
        let rows = played.predicted();
        let find = |func: &str, bytes: u64, pipelined: u64| {
            let is_meant = |row: &&Value| row["func"] == func && row["bytes"] == bytes && row["pipelined"] == pipelined;
            rows.iter().find(is_meant).unwrap()
        };
        assert_eq!(rows.len(), 4, "{rows:?}");
        let reduced = find("AllReduce", 4096, 1);
        let comm = if version >= 5 { json!("00000000000000ab") } else { Value::Null };
        let fields =
            ["comm", "nranks", "nnodes", "registered", "candidates", "algorithm", "protocol", "predicted_us", "calls"]
                .map(|field| reduced[field].clone());
        let wanted =
            [comm, json!(2), json!(1), json!(version > 3), json!(7), json!("RING"), json!("LL"), json!(2.5), json!(3)];
        assert_eq!(fields, wanted, "v{version}");
        assert_eq!((find("AllReduce", 4096, 4)["measured"].clone(), &reduced["tuner"]), (json!([]), &Value::Null));
        assert_eq!(find("AllReduce", 64, 1)["measured"], json!([]));
        // up to NCCL 2.26, the profiler does not learn the number of ranks, nor times of the GPU
        let times = |us: f64, ratio: Value| json!([us, us, ratio]);
        let measured = |row: &Value| {
            let way = &row["measured"][0];
            let times = json!([way["median_us"], way["min_us"], way["ratio"]]);
            (way["algorithm"].clone(), way["channels"].clone(), way["count"].clone(), way["timed"].clone(), times)
        };
        if version == 3 {
            assert_eq!(reduced["measured"], json!([]));
        } else {
            assert_eq!(measured(reduced), (json!("RING"), json!(1), json!(9), json!(9), times(5.0, json!(2.0))));
            // NCCL predicts PAT, and the operations ran otherwise; bytes are those of all ranks
            let gathered = find("AllGather", 2048, 1);
            assert_eq!(measured(gathered), (json!("RING"), json!(1), json!(5), json!(5), times(3.0, Value::Null)));
        }
    }
}

#[test]
fn tables_for_people_have_the_predictions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("summary.json");
    tool::succeed(host(6, "compared").env("NCCL_SCOREP_SUMMARY", &path));
    let report = tool::succeed(tool::tool().arg("report").arg(&path).args(["--part", "complete"]));
    let said = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("predicts the times of one kind of collectives: the measured medians are 2.00 times"),
        "{report}"
    );
    let summary: common::summary::Summary = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let tables = common::report::tables(&summary);
    assert!(tables.contains("NCCL's own prediction of collectives") && tables.contains("RING LL, 1 ch"), "{tables}");
}

#[test]
fn settings_that_restrict_nccl_are_in_the_notes() {
    let played = play(6, "compared", &[("NCCL_ALGO", "Ring"), ("NCCL_MAX_NCHANNELS", "1")]);
    assert_eq!(played.notes("within"), ["NCCL chooses, and predicts, within NCCL_ALGO=Ring, NCCL_MAX_NCHANNELS=1"]);
    let played = play(6, "compared", &[("NCCL_CTA_POLICY", "EFFICIENCY")]);
    assert_eq!(played.notes("NCCL_CTA_POLICY").len(), 1);
    assert!(played.lines.contains("unset NCCL_TUNER_PLUGIN") && played.lines.lines().count() == 1, "{}", played.lines);
}

#[test]
fn predictions_without_room_are_counted() {
    let played = play(6, "many", &[]);
    let rows = played.predicted().len() as u64;
    assert!(rows > 900 && played.lost() > 1900, "{rows}");
    assert_eq!(rows + played.lost(), 3000);
}

#[test]
fn a_users_tuner_gets_everything_and_its_changes_and_errors_stay() {
    for version in SPOKEN {
        for (user, path) in USERS {
            let settings = [("NCCL_SCOREP_TUNER", path), ("USER_TUNER", path), ("USER_VERSION", &user.to_string())];
            if user > version {
                // as NCCL itself would not
                let played = play(version, "alone", &settings);
                assert!(played.lines.contains("has no table") && played.lines.lines().count() == 1, "{}", played.lines);
                continue;
            }
            let played = play(version, "user", &settings);
            assert_eq!(played.lines, "", "v{version}, user's v{user}");
            let changed: Vec<Value> = played
                .predicted()
                .into_iter()
                .filter(|row| row["bytes"] == 4096)
                .map(|row| row["tuner"].clone())
                .collect();
            let is_right = |tuner: &Value| tuner["algorithm"] == "TREE" && tuner["channels"] == 3;
            assert!(!changed.is_empty() && changed.iter().all(is_right), "{changed:?}");
            let calls = |bytes: u64| {
                let rows = played.predicted();
                rows.iter().filter(|row| row["bytes"] == bytes).map(|row| row["calls"].as_u64().unwrap()).sum::<u64>()
            };
            // a call that failed is no choice
            assert_eq!([calls(64), calls(4096), calls(8192)], [20, 21, 0], "v{version}, user's v{user}");
        }
    }
}

#[test]
fn nccl_asks_for_chunks_only_where_the_users_tuner_has_them() {
    let with = |path: &str, version: &str, settings: &[(&str, &str)]| {
        let all = [&[("NCCL_SCOREP_TUNER", path), ("USER_TUNER", path), ("USER_VERSION", version)], settings].concat();
        play(6, "chunks", &all);
    };
    with(env!("USER_TUNER_V6"), "6", &[]);
    with(env!("USER_TUNER_V6_NO_CHUNKS"), "6", &[("NO_CHUNKS", "1")]);
    with(env!("USER_TUNER_V5"), "5", &[("NO_CHUNKS", "1")]);
}

#[test]
fn the_tuner_is_the_one_that_nccl_would_have_found() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let path = directory.path().join(name);
        std::fs::copy(env!("USER_TUNER_V4"), &path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let [unnamed, named, network, other] =
        ["libnccl-tuner.so", "libnccl-tuner-own.so", "libnccl-net-own.so", "libnccl-net.so"].map(place);
    let folder = ("LD_LIBRARY_PATH", directory.path().to_str().unwrap());
    let found = |user: &str, settings: &[(&str, &str)]| {
        let all = [&[("USER_TUNER", user)], settings].concat();
        let played = play(4, "search", &all);
        (played.output.trim() == "passed 1", played.lines)
    };
    let silent = |is_found: bool| (is_found, String::new());
    assert_eq!(found(&unnamed, &[folder]), silent(true));
    assert_eq!(found(&unnamed, &[folder, ("NCCL_SCOREP_TUNER", "none")]), silent(false));
    assert_eq!(found(&unnamed, &[folder, ("NCCL_SCOREP_TUNER", "own")]), silent(false));
    assert_eq!(found(&named, &[folder, ("NCCL_SCOREP_TUNER", "own")]), silent(true));
    let (is_found, lines) = found(&named, &[("NCCL_SCOREP_TUNER", "own")]);
    assert!(
        !is_found && lines.contains("NCCL_SCOREP_TUNER=own: it is not passed on: own: ") && lines.lines().count() == 1,
        "{lines}"
    );
    let itself = tool::library();
    let (is_found, lines) = found(&unnamed, &[("NCCL_SCOREP_TUNER", itself.to_str().unwrap())]);
    assert!(!is_found && lines.contains("is scorep-nccl itself"), "{lines}");
    // the network plugin counts if there is no tuner, and if NCCL has loaded it
    std::fs::remove_file(&unnamed).unwrap();
    assert_eq!(found(&network, &[folder, ("NCCL_NET_PLUGIN", "else,own"), ("NET_PLUGIN", &network)]), silent(true));
    assert_eq!(found(&network, &[folder, ("NCCL_NET_PLUGIN", "own")]), silent(false));
    assert_eq!(found(&other, &[folder, ("NET_PLUGIN", &other)]), silent(true));
    assert_eq!(found(&other, &[folder]), silent(false));
    // as with NCCL, also for a tuner that is named and missing
    let (is_found, lines) = found(&other, &[folder, ("NET_PLUGIN", &other), ("NCCL_SCOREP_TUNER", "missing")]);
    assert!(is_found && lines.contains("NCCL_SCOREP_TUNER=missing"), "{lines}");
}

#[test]
fn a_tuner_that_the_program_is_linked_with_is_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("linked");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c");
    let files = ["nccl/tuner_host.c", "programs/user_tuner.c"].map(|file| sources.join(file));
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-rdynamic", "-DVERSION=5"]).args(files).arg("-o").arg(&program);
    tool::succeed(compiler.args(["-ldl", "-lpthread"]));
    let host = |library: &Path| {
        let mut host = tool::host(program.to_str().unwrap());
        // the loader's name for the program itself is empty
        host.arg(library).args(["6", "user"]).env("USER_VERSION", "5").env("USER_TUNER", "");
        host.env("NCCL_ALLGATHERV_ENABLE", "0");
        host
    };
    tool::succeed(host(&tool::library()).env("NCCL_SCOREP_TUNER", "STATIC_PLUGIN"));
    // NCCL, which looks into the program for its tuner, finds the library's newer table there
    let mut preloaded = host(Path::new("STATIC_PLUGIN"));
    tool::succeed(preloaded.env("LD_PRELOAD", tool::library()).env("NCCL_TUNER_PLUGIN", "STATIC_PLUGIN"));
}

#[test]
fn nothing_happens_where_nobody_named_it() {
    for version in SPOKEN {
        let played = play(version, "unnamed", &[("NCCL_SCOREP_TUNER", "/no/such/tuner.so"), ("NCCL_ALGO", "Ring")]);
        assert_eq!((played.summary().get("predicted"), played.lines.as_str()), (None, ""), "v{version}");
        assert!(played.notes("NCCL").is_empty());
    }
}

#[test]
fn a_tuner_without_the_profiler_does_no_harm() {
    for version in SPOKEN {
        let played = play(version, "alone", &[]);
        assert!(played.summary.is_none() && played.lines.is_empty(), "{}", played.lines);
    }
}

#[test]
fn a_forked_child_passes_on_and_its_parent_notes() {
    let path = env!("USER_TUNER_V5");
    let settings = [("NCCL_SCOREP_TUNER", path), ("USER_TUNER", path), ("USER_VERSION", "5")];
    let played = play(5, "forked", &settings);
    assert_eq!((played.predicted().len(), played.lines.as_str()), (1, ""));
}

#[test]
fn a_fault_of_the_library_leaves_the_users_tuner_alone() {
    let path = env!("USER_TUNER_V6");
    let of_user = [("NCCL_SCOREP_TUNER", path), ("USER_TUNER", path), ("USER_VERSION", "6")];
    for callback in ["tuner", "tuner_init"] {
        let played = play(6, "user", &[&of_user[..], &[("NCCL_SCOREP_PANIC", callback)]].concat());
        assert!(played.lines.contains("a fault in") && played.lines.contains(callback), "{}", played.lines);
    }
}

/// Compares with a library that exists only where `make library` was run.
#[test]
fn the_shipped_library_does_the_same() {
    let shipped = match tool::shipped(tool::LIBRARY) {
        Ok(shipped) => shipped,
        Err(missing) => return tool::skip(&missing),
    };
    let mut command = tool::host(env!("HOST_TUNER_HOST"));
    let path = Path::new(&shipped);
    tool::succeed(command.arg(path).args(["6", "user"]).envs([
        ("NCCL_SCOREP_TUNER", env!("USER_TUNER_V6")),
        ("USER_TUNER", env!("USER_TUNER_V6")),
        ("USER_VERSION", "6"),
        ("NCCL_ALLGATHERV_ENABLE", "0"),
    ]));
}
