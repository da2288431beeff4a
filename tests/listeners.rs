//! A recording and a second plugin never change the library's own figures, even if an event or a communicator outlives
//! many others. They get its callbacks to its end (tests/c/nccl/listeners.h).

use crate::support::{host, lines};

use host::{Run, play};
use serde_json::Value;
use tempfile::TempDir;

/// Version of the interface of NCCL 2.31.
const VERSION: u32 = 6;

/// Results of a scenario: the run with its summary, and a directory with the recording and the second plugin's report.
struct Heard {
    run: Run,
    directory: TempDir,
}

/// Plays a scenario with a recording, a second plugin or both.
fn heard(scenario: &str, number: u32, recorded: bool, chained: bool) -> Heard {
    let directory = tempfile::tempdir().unwrap();
    let (recordings, report) = (directory.path().join("recordings"), directory.path().join("report.json"));
    let record = [("NCCL_SCOREP_RECORD", recordings.to_str().unwrap()), ("NCCL_SCOREP_RECORD_MB", "16")];
    let chain = [("NCCL_SCOREP_CHAIN", env!("SECOND_PLUGIN_V6")), ("SECOND_PLUGIN_REPORT", report.to_str().unwrap())];
    // a recording of this many events is full, and would print a line
    let log = [("NCCL_SCOREP_LOG", if recorded && number == MANY { "off" } else { "warn" })];
    let settings: Vec<_> =
        log.iter().chain(record.iter().filter(|_| recorded)).chain(chain.iter().filter(|_| chained)).copied().collect();
    let run = play(scenario, VERSION, &settings, number);
    run.check();
    Heard { run, directory }
}

impl Heard {
    /// Returns the second plugin's counts; it must have found no error.
    fn report(&self) -> Value {
        let report: Value =
            serde_json::from_slice(&std::fs::read(self.directory.path().join("report.json")).unwrap()).unwrap();
        assert_eq!(report["wrong"], 0, "{}: {report}", self.run.what);
        report
    }

    /// Returns the meta line and the other lines of the recording.
    fn recording(&self) -> (Value, Vec<Value>) {
        let mut files = self.directory.path().join("recordings").read_dir().unwrap();
        lines::all(&files.next().unwrap().unwrap().path())
    }
}

/// The line comes once, at the default level, whether the collector prints it during the job or at the process' end.
#[test]
fn a_recording_that_is_full_is_said_once_in_the_job() {
    let directory = tempfile::tempdir().unwrap();
    let settings = [("NCCL_SCOREP_RECORD", directory.path().to_str().unwrap()), ("NCCL_SCOREP_RECORD_MB", "1")];
    for (number, full) in [(100, 0), (20_000, 1)] {
        let run = play("send_among_many", VERSION, &settings, number);
        let lines = run.lines();
        let said = lines
            .iter()
            .filter(|line| line.contains("the recording is full") && line.contains("NCCL_SCOREP_RECORD_MB"));
        assert_eq!((said.count(), lines.len()), (full, full), "{lines:?}");
    }
}

/// More events than the second plugin has places for handles.
const MANY: u32 = 1_060_000;

#[test]
fn a_send_is_followed_to_its_end_however_many_events_pass() {
    // the recording is checked in its file, for which fewer events suffice; the figures are checked with many
    heard("send_among_many", MANY, true, false);
    let (meta, lines) = heard("send_among_many", 20_000, true, false).recording();
    assert_eq!(meta["dropped"], 0);
    let step = lines.iter().find(|line| line["type"] == "ProxyStep").unwrap();
    let of_step: Vec<&str> =
        lines.iter().filter(|line| line["h"] == step["h"]).map(|line| line["cb"].as_str().unwrap()).collect();
    assert_eq!(of_step, ["start", "state", "stop"]);

    let report = heard("send_among_many", MANY, false, true).report();
    let started: u64 = report["start"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((report["state"].as_u64(), report["stop"].as_u64()), (Some(1), Some(started)));
}

#[test]
fn events_that_never_end_take_nothing_from_those_before() {
    heard("send_among_endless", MANY, true, false);
    let heard = heard("send_among_endless", MANY, false, true);
    // the operation, its proxy operation and its step end
    assert_eq!((heard.report()["state"].as_u64(), heard.report()["stop"].as_u64()), (Some(1), Some(3)));
    let lines = heard.run.lines();
    assert!(lines.len() == 1 && lines[0].contains("had no room"), "{lines:?}");
}

#[test]
fn a_step_that_is_started_again_and_again_takes_no_room() {
    let heard = heard("steps_again", MANY, false, true);
    let report = heard.report();
    let started = &report["start"];
    // the operation, its kernel channel, its proxy operation and its step
    assert_eq!((started[1].as_u64(), started[6].as_u64(), report["stop"].as_u64()), (Some(1), Some(1), Some(4)));
}

#[test]
fn a_communicator_is_followed_to_its_end_however_many_others_pass() {
    for (recorded, chained) in [(true, false), (false, true)] {
        let heard = heard("communicator_among_many", 65_600, recorded, chained);
        if chained {
            let report = heard.report();
            assert_eq!((report["init"].as_u64(), report["finalize"].as_u64()), (Some(65_601), Some(65_601)));
            // 11 operations, 10 of them with a kernel channel, a proxy operation and a step
            assert_eq!(report["stop"].as_u64(), Some(41));
        } else {
            let (meta, lines) = heard.recording();
            assert_eq!(
                (meta["dropped"].as_u64(), lines.iter().filter(|line| line["type"] == "Coll").count()),
                (Some(0), 11)
            );
        }
    }
}

#[test]
fn callbacks_at_the_processs_end_are_recorded() {
    let heard = heard("callbacks_at_exit", 0, true, true);
    let (meta, lines) = heard.recording();
    let operations = lines.iter().filter(|line| line["type"] == "Coll").count();
    assert_eq!((meta["dropped"].as_u64(), operations), (Some(0), 4));
    assert!(lines::ends(&lines) && lines[lines.len() - 2]["cb"] == "finalize", "{lines:?}");
    assert_eq!(heard.report()["finalize"].as_u64(), Some(1));
}
