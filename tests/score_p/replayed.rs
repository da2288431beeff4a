//! The archive of a replayed recording beside the trace that Score-P wrote of the same run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::experiment;
use crate::score_p::captures;
use crate::support::installation::{Model, command, is_there, say};
use crate::support::tool;
use crate::support::trace::{Event, Location, Trace, What};

/// The attribute with the time from the launch to the begin.
const QUEUED: &str = "nccl_queued";

/// Lines of definitions without what only counts them: numbers in angle brackets and of their own.
fn definitions(experiment: &Path) -> BTreeSet<String> {
    let text = say(command("otf2-print").arg("-G").arg(experiment.join("traces.otf2")));
    let is_lanes = |line: &&str| {
        let [kind, _, rest] = line.splitn(3, char::is_whitespace).collect::<Vec<_>>()[..] else { return false };
        let rest = rest.trim_start();
        match kind {
            "REGION" => rest.contains("Paradigm: CUDA") && !rest.contains("\"KERNELS\""),
            "METRIC_MEMBER" | "METRIC_CLASS" => rest.contains("\"nccl_op_") || rest.contains("\"nccl_pair_"),
            "ATTRIBUTE" => rest.contains("\"nccl_"),
            _ => false,
        }
    };
    let mut plain = BTreeSet::new();
    for line in text.lines().filter(is_lanes) {
        let mut words = line.split_whitespace();
        let kind = words.next().unwrap();
        // behind the definition's own number
        let words: Vec<&str> = words.skip(1).filter(|word| !word.starts_with('<')).collect();
        plain.insert(format!("{kind} {}", words.join(" ")));
    }
    plain
}

/// The lanes by their names, of which no two processes have the same. A replay has series, too.
fn lanes(trace: &Trace) -> BTreeMap<String, &Location> {
    let others = ["NCCL (unused)", "NCCL series of "];
    let is_lane = |location: &&Location| {
        location.kind == "ACCELERATOR_STREAM" && !others.iter().any(|other| location.name.starts_with(other))
    };
    trace.locations.iter().filter(is_lane).map(|lane| (lane.name.clone(), lane)).collect()
}

/// Nanoseconds by which a replay may place an operation otherwise: the delays of callbacks place it on the host clock,
/// and it is moved by up to this so that operations follow one another.
const PLACED: i64 = 20_000;

/// All of an event but its place on the host's clock; a bandwidth follows from a length.
fn told(event: &Event) -> (Vec<String>, Vec<(&String, &String)>) {
    let what =
        match &event.what {
            What::Enter(region) => vec!["enter".to_owned(), region.clone()],
            What::Leave(region) => vec!["leave".to_owned(), region.clone()],
            What::Metric(values) => values
                .iter()
                .map(|(name, value)| {
                    if name == "nccl_op_effective_busbw" && *value > 0 {
                        name.clone()
                    } else {
                        format!("{name} {value}")
                    }
                })
                .collect(),
            What::Other(other) => vec![other.clone()],
        };
    (what, event.attributes.iter().filter(|(name, value)| !value.is_empty() && name.as_str() != QUEUED).collect())
}

/// From the launch of each operation to its begin, where it is known.
fn queued(lane: &Location) -> Vec<Option<i64>> {
    let entered = lane.events.iter().filter(|event| matches!(event.what, What::Enter(_)));
    entered.map(|event| event.attributes.get(QUEUED).and_then(|value| value.parse().ok())).collect()
}

/// Lengths of a lane's regions, microseconds.
fn lengths(lane: &Location, ticks_per_second: f64) -> Vec<f64> {
    let mut begun = 0;
    let mut lengths = Vec::new();
    for event in &lane.events {
        match event.what {
            What::Enter(_) => begun = event.time,
            What::Leave(_) => lengths.push((event.time - begun) as f64 / ticks_per_second * 1e6),
            _ => {}
        }
    }
    lengths
}

#[test]
fn a_replay_has_the_lanes_of_the_real_trace() {
    if is_there(Model::Mpi) {
        super::undisturbed(compare);
    }
}

fn compare() -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let recordings = directory.path().join("recordings");
    let settings = [("NCCL_SCOREP_RECORD", recordings.to_str().unwrap()), ("NCCL_SCOREP_WINDOW_SECONDS", "0.5")];
    let job = experiment::run(Model::Mpi, &captures("nodes2x2_train"), &[], &settings);
    assert!(job.status.success(), "{}", job.said);
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(&recordings).args(["--window", "0.5", "--otf2"]).arg(&archive));

    let real = definitions(&job.path());
    assert!(real.len() > 15, "{real:?}");
    assert_eq!(definitions(&archive), real);
    let (real, replayed) = (Trace::read(&job.path()), Trace::read(&archive));
    assert_eq!(replayed.disorder(), Vec::<String>::new());
    let (of_replay, of_job) = (lanes(&replayed), lanes(&real));
    assert_eq!(of_replay.keys().collect::<Vec<_>>(), of_job.keys().collect::<Vec<_>>());
    let mut compared = 0;
    for (name, other) in of_job.into_iter().filter(|(name, _)| name.contains(" rank ")) {
        let one = of_replay[&name];
        // the replay's archive has the records of communication that `trace` adds to the real one
        let is_added = |event: &&Event| matches!(&event.what, What::Other(kind) if kind.starts_with("MPI_"));
        assert_eq!(
            one.events.iter().filter(|event| !is_added(event)).map(told).collect::<Vec<_>>(),
            other.events.iter().map(told).collect::<Vec<_>>(),
            "{name}"
        );
        // a callback is recorded before the library looks at its own clock: a thread that loses the processor in between
        // launches later for the library than in the recording
        let pairs = queued(one).into_iter().zip(queued(other));
        let mut longer: Vec<i64> = pairs.filter_map(|(one, other)| Some(one? - other?)).collect();
        longer.sort_unstable();
        let [least, middle] = [0, longer.len() / 2].map(|place| longer[place]);
        if least < -PLACED || middle > PLACED {
            return Err(format!(
                "{name}: queued longer in the replay by {least} ns at least, {middle} ns in the middle"
            ));
        }
        let (one, other) = (lengths(one, replayed.ticks_per_second), lengths(other, real.ticks_per_second));
        // both measure what a tick is worth, and place operations on clocks that they know to some microseconds
        let off = one.iter().zip(&other).map(|(one, other)| (one - other).abs() - 20e-6 * other).fold(0.0, f64::max);
        assert!(off < 2.0, "{name}: {off} us");
        compared += one.len();
    }
    assert_eq!(compared, 4 * 240);
    Ok(())
}
