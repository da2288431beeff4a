//! Files as they are written, read back, and as damage leaves them.

use super::rows::footer;
use super::*;
use crate::job::{OperationTables, Process, RankOperation, Time, TimedBy, Unreadable};
use common::name::NcclName;
use parquet::column::page::PageReader;
use parquet::file::reader::SerializedPageReader;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

fn name(text: &std::ffi::CStr) -> NcclName {
    NcclName::of(Some(text))
}

/// Returns an all-reduce of which everything is known.
fn full(number: u64) -> RankOperation {
    RankOperation {
        comm: 0xfbf0_e413_ac16_8a96,
        rank: 3,
        function: name(c"AllReduce"),
        sequence: Some(number),
        replay: 2,
        order: number * 2 + 1,
        peer: None,
        root: Some(1),
        count: Some(4096),
        datatype: name(c"ncclBfloat16"),
        bytes: 8192,
        algorithm: name(c"RING"),
        protocol: name(c"LL128"),
        channels: 24,
        enqueued: 1_000_000 + number * 1000,
        launched: Some(1_000_400 + number * 1000),
        source: TimedBy::Stamps,
        duration: 700,
        time: Some(Time { start: 1_000_500 + number * 1000, stop: 1_001_200 + number * 1000, clock: [7, 9], ahead: 4 }),
        kernel: number * 2,
        alone: true,
        group: Some(number + 5),
        stream: 2,
        tag: u64::MAX - 3,
        unfinished: false,
    }
}

/// Returns a send of which nothing is known that may be unknown.
fn bare(number: u64) -> RankOperation {
    RankOperation {
        comm: 7,
        rank: 0,
        function: name(c"Send"),
        peer: Some(5),
        order: number,
        enqueued: number,
        unfinished: true,
        ..RankOperation::default()
    }
}

fn made(comm: u64, rank: i32, made: u64) -> MadeCommunicator {
    MadeCommunicator { comm: format!("{comm:016x}"), name: "world".into(), nranks: 4, nnodes: 2, rank, made }
}

fn about(id: &str, communicators: Vec<MadeCommunicator>) -> About {
    let process =
        Process { id: id.into(), file: format!("{id}.jsonl.gz"), host: Some("a".into()), ..Process::default() };
    About { process, communicators, summary: None, conditions: vec![] }
}

fn written(dataset: &Path, about: &About, operations: &[RankOperation]) -> PathBuf {
    let mut writer = TableWriter::create(dataset, &about.process.id).unwrap();
    operations.iter().for_each(|operation| writer.push(operation).unwrap());
    writer.finish(about).unwrap()
}

fn read(path: &Path) -> Result<Vec<RankOperation>, Unreadable> {
    FileRows::open(path)?.collect()
}

#[test]
fn what_is_written_is_read_back() {
    let dataset = TempDir::new().unwrap();
    // three row groups, and a part of a page at the end of each
    let rows: Vec<RankOperation> =
        (0..70_001).map(|number| if number % 3 == 0 { bare(number) } else { full(number) }).collect();
    let path = written(dataset.path(), &about("00ff", vec![made(7, 0, 5)]), &rows);
    assert_eq!(path, dataset.path().join("process=00ff/operations.parquet"));
    assert_eq!(footer(&path).unwrap().1.num_row_groups(), 3);
    let read = read(&path).unwrap();
    assert_eq!(read.len(), 70_001);
    assert!(read == rows);
    let entries: Vec<_> = path.parent().unwrap().read_dir().unwrap().collect();
    assert_eq!(entries.len(), 1, "the temporary file is gone");
}

#[test]
fn a_table_without_rows_has_a_process() {
    let dataset = TempDir::new().unwrap();
    let path = written(dataset.path(), &about("1", vec![]), &[]);
    assert_eq!(read(&path).unwrap(), []);
    let opened = Tables::open(&[dataset.path().into()]);
    assert_eq!((opened.job.processes.len(), opened.job.gpus.len(), opened.inputs[0].1), (1, 1, 1));
}

#[test]
fn values_beyond_a_column_are_the_largest() {
    let dataset = TempDir::new().unwrap();
    let row = RankOperation { bytes: u64::MAX, replay: u32::MAX, ..full(1) };
    let read = read(&written(dataset.path(), &about("1", vec![]), &[row])).unwrap();
    assert_eq!((read[0].bytes, read[0].replay), (i64::MAX as u64, i32::MAX as u32));
}

