//! Sequence diagrams have each callback of an operation once, by the thread that made it, and few rows however many
//! steps the operation has.

use crate::support::{lines, tool};

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Output;

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

fn sequence(operation: &str, recording: &Path) -> Output {
    tool::tool().args(["replay", "--sequence", operation]).arg(recording).output().unwrap()
}

fn text(operation: &str, recording: &Path) -> String {
    let output = sequence(operation, recording);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Callbacks by thread, as the diagram's rows count them.
fn counted(diagram: &str) -> BTreeMap<String, u64> {
    let mut rows = diagram.lines().skip_while(|line| !line.trim_start().starts_with("us "));
    let lanes: Vec<&str> = rows.next().unwrap().split_whitespace().skip(1).collect();
    let mut counted = BTreeMap::new();
    for row in rows {
        let (drawn, said) = row.split_once(">|").unwrap();
        let bars = drawn.split_whitespace().skip(1).collect::<Vec<_>>().join("");
        let place = bars.chars().filter(|sign| "|o+".contains(*sign)).position(|sign| sign == 'o').unwrap();
        let times = said.split_once("(x ").map_or(1, |(_, times)| times.split_once(',').unwrap().0.parse().unwrap());
        *counted.entry(lanes[place].to_owned()).or_default() += times;
    }
    counted
}

/// Callbacks by thread of an operation, its ancestors, launch, group, and all events below it: by the lines alone.
fn expected(recording: &Path, handle: u64) -> BTreeMap<String, u64> {
    let (_, lines) = lines::all(recording);
    let start = |of: u64| lines.iter().find(|line| line["cb"] == "start" && line["h"] == of).unwrap();
    let mut wanted = BTreeSet::from([handle]);
    let mut group = None;
    for line in lines.iter().filter(|line| line["cb"] == "start" || line["cb"] == "stop") {
        if line["cb"] == "start" && line["type"] == "Group" && line["tid"] == start(handle)["tid"] {
            group = line["h"].as_u64();
        }
        if line["h"] == handle {
            break;
        }
    }
    for line in lines.iter().filter(|line| line["cb"] == "start") {
        if line["parent"].as_u64().is_some_and(|parent| wanted.contains(&parent)) {
            wanted.extend(line["h"].as_u64());
        }
    }
    let mut parent = start(handle)["parent"].as_u64().unwrap();
    while parent != 0 {
        wanted.insert(parent);
        let launches = lines.iter().filter(|line| line["type"] == "KernelLaunch" && line["parent"] == parent);
        wanted.extend(launches.filter_map(|line| line["h"].as_u64()));
        parent = start(parent)["parent"].as_u64().unwrap();
    }
    wanted.extend(group);
    let mut counted = BTreeMap::new();
    for line in lines.iter().filter(|line| line["h"].as_u64().is_some_and(|h| wanted.contains(&h))) {
        *counted.entry(format!("T{}", line["tid"])).or_default() += 1;
    }
    counted
}

#[test]
fn each_callback_of_an_operation_is_counted_once_for_its_thread() {
    for (recording, operation) in [
        ("nodes2x2_graph/graph.r0.jsonl.gz", "AllReduce:5"),
        ("nodes2x2_train/train.r0.jsonl.gz", "Send:4"),
        ("nodes2x2_train/train.r2.jsonl.gz", "Recv:4"),
        ("net2_collectives/collectives.r0.jsonl.gz", "AllReduce:0"),
        ("v231_nvlink2_graph/graph.r0.jsonl.gz", "AllReduce:2"),
    ] {
        let recording = capture(recording);
        let diagram = text(operation, &recording);
        let handle = diagram.split_once("(h ").unwrap().1.split_once(')').unwrap().0.parse().unwrap();
        assert_eq!(counted(&diagram), expected(&recording, handle), "{}:\n{diagram}", recording.display());
        // the same by its handle
        assert_eq!(text(&format!("{handle}"), &recording), diagram);
    }
}

/// Writes a recording of one send with many steps over all channels, and returns its path.
fn many_steps(directory: &Path, channels: u64, steps: u64) -> PathBuf {
    let path = directory.join("many.r0.jsonl.gz");
    write(&path, |line| {
        let start = r#""cb":"start","ctx":1,"rank":0"#;
        line(&format!(
            r#""tid":1,{start},"h":1,"type":"P2p","parent":0,"func":"Send","count":8,"dtype":"ncclInt8","peer":1,"nch":2"#
        ));
        line(r#""tid":1,"cb":"stop","h":1"#);
        // the operation of another process: its parent is a handle of that process, and one of this process by chance
        line(&format!(
            r#""tid":3,{start},"h":2,"type":"ProxyOp","parent":1,"pid":4242,"ch":0,"peer":1,"nsteps":1,"chunk":1,"send":1"#
        ));
        let mut handle = 3;
        let to = format!(r#""peer":1,"nsteps":{steps},"chunk":1,"send":1"#);
        for channel in 0..channels {
            let operation = handle;
            line(&format!(
                r#""tid":2,{start},"h":{operation},"type":"ProxyOp","parent":1,"pid":77,"ch":{channel},{to}"#
            ));
            for step in 0..steps {
                handle += 1;
                line(&format!(r#""tid":2,{start},"h":{handle},"type":"ProxyStep","parent":{operation},"step":{step}"#));
                for (state, argument) in [(8, 0), (20, 0), (9, 4096)] {
                    line(&format!(r#""tid":2,"cb":"state","h":{handle},"state":{state},"arg":{argument}"#));
                }
                line(&format!(r#""tid":2,"cb":"stop","h":{handle}"#));
            }
            line(&format!(r#""tid":2,"cb":"stop","h":{operation}"#));
            handle += 1;
        }
    });
    path
}

/// Writes a recording of one communicator, with lines a microsecond apart; they are given without their times.
fn write(path: &Path, events: impl FnOnce(&mut dyn FnMut(&str))) {
    let mut file = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    let mut time = 0;
    let mut line = |fields: &str| {
        time += 1000;
        writeln!(file, "{{\"t\":{time},{fields}}}").unwrap();
    };
    line(r#""cb":"meta","format":1,"api":5,"mask":4095,"pid":77,"real0":1,"mono0":1,"dropped":0"#);
    line(r#""tid":1,"cb":"init","ctx":1,"comm":"ab","name":null,"nnodes":2,"nranks":2,"rank":0"#);
    events(&mut line);
    file.finish().unwrap();
}

#[test]
fn thousands_of_steps_are_few_rows_and_another_process_operation_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let recording = many_steps(directory.path(), 16, 128);
    let diagram = text("Send:0", &recording);
    assert!(diagram.lines().count() < 20, "{diagram}");
    assert!(diagram.contains("start ProxyStep, peer 1, 16 channels (x 2048,"), "{diagram}");
    assert!(diagram.contains("SendWait, peer 1, 16 channels, 8388608 B (x 2048,"), "{diagram}");
    assert!(!diagram.contains("4242") && !diagram.contains("T3"), "{diagram}");
    assert_eq!(counted(&diagram), BTreeMap::from([("T1".to_owned(), 2), ("T2".to_owned(), 16 * (2 + 128 * 5))]));
    let foreign = text("2", &recording);
    assert!(foreign.contains("start ProxyOp send, peer 1, channel 0, for process 4242"), "{foreign}");
}

/// No NCCL makes an event its own parent. The reader refuses the line, so nothing follows the parents without end.
#[test]
fn an_event_that_is_its_own_parent_ends_with_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.r0.jsonl.gz");
    write(&path, |line| {
        line(concat!(
            r#""tid":1,"cb":"start","ctx":1,"rank":0,"h":5,"type":"CollApi","parent":5,"func":"AllReduce","count":8,"#,
            r#""dtype":"ncclInt8","root":0,"stream":"a","graph":0"#
        ));
    });
    // with less memory than an endless chain of parents takes in a moment
    let limits = ["-c", r#"ulimit -v 4000000; ulimit -t 60; exec "$@""#, "sh"].map(OsStr::new);
    let mut tool = tool::tool();
    let output = tool::within("sh", &limits, tool.args(["replay", "--sequence", "5"]).arg(&path)).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{errors}");
    assert!(errors.contains("own.r0.jsonl.gz") && errors.contains(":3: ") && errors.contains("parent"), "{errors}");
}

#[test]
fn wrong_use_names_the_way_out() {
    let recording = capture("net2_single/single.r0.jsonl.gz");
    let refused = |operation: &str, recording: &Path, said: &str| {
        let output = sequence(operation, recording);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && errors.contains(said), "{errors}");
    };
    refused("AllReduce:9999", &recording, "it has AllReduce:0 to AllReduce:170, Group:0 to Group:341");
    refused("999999999", &recording, "it has no event 999999999");
    refused("AllReduce", &recording, "as AllReduce:3");
    refused("AllReduce:1", &capture("net2_collectives"), "there are 2 recordings: name one");
    refused("AllReduce:1", Path::new("/nowhere"), "/nowhere");
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("single.r0.jsonl.gz");
    std::fs::copy(&recording, &copy).unwrap();
    let output = tool::tool().args(["replay", "--sequence", "AllReduce:1", "--drawing"]).args([&copy, &copy]).output();
    assert!(!output.unwrap().status.success());
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&recording).unwrap());
    // numbers of several communicators: the others are named
    let several = text("AllReduce:0", &recording);
    assert!(several.contains(" this number; --sequence shows one by its h: "), "{several}");
}
