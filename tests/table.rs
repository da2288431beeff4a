//! `scorep-nccl table`: the operations' tables of recordings against the summary and the lanes of their replay.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/edited/mod.rs"]
mod edited;
#[path = "score_p/installation.rs"]
#[allow(dead_code, reason = "Score-P is not needed here")]
mod installation;
#[path = "support/repeated/mod.rs"]
mod repeated;
#[path = "support/synthetic/mod.rs"]
mod synthetic;
#[path = "support/tool/mod.rs"]
mod tool;
#[path = "score_p/trace.rs"]
#[allow(dead_code, reason = "threads are looked at elsewhere")]
mod trace;

use report::job::{OperationTables, RankOperation, TimedBy};
use report::table::{OpenedTables, Tables};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Returns a command that makes tables.
fn table(recordings: &[&Path], to: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("table").args(recordings).arg("--to").arg(to);
    command
}

/// Makes the tables of a run. Returns the rows of each process.
fn made(run: &str, environment: &[(&str, &str)]) -> Vec<Vec<RankOperation>> {
    let to = TempDir::new().unwrap();
    tool::succeed(table(&[&tool::run(run)], to.path()).envs(environment.iter().copied()));
    rows(&Tables::open(&[to.path().into()]))
}

fn rows(opened: &OpenedTables) -> Vec<Vec<RankOperation>> {
    assert_eq!(opened.left_out, []);
    let of_process = |process| opened.tables.operations(process).unwrap().map(Result::unwrap).collect();
    (0..opened.job.processes.len()).map(of_process).collect()
}

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

/// Nanoseconds by which the time of an operation may differ between its row and the summary.
const OFF: u64 = 20_000;

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

/// nodes2x2_train, rank 0: 192 all-reduces, and 24 sends and 24 receives of a group and a kernel each, none in a graph.
#[test]
fn an_operation_has_what_it_was_called_with() {
    let rows = made("nodes2x2_train", &[]).remove(0);
    let first = rows[0];
    let names = [first.function, first.datatype, first.algorithm, first.protocol].map(common::name::NcclName::text);
    assert_eq!(names, ["AllReduce", "ncclBfloat16", "RING", "SIMPLE"]);
    assert_eq!((first.comm, first.rank, first.order, first.sequence), (0x6a35_4bfa_7336_b7a5, 0, 1, Some(0)));
    assert_eq!((first.count, first.bytes, first.channels, first.root), (Some(4_194_304), 8_388_608, 24, None));
    // CollApi on line 8 of the recording: group 1, the first stream
    assert_eq!((first.enqueued, first.group, first.stream), (142_036_882_506 + 364_211_929, Some(1), 1));
    assert_eq!((first.kernel, first.alone, first.replay, first.unfinished), (1, true, 0, false));
    let groups: BTreeSet<_> = rows.iter().map(|it| it.group).collect();
    assert_eq!((rows.len(), groups.len()), (240, 240));
    assert_eq!(rows.iter().filter(|it| it.is_message()).map(|it| it.sequence).collect::<BTreeSet<_>>(), [None].into());
}

/// An all-to-all of two ranks: two sends and two receives of one group. The recordings of 2.28 name the group, and sends
/// and receives to oneself are among them.
#[test]
fn messages_of_one_group_have_one_number() {
    let rows = made("truth_moe", &[]).remove(0);
    let mut groups: BTreeMap<_, Vec<&RankOperation>> = BTreeMap::new();
    for row in rows.iter().filter(|it| it.is_message()) {
        groups.entry(row.group.unwrap()).or_default().push(row);
    }
    assert_eq!(groups.len(), 40);
    for messages in groups.values() {
        let peers: Vec<_> = messages.iter().map(|it| (it.function.text(), it.peer)).collect();
        let of = |function: &str| peers.iter().filter(|it| it.0 == function).map(|it| it.1).collect::<BTreeSet<_>>();
        assert_eq!([of("Send"), of("Recv")], [[Some(0), Some(1)].into(), [Some(0), Some(1)].into()]);
        assert!(messages.iter().all(|it| it.kernel == messages[0].kernel && !it.alone));
    }
}

/// Replays of a graph are enqueued when they run, in groups of their own, on a stream that nobody names.
#[test]
fn replays_of_a_graph_are_not_their_capture() {
    let rows = made("nvlink2_graph", &[]).remove(0);
    let of_graph: Vec<&RankOperation> = rows.iter().filter(|it| it.stream == 0).collect();
    assert_eq!((rows.len(), of_graph.len()), (23, 20));
    assert_eq!(of_graph.iter().map(|it| it.enqueued).collect::<BTreeSet<_>>().len(), 20);
    assert_eq!(rows.iter().map(|it| it.group).collect::<BTreeSet<_>>().len(), 23);
}

/// The library leaves small operations out, except for those to oneself. The others have their places in the order of starts, and their facts.
#[test]
fn an_operation_is_found_among_those_that_are_left_out() {
    let all = made("nodes2x2_collectives", &[]);
    let large = made("nodes2x2_collectives", &[("NCCL_SCOREP_MIN_BYTES", "65536")]);
    for (all, large) in all.iter().zip(&large) {
        let called = |it: &RankOperation| {
            (it.comm, it.rank, it.order, it.function, it.count, it.datatype, it.root, it.group, it.enqueued, it.replay)
        };
        let expected: Vec<_> =
            all.iter().filter(|it| it.bytes >= 65_536 || it.peer == Some(it.rank)).map(called).collect();
        assert!(!expected.is_empty() && expected.len() < all.len());
        let found: Vec<_> = large.iter().map(called).collect();
        assert!(found == expected, "{} operations, {} expected", found.len(), expected.len());
    }
}

