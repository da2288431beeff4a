//! A second plugin gets every callback of the types it asked for, with its own handles. Its errors harm nobody else.

use crate::support::{lines, tool};

use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Event types by the number of their bit.
const NAMES: [&str; 16] = [
    "Group",
    "Coll",
    "P2p",
    "ProxyOp",
    "ProxyStep",
    "ProxyCtrl",
    "KernelCh",
    "NetPlugin",
    "GroupApi",
    "CollApi",
    "P2pApi",
    "KernelLaunch",
    "CeColl",
    "CeSync",
    "CeBatch",
    "KernelPhase",
];

fn second(version: u32) -> &'static str {
    match version {
        4 => env!("SECOND_PLUGIN_V4"),
        6 => env!("SECOND_PLUGIN_V6"),
        _ => env!("SECOND_PLUGIN_V7"),
    }
}

/// A replay with a second plugin: the messages, and the second plugin's counts if it writes them.
struct Chained {
    summary: Value,
    said: String,
    report: Option<Value>,
}

fn chained(capture: &Path, plugin: &str, settings: &[(&str, &str)]) -> Chained {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    let mut command = replay(capture);
    command.env("NCCL_SCOREP_CHAIN", plugin).env("NCCL_SCOREP_LOG", "warn").env("SECOND_PLUGIN_REPORT", &report);
    command.envs(settings.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let report = std::fs::read(report).ok().map(|bytes| serde_json::from_slice(&bytes).unwrap());
    Chained { summary: summary(&output.stdout), said, report }
}

fn replay(capture: &Path) -> Command {
    let mut command = tool::tool();
    command.args(["replay", "--format", "json"]).arg(capture);
    command
}

/// Reads a summary without the values that differ between equal runs: process id, memory, and the ends of windows.
fn summary(text: &[u8]) -> Value {
    let mut summary: Value = serde_json::from_slice(text).unwrap();
    for process in summary["processes"].as_array_mut().unwrap() {
        let process = process.as_object_mut().unwrap();
        process.retain(|field, _| !["pid", "peak_memory_bytes", "counters", "windows"].contains(&field.as_str()));
    }
    summary
}

fn plain(capture: &Path) -> Value {
    summary(&replay(capture).output().unwrap().stdout)
}

/// Returns the messages of a replay without a second plugin.
fn said_alone(capture: &Path) -> String {
    String::from_utf8(replay(capture).env("NCCL_SCOREP_LOG", "warn").output().unwrap().stderr).unwrap()
}

/// Counts of the callbacks of a capture that a second plugin gets, by its version and the types it asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Heard {
    init: u64,
    finalize: u64,
    start: [u64; 16],
    stop: u64,
    state: u64,
    parents: u64,
    groups: u64,
    elements: u64,
}

impl Heard {
    fn of(capture: &Path, types: u64) -> Self {
        let (meta, lines) = lines::played(capture);
        let mut heard = Self::default();
        let mut alive: HashMap<u64, bool> = HashMap::new();
        // the group that a thread is in; a replay passes it with the operations
        let mut groups: HashMap<(u64, u64), u64> = HashMap::new();
        // context of each handle that the plugin has, and whether it was stopped
        let mut handles: HashMap<u64, (u64, bool)> = HashMap::new();
        for line in &lines {
            let number = |field: &str| line[field].as_u64().unwrap_or(0);
            let (h, ctx) = (number("h"), number("ctx"));
            match line["cb"].as_str().unwrap() {
                "init" => {
                    heard.init += 1;
                    alive.insert(ctx, true);
                }
                "finalize" => heard.finalize += u64::from(alive.insert(ctx, false) == Some(true)),
                "start" => {
                    let kind = NAMES.iter().position(|name| line["type"] == *name);
                    let foreign = line["type"] == "ProxyOp" && line["pid"] != meta["pid"];
                    let Some(kind) = kind.filter(|kind| types >> kind & 1 == 1 && alive[&ctx] && !foreign) else {
                        continue;
                    };
                    heard.start[kind] += 1;
                    let known = |h: Option<u64>| {
                        u64::from(
                            h.is_some_and(|h| handles.get(&h).is_some_and(|(owner, _): &(u64, bool)| alive[owner])),
                        )
                    };
                    let group = known(groups.get(&(ctx, number("tid"))).copied());
                    // up to v4 the parent of an operation is its group
                    let is_operation = [1, 2].contains(&kind);
                    let is_old = types <= 0xff;
                    heard.parents += if is_operation && is_old { group } else { known(Some(number("parent"))) };
                    heard.groups += if is_operation && !is_old { group } else { 0 };
                    heard.elements += if [1, 2].contains(&kind) { number("count") } else { 0 };
                    handles.insert(h, (ctx, false));
                    if kind == 0 {
                        groups.insert((ctx, number("tid")), h);
                    }
                }
                "state" => {
                    heard.state += u64::from(handles.get(&h).is_some_and(|(owner, stopped)| !stopped && alive[owner]))
                }
                _ => {
                    groups.retain(|_, group| *group != h);
                    if let Some((owner, stopped)) = handles.get_mut(&h) {
                        heard.stop += u64::from(!*stopped && alive[owner]);
                        *stopped = true;
                    }
                }
            }
        }
        heard
    }

