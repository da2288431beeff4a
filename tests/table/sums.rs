//! Sums of the rows of a run's tables, which are those that the summary of its replay counts.

use crate::support::{synthetic, tool};
use crate::table::{rows, table};
use report::job::{RankOperation, TimedBy};
use report::table::Tables;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;

/// Whether count and type, which are the line's, make the bytes, which are the library's.
fn is_of_its_line(row: &RankOperation) -> bool {
    let size = match row.datatype.text().as_str() {
        "ncclInt8" | "ncclUint8" | "ncclFloat8e4m3" | "ncclFloat8e5m2" => 1,
        "ncclFloat16" | "ncclBfloat16" => 2,
        "ncclInt32" | "ncclUint32" | "ncclFloat32" => 4,
        "ncclInt64" | "ncclUint64" | "ncclFloat64" => 8,
        // no type has this name
        _ => return row.bytes == 0,
    };
    row.count.is_some_and(|count| count * size == row.bytes)
}

/// Communicator, rank, kind, function and peer.
type Key = (String, i64, String, String, Option<i64>);

/// Sums of operations: number, bytes, number and nanoseconds of those that the GPU has timed, of those that events have
/// timed the number, nanoseconds by proxies and by the enqueue.
type Sums = [u64; 7];

/// Nanoseconds by which the time of an operation may differ between its row and the summary.
const OFF: u64 = 20_000;

fn sums(operations: &[RankOperation]) -> BTreeMap<Key, Sums> {
    let mut sums: BTreeMap<Key, Sums> = BTreeMap::new();
    for it in operations {
        let kind = if it.is_message() { "P2p" } else { "Coll" };
        let key =
            (format!("{:016x}", it.comm), it.rank.into(), kind.into(), it.function.text(), it.peer.map(i64::from));
        let of_source = |source| u64::from(it.source == source);
        let by_gpu = u64::from(it.source.is_gpu());
        let more = [
            1,
            it.bytes,
            by_gpu,
            by_gpu * it.duration,
            of_source(TimedBy::Events),
            of_source(TimedBy::Proxy) * it.duration,
            of_source(TimedBy::Enqueue) * it.duration,
        ];
        for (sum, more) in sums.entry(key).or_default().iter_mut().zip(more) {
            *sum += more;
        }
    }
    sums
}

fn sums_of_summary(summary: &Value) -> BTreeMap<Key, Sums> {
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().to_owned();
    let nanoseconds = |row: &Value, field: &str| (row[field].as_f64().unwrap() * 1e3).round() as u64;
    let number = |row: &Value, field: &str| row[field].as_u64().unwrap();
    let row = |row: &Value| {
        let peer = row["peer"].as_i64();
        let key = (text(row, "comm"), row["rank"].as_i64().unwrap(), text(row, "kind"), text(row, "func"), peer);
        let sums = [
            number(row, "count"),
            number(row, "bytes"),
            number(row, "gpu_timed"),
            nanoseconds(row, "time_us"),
            number(row, "event_timed"),
            nanoseconds(row, "proxy_time_us"),
            nanoseconds(row, "enqueue_time_us"),
        ];
        (key, sums)
    };
    summary["operations"].as_array().unwrap().iter().map(row).collect()
}

/// Compares sums: of rows, and of the summary. Begins by events are worked out anew for rows, so that an operation's time
/// may differ.
fn check_sums(found: &BTreeMap<Key, Sums>, counted: &BTreeMap<Key, Sums>, run: &str) {
    assert!(found.keys().eq(counted.keys()), "{run}");
    for (key, counted) in counted {
        let found = found[key];
        let others = |sums: Sums| [0, 1, 2, 4, 5, 6].map(|place: usize| sums[place]);
        let is_near = found[3].abs_diff(counted[3]) <= OFF * counted[0];
        assert!(others(found) == others(*counted) && is_near, "{run} {key:?}: {found:?} {counted:?}");
    }
}

#[test]
fn the_rows_of_all_recorded_runs_are_those_that_the_summary_counts() {
    for (run, path) in tool::runs() {
        let to = TempDir::new().unwrap();
        tool::succeed(&mut table(&[&path], to.path()));
        let summary = tool::summary(tool::tool().arg("replay").arg(&path).args(["--format", "json"]));
        let opened = Tables::open(&[to.path().into()]);
        let rows = rows(&opened);
        check_sums(&sums(&rows.concat()), &sums_of_summary(&summary), &run);
        for (process, rows) in rows.iter().enumerate() {
            assert!(rows.is_sorted_by_key(|it| it.enqueued), "{run}");
            let places: BTreeSet<_> = rows.iter().map(|it| (it.comm, it.rank, it.order)).collect();
            assert_eq!(places.len(), rows.len(), "{run}");
            let [begin, end] = opened.job.processes[process].span;
            for row in rows {
                // each row has found its line in the recording
                assert!(is_of_its_line(row) && row.group.is_some(), "{run}: {row:?}");
                assert!((begin..=end).contains(&row.enqueued) && row.kernel <= row.order, "{run}: {row:?}");
                assert!(row.time.is_none_or(|time| time.stop - time.start == row.duration), "{run}: {row:?}");
                assert!(opened.job.gpu(row.comm, row.rank).is_some(), "{run}: {row:?}");
            }
            let own = opened.tables.summary(process).unwrap().unwrap();
            assert_eq!(own.operations.iter().map(|it| it.count).sum::<u64>(), rows.len() as u64, "{run}");
        }
        // nothing is left over beside the tables
        let names = to.path().read_dir().unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        assert!(names.into_iter().all(|name| name.starts_with("process=")), "{run}");
    }
}

/// Captures of all interfaces, threads and habits, made from seeds: each operation finds its line.
#[test]
fn the_rows_of_synthetic_runs_are_those_that_the_summary_counts() {
    for seed in 0..12 {
        let directory = TempDir::new().unwrap();
        let [captures, to] = ["captures", "tables"].map(|name| directory.path().join(name));
        synthetic::Run::new(seed, seed % 4 == 3).write(&captures);
        tool::succeed(&mut table(&[&captures], &to));
        let summary = tool::summary(tool::tool().arg("replay").arg(&captures).args(["--format", "json"]));
        let rows = rows(&Tables::open(&[to])).concat();
        rows.iter().for_each(|row| assert!(is_of_its_line(row), "seed {seed}: {row:?}"));
        check_sums(&sums(&rows), &sums_of_summary(&summary), &format!("seed {seed}"));
    }
}
