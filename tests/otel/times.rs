//! What a callback takes while exports fail, beside what it takes without them: in instructions, which must be the
//! same, and in time, which is shown.

use crate::job;
use crate::network::nowhere;
use crate::receiver::Receiver;
use crate::server::Manner;
use crate::support::callgrind::{self, Counts};
use crate::support::tool;
use std::path::Path;
use std::process::Command;

/// Calls of each kind that are counted.
const CALLS: u64 = 640;
/// Of the times, the least is shown.
const ROUNDS: usize = 3;

type Settings<'a> = Vec<(&'a str, &'a str)>;

/// The library of the tests' build without what only debuggers read, which valgrind would read, too.
fn stripped(directory: &Path) -> std::path::PathBuf {
    let path = directory.join("library.so");
    assert!(
        Command::new("strip")
            .arg("--strip-debug")
            .arg("-o")
            .arg(&path)
            .arg(tool::library())
            .status()
            .unwrap()
            .success()
    );
    path
}

/// Nanoseconds a callback, the driver's own included: on the clock, and of the processor.
fn time(settings: &Settings<'_>) -> [f64; 2] {
    let capture = tool::captures(&tool::run("nodes2x2_train")).remove(0);
    let mut command = tool::host(env!("HOST_SPEED_HOST"));
    command.arg(tool::library()).arg(capture).arg("100");
    command.env("NCCL_SCOREP_PRESET", "full").env("NCCL_SCOREP_TRUST_NCCL", "on").env("NCCL_SCOREP_LOG", "off");
    job::without_others(&mut command).envs(settings.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let number = |name: &str| -> f64 {
        let found = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap().parse().unwrap()
    };
    ["took", "processor"].map(|name| number(name) / number("calls"))
}

/// Where exports go to, by a name.
fn endpoints(receivers: &[(&'static str, Receiver)]) -> Vec<(&'static str, String)> {
    let mut endpoints = vec![("port closed", format!("http://{}", nowhere()))];
    endpoints.extend(receivers.iter().map(|(name, receiver)| (*name, receiver.endpoint())));
    endpoints
}

fn differences(found: &Counts, expected: &Counts) -> Vec<String> {
    // as tests/instructions has it: the first look at the collector comes at any time
    let differ = |(name, count): &(&String, &f64)| (*count - found[*name]).abs() > 0.002 * *count;
    expected.iter().filter(differ).map(|(name, count)| format!("{name}: {} rather than {count}", found[name])).collect()
}

#[test]
#[ignore = "exports that fail, in instructions"]
fn a_callback_takes_the_same_whatever_becomes_of_exports() {
    let manners = [
        ("receiver answers", Manner::Accept),
        ("accepts, never answers", Manner::Silence),
        ("answers 500", Manner::Status(500)),
        ("stops in the middle", Manner::HangUp(300)),
    ];
    let receivers = manners.map(|(name, manner)| (name, Receiver::new([manner])));
    let endpoints = endpoints(&receivers);
    let exported = endpoints.iter().map(|(name, endpoint)| {
        let on = [
            ("NCCL_SCOREP_OTEL", "on"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
            ("OTEL_METRIC_EXPORT_INTERVAL", "50"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "200"),
        ];
        (*name, on.to_vec())
    });
    let cases: Vec<(&str, Settings<'_>)> = [("no export", vec![])].into_iter().chain(exported).collect();

    let mut times = vec![[f64::INFINITY; 2]; cases.len()];
    for _ in 0..ROUNDS {
        for ((_, settings), least) in cases.iter().zip(&mut times) {
            let now = time(settings);
            *least = std::array::from_fn(|clock| least[clock].min(now[clock]));
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let library = stripped(directory.path());
    let counts: Option<Vec<Counts>> = callgrind::is_there()
        .then(|| cases.iter().map(|(_, settings)| callgrind::count(&library, CALLS, settings)).collect());
    if counts.is_none() {
        tool::skip("no valgrind");
    }
    let mean = |counts: &Counts| counts.values().sum::<f64>() / counts.len() as f64;
    tool::say(&format!("{:24} {:>14} {:>14} {:>14}", "a callback of this build", "ns", "processor ns", "instructions"));
    for (place, ((name, _), [clock, processor])) in cases.iter().zip(times).enumerate() {
        let instructions = counts.as_ref().map_or("-".into(), |counts| format!("{:.2}", mean(&counts[place])));
        tool::say(&format!("{name:24} {clock:14.1} {processor:14.1} {instructions:>14}"));
    }
    for ((name, _), found) in cases.iter().zip(counts.iter().flatten()) {
        let differences = differences(found, &counts.as_ref().unwrap()[0]);
        assert!(differences.is_empty(), "{name}: {differences:?}");
    }
    for (name, receiver) in receivers.iter().filter(|(name, _)| ["receiver answers", "answers 500"].contains(name)) {
        assert!(receiver.requests().len() > ROUNDS + 1, "{name}: nothing was exported meanwhile");
    }
}
