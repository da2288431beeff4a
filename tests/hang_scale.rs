//! `scorep-nccl hang` of a job of 1,024 processes on 128 hosts: status files of processes that run and write, one of
//! which has not come.

use crate::support::tool;

use common::origin::Origin;
use common::status::{ENDING, SCHEMA, Status, StatusCommunicator, StatusOperation};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const RANKS: u32 = 1024;
/// The rank that has not come.
const LATE: u32 = 777;
/// Collectives that all have finished.
const FINISHED: u64 = 500;
/// Nanoseconds since the others have begun the next one.
const WAITED: u64 = 30_000_000_000;

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

/// The state of a rank's process; `entered` is when the others entered the collective that the late one lacks.
fn status(rank: u32, entered: u64) -> Status {
    let count = FINISHED + u64::from(rank != LATE);
    let operation = |number: u64| StatusOperation {
        number: Some(number),
        func: "AllReduce".into(),
        bytes: 4 << 20,
        entered: entered - (FINISHED - number) * 1_000_000,
        begun: Some(entered - (FINISHED - number) * 1_000_000 + 1000),
        finished: (number < FINISHED).then(|| entered - (FINISHED - number) * 1_000_000 + 500_000),
        ..StatusOperation::default()
    };
    let communicator = StatusCommunicator {
        comm: format!("{:016x}", 0xab),
        rank: Some(rank.cast_signed()),
        nranks: RANKS.into(),
        opened: entered - 1_000_000_000,
        counts_all: true,
        sees_gpu: true,
        entered: count,
        begun: count,
        finished: FINISHED,
        operations: (count - 64..count).map(operation).collect(),
        ..StatusCommunicator::default()
    };
    let (host, boot) = (format!("n{:03}", rank / 8), format!("boot of {}", rank / 8));
    let origin = Origin {
        id: Some(format!("{rank:016x}")),
        host: Some(host),
        boot: Some(boot),
        rank: Some(rank),
        ranks: Some(RANKS),
        ..Origin::default()
    };
    Status {
        schema: SCHEMA.into(),
        pid: 100_000 + rank,
        origin,
        written: 0,
        beat: 1,
        communicators: vec![communicator],
        ..Status::default()
    }
}

/// Names of the status files, each with its text, of the first beat and written at no time.
fn statuses(entered: u64) -> Vec<(String, String)> {
    let made = (0..RANKS).map(|rank| {
        let status = status(rank, entered);
        (format!("scorep-nccl.n{:03}.{}{ENDING}", rank / 8, status.pid), serde_json::to_string(&status).unwrap())
    });
    made.collect()
}

/// Processes whose states one thread writes. With one thread for all of them, the beats would stand still on a busy
/// machine, since 1,024 processes have 1,024 times the share of a processor that this thread has.
const OF_A_WRITER: usize = 16;

/// Writes the states of these processes, as they do themselves.
fn write(to: &Path, statuses: &[(String, String)], beat: u64) {
    let (of_beat, of_time) = (format!("\"beat\":{beat},"), format!("\"written\":{},", now()));
    for (name, text) in statuses {
        let file = to.join(name);
        let new = file.with_extension("new");
        fs::write(&new, text.replacen("\"beat\":1,", &of_beat, 1).replacen("\"written\":0,", &of_time, 1)).unwrap();
        fs::rename(new, file).unwrap();
    }
}

#[test]
fn the_rank_that_has_not_come_is_named_among_a_thousand() {
    // in memory where it can be: a busy disk would hold up what 128 hosts write, too
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let entered = now() - WAITED;
    let statuses = statuses(entered);
    write(directory.path(), &statuses, 1);
    let is_over = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        for statuses in statuses.chunks(OF_A_WRITER) {
            let (directory, is_over) = (directory.path(), &is_over);
            scope.spawn(move || {
                for beat in 2.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    write(directory, statuses, beat);
                    std::thread::sleep(Duration::from_millis(500));
                }
            });
        }
        let output = tool::tool().arg("hang").arg(directory.path()).arg("--json").output().unwrap();
        is_over.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    assert_eq!((findings.len(), &findings[0]["cause"]), (1, &json!("not_entered")), "{answer:#}");
    let wait = &findings[0]["wait"];
    assert_eq!((&wait["number"], &wait["lacking"][0]["rank"]), (&json!(FINISHED), &json!(LATE)));
    assert_eq!(wait["waiters"].as_array().unwrap().len(), RANKS as usize - 1);
    assert_eq!(answer["processes"]["running"], RANKS);
}
