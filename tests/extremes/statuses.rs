//! State files of many communicators, each of which says that it has a million ranks: who has no state is not listed
//! one by one.

use crate::support::{bounded::ended, tool};
use common::origin::Origin;
use common::ranks;
use common::status::{ENDING, MOST_COMMUNICATORS, OpenCall, SCHEMA, Status, StatusCommunicator, StatusOperation};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Longest processor time of a command.
const PATIENCE: Duration = Duration::from_secs(10);
/// Nanoseconds since a rank has entered what does not end.
const WAITED: u64 = 60_000_000_000;

/// The state of a process whose communicators are its own. The rank of every second one waits in an operation, and that
/// of the others in a call.
fn status(process: u32, beat: u64) -> Status {
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap();
    let since = now - WAITED;
    let operation = StatusOperation {
        number: Some(0),
        func: "AllReduce".into(),
        entered: since,
        begun: Some(since),
        ..StatusOperation::default()
    };
    let communicator = |place: usize| StatusCommunicator {
        comm: format!("{process:08x}{place:08x}"),
        rank: Some(7),
        nranks: u64::from(ranks::MOST.unsigned_abs()),
        counts_all: true,
        sees_gpu: true,
        entered: u64::from(place.is_multiple_of(2)),
        operations: if place.is_multiple_of(2) { vec![operation.clone()] } else { vec![] },
        calls: if place.is_multiple_of(2) { vec![] } else { vec![OpenCall { func: "ncclCommInitRank".into(), since }] },
        ..StatusCommunicator::default()
    };
    Status {
        schema: SCHEMA.into(),
        pid: 100_000 + process,
        origin: Origin { host: Some("elsewhere".into()), rank: Some(process), ..Origin::default() },
        written: now,
        beat,
        communicators: (0..MOST_COMMUNICATORS).map(communicator).collect(),
        ..Status::default()
    }
}

/// Writes the states of processes that run, and write again and again.
fn write(directory: &Path, processes: u32, beat: u64) {
    for process in 0..processes {
        let file = directory.join(format!("{process}{ENDING}"));
        let new = file.with_extension("new");
        fs::write(&new, serde_json::to_vec(&status(process, beat)).unwrap()).unwrap();
        fs::rename(new, file).unwrap();
    }
}

#[test]
#[ignore = "extreme numbers"]
fn communicators_of_a_million_ranks_take_no_more_than_others() {
    for processes in [1, 200] {
        let directory = tempfile::tempdir().unwrap();
        let (place, output) = (directory.path().join("in"), directory.path().join("out"));
        [&place, &output].into_iter().for_each(|directory| fs::create_dir(directory).unwrap());
        write(&place, processes, 1);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for beat in 2.. {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    write(&place, processes, beat);
                }
            });
            let commands: [&[&str]; 4] =
                [&["hang"], &["hang", "--verbose"], &["hang", "--json"], &["ask", "--summary", "--wait", "1"]];
            for arguments in commands {
                let mut command = tool::tool();
                command.args(arguments).arg(&place);
                let ended = ended(&command, &output, PATIENCE);
                assert!(ended.fault().is_none() && ended.code == Some(1), "{arguments:?}: {:?}", ended.fault());
                let is_told = arguments[0] == "ask" || ended.printed.contains("1048575");
                assert!(is_told, "{processes} {arguments:?}: {:.2000}", ended.printed);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