/// A reader of 1,024 files has 300 MB: 300 kB for the pages of a file, encoded.
#[test]
fn a_page_of_each_column_is_small() {
    let dataset = TempDir::new().unwrap();
    // numbers that no encoding makes small
    let mut random = fastrand::Rng::with_seed(1);
    let rows: Vec<RankOperation> = (0..10_000)
        .map(|number| {
            let mut long = || random.u64(..1 << 48);
            let time = Some(Time { start: long(), stop: long(), clock: [long(), long()], ahead: long() });
            RankOperation {
                count: Some(long()),
                bytes: long(),
                enqueued: long(),
                launched: Some(long()),
                duration: long(),
                time,
                ..full(number)
            }
        })
        .collect();
    let path = written(dataset.path(), &about("1", vec![]), &rows);
    let (source, metadata) = footer(&path).unwrap();
    let (source, mut sum) = (Arc::new(source), 0);
    for chunk in metadata.row_group(0).columns() {
        let mut pages = SerializedPageReader::new(Arc::clone(&source), chunk, rows.len(), None).unwrap();
        let mut most = 0;
        while let Some(page) = pages.get_next_page().unwrap() {
            assert!(page.num_values() as usize <= PAGE_ROWS, "{}", chunk.column_path());
            most = most.max(page.buffer().len());
        }
        sum += most;
    }
    assert!((100_000..300_000).contains(&sum), "{sum}");
}

#[test]
fn a_damaged_file_is_an_error_that_names_it() {
    let dataset = TempDir::new().unwrap();
    let rows: Vec<RankOperation> =
        (0..300).map(|number| if number % 2 == 0 { bare(number) } else { full(number) }).collect();
    let path = written(dataset.path(), &about("1", vec![made(7, 0, 5)]), &rows);
    let whole = fs::read(&path).unwrap();
    let damaged = dataset.path().join("damaged.parquet");
    let try_it = |bytes: &[u8]| {
        fs::write(&damaged, bytes).unwrap();
        // of a panic, the report names the child that reads the file first
        let Ok(result) = catch_unwind(|| read(&damaged)) else { return true };
        if let Err(error) = &result {
            assert!(error.to_string().starts_with(&damaged.display().to_string()), "{error}");
        }
        let opened = Tables::open(std::slice::from_ref(&damaged));
        assert_eq!(opened.inputs.len(), 1);
        assert_eq!(opened.left_out.len() + opened.job.processes.len(), 1, "named or read");
        result.is_err()
    };
    // a file that is cut off anywhere has no footer
    assert!((0..whole.len()).step_by(97).all(|length| try_it(&whole[..length])));
    let mut errors = 0;
    for place in (0..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0xff;
        errors += usize::from(try_it(&bytes));
    }
    assert!(errors > 100, "{errors} of {} damages seen", whole.len() / 11);
    let error = FileRows::open(&dataset.path().join("absent")).err().unwrap();
    assert!(error.to_string().ends_with("absent: No such file or directory (os error 2)"), "{error}");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let dataset = TempDir::new().unwrap();
    let path = written(dataset.path(), &about("1", vec![]), &[full(1)]);
    let mut bytes = fs::read(&path).unwrap();
    let key = b"scorep-nccl.format";
    let place = bytes.windows(key.len()).position(|it| it == key).unwrap() + key.len();
    let digit = bytes[place..].iter().position(|&it| it == b'1').unwrap();
    bytes[place + digit] = b'2';
    fs::write(&path, bytes).unwrap();
    let problem = Tables::open(&[dataset.path().into()]).left_out.remove(0);
    assert!(problem.cause.contains("format 2 is newer than format 1"), "{problem}");
    assert_eq!(problem.file, path.display().to_string());
}

#[test]
fn a_writer_that_is_dropped_leaves_no_file() {
    let dataset = TempDir::new().unwrap();
    let mut writer = TableWriter::create(dataset.path(), "1").unwrap();
    writer.push(&full(1)).unwrap();
    drop(writer);
    assert_eq!(dataset.path().join("process=1").read_dir().unwrap().count(), 0);
}

#[test]
fn ids_cannot_leave_the_dataset() {
    assert_eq!(directory(Path::new("d"), "../a/b"), Path::new("d/process=..%2Fa%2Fb"));
}

