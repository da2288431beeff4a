//! Memory of the tool for long recordings, whose rows are right to the last.

use crate::support::{repeated, tool};
use crate::table::{rows, table};
use report::job::TimedBy;
use report::table::Tables;
use std::process::Command;
use tempfile::TempDir;

/// Peak of the tool's memory and of its children's, KiB. Linux counts to a process what its parent had when it was
/// started, and this test has much: so the parent is a small process.
fn peak(command: &Command) -> i64 {
    const MEASURE: &str = "import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)";
    let mut measure = Command::new("python3");
    measure.args(["-c", MEASURE]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measure.env(name, value),
            None => measure.env_remove(name),
        };
    }
    tool::succeed(&mut measure).trim().parse().unwrap()
}

/// Both are longer than what any part keeps in memory: 2^18 lines of a recording, a row group of 32,768 rows.
#[test]
fn memory_does_not_grow_with_the_length() {
    if Command::new("python3").arg("--version").output().is_err() {
        return tool::skip("no python3, which measures");
    }
    let (directory, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let capture = directory.path().join("long.jsonl.gz");
    let peaks = [75_000, 150_000].map(|operations| {
        repeated::write(&capture, operations);
        peak(&table(&[&capture], to.path()))
    });
    // 58 MiB of both, and 64 of 300,000. Maps of handles would take 24 MiB more
    assert!(peaks[1] - peaks[0] < 12 << 10, "{peaks:?} KiB");
    let rows = rows(&Tables::open(&[to.path().into()])).remove(0);
    assert_eq!(rows.len(), 150_000);
    for (row, number) in rows.iter().zip(0..) {
        let begin = repeated::MONO0 + (number + 1) * repeated::STEP;
        assert_eq!((row.sequence, row.order, row.kernel), (Some(number), 2 * number + 1, 2 * number + 1));
        assert_eq!((row.enqueued, row.duration, row.source), (begin + 1000, repeated::length(number), TimedBy::Stamps));
        assert_eq!((row.bytes, row.count, row.replay, row.group), (4096, Some(1024), 0, Some(number * 6 + 1)));
        // the true begin lies within the bounds: at most 2 us earlier than the most likely one, as stamps are told late
        let time = row.time.unwrap();
        let [earliest, latest] = [time.start - time.clock[0], time.start + time.clock[1]];
        assert!((earliest..=latest).contains(&(begin + 50_000)), "{row:?}");
    }
}
