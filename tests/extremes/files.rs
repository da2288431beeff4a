//! Summaries, recordings, reports and state files with one number set.

use crate::extremes::Case;
use crate::extremes::numbers::{EXTREMES, Number, RANKS, numbers};
use crate::extremes::sample::sample;
use crate::support::tool;
use common::origin::Origin;
use common::status::{OpenCall, OpenTransfer, SCHEMA, Status, StatusCommunicator, StatusOperation};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// The values of a number: any of a file, and the largest of the type for ranks and nodes.
fn values(number: &Number) -> impl Iterator<Item = &'static str> + use<> {
    let is_of_ranks = ["ranks", "nodes"].iter().any(|of| number.field.ends_with(of));
    EXTREMES.into_iter().chain(is_of_ranks.then_some(RANKS))
}

/// A text for each number of a JSON text, with the schema first: files are told apart by their first bytes.
pub(crate) fn of_json(name: &'static str, text: &Value) -> Vec<Case> {
    let mut rest = text.clone();
    let schema = rest.as_object_mut().unwrap().remove("schema").unwrap();
    let of = |number: Number| {
        let case = |value| {
            let text = number.set(&rest, value).replacen('{', &format!("{{\"schema\":{schema},"), 1);
            Case { what: format!("{} = {value}", number.field), file: (name, text.into_bytes()), beside: None }
        };
        values(&number).map(case).collect::<Vec<_>>()
    };
    numbers(&rest, &mut BTreeSet::new(), "").into_iter().flat_map(of).collect()
}

/// Of a job's summary: with lateness, bandwidths, clocks, transfers and channels.
pub(crate) fn summaries() -> Vec<Case> {
    let mut command = tool::tool();
    command.arg("replay").arg(tool::run("nodes2x2_collectives")).args(["--lateness", "--format", "json"]);
    let summary = tool::summary(&mut command);
    assert!(["lateness", "bandwidth", "transfers", "channels"].iter().all(|list| summary[list][0].is_object()));
    of_json("summary.json", &summary)
}

/// Recordings whose first lines have every kind of line together.
const RECORDINGS: [&str; 3] =
    ["captures/nodes2x2_graph/graph.r0", "captures/v232_nodes2x1_collectives/collectives.r0", "truth/waited/waited.r0"];
/// Lines of a recording that are read.
const LINES: usize = 400;

/// Of recordings with every kind of line, the first number of each kind's fields.
pub(crate) fn recordings() -> Vec<Case> {
    let mut seen = BTreeSet::new();
    let mut cases = Vec::new();
    for name in RECORDINGS {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(format!("{name}.jsonl.gz"));
        let text = std::io::read_to_string(MultiGzDecoder::new(File::open(place).unwrap())).unwrap();
        cases.extend(of_lines(&text, &mut seen));
    }
    let kinds = ["kernel.", "Coll.", "P2p.", "ProxyStep.", "KernelCh.", "P2pApi.", "KernelLaunch.", "state."];
    assert!(kinds.iter().all(|kind| cases.iter().any(|case| case.what.starts_with(kind))));
    cases
}

fn of_lines(text: &str, seen: &mut BTreeSet<String>) -> Vec<Case> {
    let lines: Vec<&str> = text.lines().take(LINES).collect();
    let mut cases = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let kind = line["type"].as_str().or(line["cb"].as_str()).unwrap();
        for number in numbers(&line, seen, kind) {
            for value in values(&number) {
                let line = number.set(&line, value);
                let mut file = GzEncoder::new(Vec::new(), Compression::fast());
                let lines = lines.iter().enumerate().map(|(at, &other)| if at == place { &line } else { other });
                lines.for_each(|line| writeln!(file, "{line}").unwrap());
                let content = file.finish().unwrap();
                let what = format!("{} = {value}", number.field);
                cases.push(Case { what, file: ("r0.jsonl.gz", content), beside: None });
            }
        }
    }
    cases
}

/// A report, as a baseline for another one.
pub(crate) fn earlier() -> Value {
    serde_json::to_value(sample(2)).unwrap()
}

/// Of a state file that has something of everything.
pub(crate) fn statuses() -> Vec<Case> {
    let operation = StatusOperation {
        number: Some(5),
        func: "AllReduce".into(),
        count: Some(7),
        peer: Some(1),
        root: Some(0),
        entered: 1_000_000_000,
        begun: Some(1_000_000_100),
        finished: Some(1_000_000_200),
        bytes: 28,
        ..StatusOperation::default()
    };
    let communicator = StatusCommunicator {
        comm: format!("{:016x}", 0xab),
        rank: Some(0),
        nranks: 4,
        opened: 1_000_000,
        ended: None,
        counts_all: true,
        sees_gpu: true,
        entered: 6,
        operations: vec![operation],
        calls: vec![OpenCall { func: "AllReduce".into(), since: 1_000_000_000 }],
        waits: vec![OpenTransfer { peer: 1, channel: 2, since: 1_000_000_000, steps: 3, ..OpenTransfer::default() }],
        ..StatusCommunicator::default()
    };
    let (rank, ranks) = (Some(0), Some(4));
    let status = Status {
        schema: SCHEMA.into(),
        pid: 100,
        born: Some(7),
        origin: Origin { rank, ranks, host: Some("elsewhere".into()), ..Origin::default() },
        written: 2_000_000_000,
        beat: 3,
        over: Some(5),
        silent_since: Some(6),
        communicators: vec![communicator],
        ..Status::default()
    };
    let mut text = serde_json::to_value(status).unwrap();
    text["answer"] = serde_json::json!({"ticket": "7", "taken": 1, "until": 2});
    let ended = of_json("a.status.json", &text);
    // one that still runs
    text["over"] = Value::Null;
    text["silent_since"] = Value::Null;
    ended.into_iter().chain(of_json("a.status.json", &text)).collect()
}