    fn told(report: &Value) -> Self {
        let number = |field: &str| report[field].as_u64().unwrap();
        let start: Vec<u64> = report["start"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
        Self {
            init: number("init"),
            finalize: number("finalize"),
            start: start.try_into().unwrap(),
            stop: number("stop"),
            state: number("state"),
            parents: number("parents"),
            groups: number("groups"),
            elements: number("elements"),
        }
    }
}

fn first(run: &str) -> PathBuf {
    tool::captures(&tool::run(run)).remove(0)
}

#[test]
fn it_hears_every_callback_with_its_own_handles_and_ours_hears_no_less() {
    for run in ["net2_single", "nodes2x1_comms", "nodes2x2_graph", "v230_nodes2x2_collectives", "v231_nvlink2_graph"] {
        let capture = first(run);
        let (plain, alone) = (plain(&capture), said_alone(&capture));
        for (version, types) in [(4, 0xff), (6, 0x7fff), (7, 0xffff)] {
            let Chained { summary, said, report } =
                chained(&capture, second(version), &[("SECOND_PLUGIN_MASK", "65535")]);
            assert_eq!(said, alone, "{run}");
            let report = report.unwrap();
            assert_eq!(report["wrong"], 0, "{run} v{version}: {report}");
            assert_eq!(Heard::told(&report), Heard::of(&capture, types), "{run} v{version}");
            assert_eq!(summary, plain, "{run} v{version}");
        }
    }
}

#[test]
fn it_hears_of_the_types_it_asked_for_and_those_they_lie_in() {
    let capture = first("nodes2x2_graph");
    // ProxyStep: below ProxyOp, Coll, P2p, Group and the calls of the API
    for (asked, types) in [("16", 0x71f), ("32", 0x20), ("1024", 0x500), ("0", 0)] {
        let report = chained(&capture, second(6), &[("SECOND_PLUGIN_MASK", asked)]).report.unwrap();
        let heard = Heard::told(&report);
        assert_eq!((report["wrong"].as_u64(), heard.start), (Some(0), Heard::of(&capture, types).start), "{asked}");
    }
}

#[test]
fn nccl_is_asked_for_the_types_of_both() {
    let mask = |settings: &[(&str, &str)]| {
        let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
        command.arg(tool::library()).arg("5").envs(settings.iter().copied());
        tool::succeed(&mut command).trim().strip_prefix("mask ").unwrap().parse::<u64>().unwrap()
    };
    let ours = mask(&[]);
    let plugin = [("NCCL_SCOREP_CHAIN", second(6)), ("SECOND_PLUGIN_MASK", "32")];
    assert_eq!((mask(&plugin), ours & 32), (ours | 32, 0));
}

#[test]
fn nccl_is_not_asked_for_what_can_hang_a_job_for_its_sake_either() {
    let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
    command.arg(tool::library()).arg("6").env_remove("NCCL_ALLGATHERV_ENABLE");
    command.env("NCCL_SCOREP_CHAIN", second(6)).env("SECOND_PLUGIN_MASK", "96").env("NCCL_SCOREP_PRESET", "api");
    let Output { stdout, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    // this host may fail without types that the preset lacks, but only after it has asked for the mask
    let heard =
        said.lines().filter(|line| line.contains("second plugin") && line.contains("NCCL_ALLGATHERV_ENABLE=0")).count();
    assert_eq!(heard, 1, "{said}");
    let mask = String::from_utf8(stdout).unwrap();
    assert!(mask.is_empty() || mask.trim().strip_prefix("mask ").unwrap().parse::<u64>().unwrap() & 64 == 0, "{mask}");
}

#[test]
fn it_stops_what_it_started_when_many_threads_call_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let report = directory.path().join("report.json");
    let mut command = Command::new(env!("HOST_STRESS_HOST"));
    command.arg(tool::library()).args(["4", "5000", "2"]).env("NCCL_SCOREP_LOG", "off");
    command.env("NCCL_SCOREP_CHAIN", second(6)).env("SECOND_PLUGIN_REPORT", &report);
    tool::succeed(&mut command);
    let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    let heard = Heard::told(&report);
    let all = 4 * 5000;
    assert_eq!((report["wrong"].as_u64(), heard.start.iter().sum::<u64>(), heard.stop), (Some(0), 5 * all, 5 * all));
    assert_eq!((heard.start[1], heard.start[6], heard.parents), (all, 2 * all, 4 * all));
}

#[test]
fn odd_callbacks_of_a_c_program_do_not_reach_it() {
    for (host, plugin) in [("4", 4), ("4", 6), ("5", 4), ("6", 6)] {
        let directory = tempfile::tempdir().unwrap();
        let (report, counts) = (directory.path().join("report.json"), directory.path().join("summary.json"));
        let mut command = Command::new(env!("HOST_ALL_REDUCE_HOST"));
        command.arg(tool::library()).arg(host).env("NCCL_SCOREP_CHAIN", second(plugin));
        command
            .env("SECOND_PLUGIN_REPORT", &report)
            .env("NCCL_SCOREP_SUMMARY", &counts)
            .env("NCCL_ALLGATHERV_ENABLE", "0");
        tool::succeed(&mut command);
        let report: Value = serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
        let heard = Heard::told(&report);
        assert_eq!(
            (report["wrong"].as_u64(), heard.stop, heard.parents, heard.elements),
            (Some(0), 4, 3, 1024),
            "{host} {plugin}"
        );
        let summary: Value = serde_json::from_slice(&std::fs::read(counts).unwrap()).unwrap();
        // a second stop, an invented handle, a state of a stopped handle: as without a second plugin
        assert_eq!(summary["processes"][0]["ignored_handles"].as_u64(), Some(3), "{host} {plugin}");
    }
}

#[test]
fn its_failure_is_told_in_one_line_and_touches_nothing() {
    let capture = first("nodes2x1_comms");
    let plain = plain(&capture);
    let copy = tempfile::tempdir().unwrap();
    let copied = copy.path().join("other.so");
    std::fs::copy(tool::library(), &copied).unwrap();
    let ours = tool::library();
    // plugin, settings, expected message
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let cases: [Case<'_>; 7] = [
        ("no-such-plugin", &[], "libnccl-profiler-no-such-plugin.so"),
        ("libm.so.6", &[], "no table ncclProfiler_v4"),
        (ours.to_str().unwrap(), &[], "itself"),
        (copied.to_str().unwrap(), &[], "itself"),
        (second(4), &[("SECOND_PLUGIN_FAIL", "init")], "failed with 3"),
        (second(6), &[("SECOND_PLUGIN_FAIL", "context")], "gave no context"),
        (second(6), &[("SECOND_PLUGIN_FAIL", "error")], "of its callbacks failed"),
    ];
    for (plugin, settings, wanted) in cases {
        let Chained { summary, said, report } = chained(&capture, plugin, settings);
        assert!(
            said.lines().count() == 1 && said.contains("NCCL_SCOREP_CHAIN=") && said.contains(wanted),
            "{plugin}: {said}"
        );
        assert_eq!(summary, plain, "{plugin}");
        assert!(
            report.is_none_or(|report| report["wrong"] == 0 && report["stop"] == 0 && report["state"] == 0),
            "{plugin}"
        );
    }
}

#[test]
fn null_handles_are_never_given_back_to_it() {
    let capture = first("nodes2x1_comms");
    let Chained { summary, said, report } = chained(&capture, second(4), &[("SECOND_PLUGIN_FAIL", "start")]);
    let (heard, expected) = (Heard::told(&report.unwrap()), Heard::of(&capture, 0xff));
    assert_eq!((heard.start, heard.stop, heard.state, heard.parents), (expected.start, 0, 0, 0));
    assert_eq!((said.as_str(), summary), ("", plain(&capture)));
}

#[test]
fn it_is_found_by_its_short_name_as_nccl_finds_it() {
    let capture = first("nvlink4_ring");
    let directory = Path::new(second(4)).parent().unwrap().to_str().unwrap();
    let found = chained(&capture, "second4", &[("LD_LIBRARY_PATH", directory)]);
    assert_eq!(Heard::told(&found.report.unwrap()), Heard::of(&capture, 0xff));
    let none = chained(&capture, "none", &[]);
    assert_eq!((none.said.as_str(), none.report), ("", None));
}

#[test]
fn it_and_a_recording_go_together() {
    let capture = first("nvlink4_ring");
    let directory = tempfile::tempdir().unwrap();
    let both = chained(&capture, second(6), &[("NCCL_SCOREP_RECORD", directory.path().to_str().unwrap())]);
    assert_eq!(Heard::told(&both.report.unwrap()), Heard::of(&capture, 0xfff));
    assert_eq!((both.summary, directory.path().read_dir().unwrap().count()), (plain(&capture), 1));
}