#[test]
fn processes_become_a_job() {
    let dataset = TempDir::new().unwrap();
    let at = |id: &str, boot: Option<&str>, rank, communicators| {
        let mut about = about(id, communicators);
        about.process.boot = boot.map(str::to_owned);
        (about.process.rank, about.process.real0, about.process.mono0) = (rank, 1_000_000, 100);
        about
    };
    // two ranks of communicator 9 in one process, and one of communicator 8, which was made earlier
    let one = at("1", Some("x"), Some(0), vec![made(8, 0, 10), made(9, 1, 40), made(9, 0, 30)]);
    let two = at("2", Some("x"), Some(1), vec![made(8, 1, 20)]);
    // claims a rank that is taken, from a clock that began later
    let mut three = at("3", None, None, vec![made(8, 1, 5), made(9, 2, 90)]);
    three.process.host = Some("another".into());
    for about in [&one, &two, &three] {
        written(dataset.path(), about, &[full(1)]);
    }
    let OpenedTables { job, tables, inputs, left_out, notes } = Tables::open(&[dataset.path().into()]);
    let gpus: Vec<_> = job.gpus.iter().map(|gpu| (gpu.process, gpu.index, gpu.name.as_str(), gpu.node)).collect();
    let expected = [(0, 0, "rank 0 GPU 0", 0), (0, 1, "rank 0 GPU 1", 0), (1, 0, "rank 1", 0), (2, 0, "process 2", 1)];
    assert_eq!(gpus, expected);
    assert_eq!(job.communicators.iter().map(|it| it.comm).collect::<Vec<_>>(), [8, 9]);
    let members = |comm| {
        let communicator = job.communicator(comm).unwrap();
        communicator.members.iter().map(|it| (it.rank, it.gpu, it.made)).collect::<Vec<_>>()
    };
    assert_eq!(members(8), [(0, 0, 10), (1, 2, 20)]);
    assert_eq!(members(9), [(0, 0, 30), (1, 1, 40), (2, 3, 90)]);
    assert_eq!(job.gpu(9, 1), Some(1));
    assert_eq!(job.communicators.iter().map(|it| it.repeated.clone()).collect::<Vec<_>>(), [vec![1], vec![]]);
    assert_eq!(
        notes,
        ["rank 1 of communicator 0000000000000008 is in 2.jsonl.gz and in 3.jsonl.gz: leave all but one of them out"]
    );
    assert_eq!((inputs, left_out), (vec![(dataset.path().into(), 3)], vec![]));
    assert_eq!(tables.operations(1).unwrap().count(), 1);
    assert!(tables.operations(3).is_err());
}

#[test]
fn a_process_counts_once_and_others_jobs_are_noted() {
    let (dataset, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (place, id, comm) in [(&dataset, "1", 8), (&dataset, "2", 9), (&other, "1", 8)] {
        written(place.path(), &about(id, vec![made(comm, 0, 1)]), &[full(1)]);
    }
    let paths = [dataset.path().into(), other.path().join("process=1/operations.parquet"), "absent".into()];
    let OpenedTables { job, inputs, left_out, notes, .. } = Tables::open(&paths);
    assert_eq!(job.processes.len(), 2);
    assert_eq!(inputs.iter().map(|it| it.1).collect::<Vec<_>>(), [2, 0, 0]);
    assert!(left_out[0].cause.contains("is of process 1, as "), "{left_out:?}");
    assert_eq!(left_out[1].file, "absent");
    assert_eq!(
        notes,
        ["the processes fall into 2 parts that share no communicator, so nothing is compared between these: \
          2.jsonl.gz is not in the first one's part"]
    );
}

/// Without a launcher's ranks, the communicators of all processes number and order them, if they agree.
#[test]
fn communicators_that_disagree_name_no_ranks() {
    for (second, names) in [([1, 0], ["rank 0", "rank 1"]), ([0, 1], ["process 0", "process 1"])] {
        let dataset = TempDir::new().unwrap();
        for (process, rank) in [(0, 1), (1, 0)] {
            let communicators = vec![made(8, rank, 10), made(9, second[process], 20)];
            let mut about = about(&process.to_string(), communicators);
            (about.process.rank, about.process.ranks) = (None, None);
            written(dataset.path(), &about, &[full(1)]);
        }
        let job = Tables::open(&[dataset.path().into()]).job;
        assert_eq!(job.gpus.iter().map(|gpu| gpu.name.as_str()).collect::<Vec<_>>(), names);
    }
}
