//! More operations than Score-P's memory has room for: it writes its trace to the file meanwhile, and again while the
//! lanes are written.

use std::path::Path;
use std::time::Duration;

use super::experiment::{SETTINGS, links};
use crate::support::installation::{Model, command, compiled, is_there, say};
use crate::support::tool;

const PATIENCE: Duration = Duration::from_secs(120);

/// The number of events of each lane that has some.
fn events_of_lanes(experiment: &Path) -> Vec<u64> {
    let definitions = say(command("otf2-print").arg("-G").arg(experiment.join("traces.otf2")));
    let lanes = definitions.lines().filter(|line| line.starts_with("LOCATION ") && line.contains("\"NCCL "));
    let events = |line: &str| line.split("# Events: ").nth(1)?.split(',').next()?.parse().ok();
    lanes.filter_map(events).filter(|&events| events > 0).collect()
}

#[test]
fn more_operations_than_memory() {
    if !is_there(Model::Threads) {
        return;
    }
    let program = compiled("many_app", "tests/c/programs/many_app.c", &["--mpp=none", "--thread=none"], &["gcc"]);
    for (operations, communicators, profiling) in [(150_000, 2, "true"), (250_000, 1, "true"), (60_000, 8, "false")] {
        let directory = tempfile::tempdir().unwrap();
        let experiment = directory.path().join("experiment");
        let said = directory.path().join("said");
        let mut run = command(program.to_str().unwrap());
        run.arg(links(directory.path()).join("libnccl-profiler-scorep.so"))
            .args([operations, communicators].map(|number| number.to_string()));
        run.env("LD_LIBRARY_PATH", directory.path()).envs(SETTINGS).env("SCOREP_EXPERIMENT_DIRECTORY", &experiment);
        run.env("SCOREP_TOTAL_MEMORY", "32M").env("SCOREP_ENABLE_PROFILING", profiling);
        run.stdout(std::process::Stdio::null()).stderr(std::fs::File::create(&said).unwrap());
        let what = format!("{communicators} x {operations}, profiling {profiling}");
        let status = tool::ends(&mut run, PATIENCE, &what);
        let said = std::fs::read_to_string(said).unwrap();
        assert!(status.success(), "{what}: {status}\n{said}");
        assert!(said.contains("Trace buffer flush"), "{what}: not more than memory\n{said}");
        let expected =
            ["Trace buffer flush", "Increase SCOREP_TOTAL_MEMORY", "lanes are shown", "timer (tsc) frequencies differ"];
        let others: Vec<&str> = said.lines().filter(|line| !expected.iter().any(|part| line.contains(part))).collect();
        assert!(others.is_empty(), "{what}: {others:?}");
        // enter, leave, bytes, and the bus bandwidth as it begins and ends, and Score-P's own few of flushes; lanes are
        // whole or not there
        let events = events_of_lanes(&experiment);
        let whole = 5 * operations..5 * operations + 100;
        assert!(events.iter().all(|events| whole.contains(events)), "{what}: {events:?}");
        assert!(
            events.len() as u64 == communicators || said.contains("lanes are shown") && !events.is_empty(),
            "{what}: {events:?}"
        );
    }
}