/// Lanes begin where operations begin, or up to 20 us later where an operation reaches into the next one.
#[test]
fn times_are_those_of_the_lanes() {
    if Command::new("otf2-print").arg("--version").output().is_err() {
        return tool::skip("otf2-print is not installed (Debian: otf2-tools)");
    }
    let run = tool::run("nodes2x2_train");
    let directory = TempDir::new().unwrap();
    let archive = directory.path().join("archive");
    tool::succeed(tool::tool().arg("replay").arg(&run).args(["--format", "json", "--otf2"]).arg(&archive));
    let mut lanes: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for location in &trace::Trace::read(&archive).locations {
        let Some((owner, rest)) = location.name.split_once(" rank ") else { continue };
        let rank = rest.split(' ').next().unwrap();
        let enters = location.events.iter().filter(|event| matches!(event.what, trace::What::Enter(_)));
        let begins = enters.map(|event| event.time);
        lanes.entry(format!("{owner} rank {rank}")).or_default().extend(begins);
    }
    let mut tables: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for row in made("nodes2x2_train", &[]).concat() {
        tables.entry(format!("NCCL {:016x} rank {}", row.comm, row.rank)).or_default().push(row.time.unwrap().start);
    }
    assert_eq!(lanes.keys().collect::<Vec<_>>(), tables.keys().collect::<Vec<_>>());
    for (owner, begins) in &mut lanes {
        let starts = tables.get_mut(owner).unwrap();
        begins.sort_unstable();
        starts.sort_unstable();
        assert_eq!(begins.len(), starts.len(), "{owner}");
        for (begin, start) in begins.iter().zip(starts) {
            assert!((*start..=*start + 20_000).contains(begin), "{owner}: {start} {begin}");
        }
    }
}

#[test]
fn a_bad_recording_is_named_and_left_out() {
    let (directory, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let captures = tool::captures(&tool::run("nodes2x2_graph"));
    let copy = |capture: &PathBuf| directory.path().join(capture.file_name().unwrap());
    for capture in &captures {
        fs::copy(capture, copy(capture)).unwrap();
    }
    let cut = copy(&captures[2]);
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = table(&[directory.path()], to.path()).output().unwrap();
    let [printed, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(printed, format!("3 tables in {}\n", to.path().display()));
    assert!(said.contains(&format!("{}:", cut.display())) && said.contains("the gzip data ends too early"), "{said}");
    assert!(said.contains("1 of 4 recordings have no table, as said above"), "{said}");
    assert_eq!(rows(&Tables::open(&[to.path().into()])).len(), 3);

    // of one that is cut off alone there is no table at all
    let output = table(&[&cut], &to.path().join("none")).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}

/// As ranks of a job do, each with its own recording.
#[test]
fn several_programs_fill_one_dataset() {
    let to = TempDir::new().unwrap();
    let dataset = to.path().join("new/tables");
    let captures = tool::captures(&tool::run("nvlink4_ring"));
    let mut programs: Vec<_> = captures
        .iter()
        .map(|capture| table(&[capture], &dataset).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    assert!(programs.iter_mut().all(|program| program.wait().unwrap().success()));
    let together = rows(&Tables::open(std::slice::from_ref(&dataset)));
    assert_eq!(together.len(), 4);
    // again: each table is replaced by the same one
    tool::succeed(table(&[&tool::run("nvlink4_ring")], &dataset).args(["--jobs", "1"]));
    assert_eq!(rows(&Tables::open(&[dataset])), together);
}

#[test]
fn recordings_of_one_process_are_refused() {
    let (directory, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let capture = tool::captures(&tool::run("nvlink4_ring")).remove(0);
    let copy = directory.path().join("copy.jsonl.gz");
    fs::copy(&capture, &copy).unwrap();
    let output = table(&[&capture, &copy], to.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("are recordings of one process"), "{said}");
    assert_eq!(to.path().read_dir().unwrap().count(), 0);
}

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

/// Ids that differ in letters which no directory's name has.
#[test]
fn each_process_has_a_table_of_its_own_whatever_its_id_is() {
    let to = TempDir::new().unwrap();
    let captures = tool::captures(&tool::run("nvlink2_graph"));
    let named = |capture: &Path, id: &str| {
        edited::Edited::of(capture, |line| {
            if line["cb"] == "meta" {
                line["process"] = serde_json::json!({"id": id});
            }
        })
    };
    let recordings = [named(&captures[0], "a/b"), named(&captures[1], "a_b")].map(|it| (it.path(), it));
    let paths: Vec<&Path> = recordings.iter().map(|(path, _)| path.as_path()).collect();
    assert_eq!(tool::succeed(&mut table(&paths, to.path())).split(' ').next(), Some("2"));
    let mut names: Vec<_> = to.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["process=a%2Fb", "process=a_b"]);
    let ids: BTreeSet<String> =
        Tables::open(&[to.path().into()]).job.processes.into_iter().map(|process| process.id).collect();
    assert_eq!(ids, BTreeSet::from(["a/b".into(), "a_b".into()]));
}

/// Directories are their owner's also where the umask leaves everything to others, and around them is all open.
#[test]
fn directories_are_not_for_others_to_write_to() {
    let around = TempDir::new().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(around.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let to = around.path().join("new/tables");
    let command = table(&[&tool::run("nvlink2_graph")], &to);
    let mut open = tool::within("sh", &["-c", "umask 0; exec \"$@\"", "sh"].map(OsStr::new), &command);
    tool::succeed(&mut open);
    let process = to.read_dir().unwrap().next().unwrap().unwrap().path();
    assert_eq!([to.parent().unwrap(), &to, &process].map(mode), [0o755; 3]);
}
