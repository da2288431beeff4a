//! Exports as nsys writes them in several releases, and others.

use super::database::Database;
use super::*;
use crate::kernels::own::KernelLane;
use common::conditions::ConditionRow;
use common::name::NcclName;
use report::job::{ProcessOperations, RankOperation, Time, TimedBy};
use rusqlite::Connection;
use tempfile::TempDir;

const BEGAN: u64 = 1_700_000_000_000_000_000;
const REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)";

/// Operations of each process.
struct Made(Vec<Vec<RankOperation>>);

impl OperationTables for Made {
    fn operations(&self, process: usize) -> Result<ProcessOperations<'_>, Unreadable> {
        Ok(Box::new(self.0.get(process).cloned().unwrap_or_default().into_iter().map(Ok)))
    }

    fn conditions(&self, _: usize) -> Result<Vec<ConditionRow>, Unreadable> {
        Ok(vec![])
    }
}

fn process(rank: u32) -> Process {
    let (file, host) = (format!("r{rank}.jsonl.gz"), Some("node7".into()));
    Process {
        file,
        host,
        rank: Some(rank),
        pid: Some(70 + rank),
        real0: BEGAN,
        mono0: 5_000_000_000,
        ..Process::default()
    }
}

/// Makes a file by SQL.
fn made(directory: &TempDir, name: &str, sql: &str) -> PathBuf {
    let file = directory.path().join(name);
    Connection::open(&file).unwrap().execute_batch(sql).unwrap();
    file
}

/// The tables of a recent release, with a session that began with the processes' clocks.
fn recent(rows: &str) -> String {
    format!(
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO StringIds VALUES (1, 'void gemm<float>(float*)'), (2, 'gemm'), (3, '{REDUCE}');
         CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, devStateName TEXT, name TEXT, nameEnum INT, value TEXT);
         INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, '', 'Hostname', 1, 'node7.site');
         CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT, utcTime TEXT, localTime TEXT);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({BEGAN}, '', '');
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL,
             contextId INT, greenContextId INT, streamId INT NOT NULL, correlationId INT, globalPid INT,
             demangledName INT NOT NULL, shortName INT NOT NULL, mangledName INT);
         BEGIN; {rows} COMMIT;"
    )
}

/// A row of a kernel of a process.
fn kernel(process: i64, stream: i64, name: i64, [start, end]: [u64; 2]) -> String {
    let global = (1_i64 << 56) | (process << 24);
    format!(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
         VALUES ({start}, {end}, 0, 1, NULL, {stream}, 9, {global}, {name}, 2, NULL);"
    )
}

fn reduce(order: u64, [start, stop]: [u64; 2]) -> RankOperation {
    RankOperation {
        comm: 1,
        function: NcclName::of_text("AllReduce"),
        order,
        kernel: order,
        source: TimedBy::Stamps,
        duration: stop - start,
        time: Some(Time { start, stop, clock: [500, 700], ahead: 90 }),
        stream: 3,
        ..RankOperation::default()
    }
}

/// Reads files for two processes without operations. Returns computation, the problems and the remarks.
fn of_two(files: &[PathBuf]) -> (Profiled, Vec<String>, Vec<String>) {
    let mut profiled = Profiled::new(2);
    let (problems, notes) = read(files, &[process(0), process(1)], &Made(vec![]), &mut profiled);
    (profiled, problems.iter().map(ToString::to_string).collect(), notes)
}

#[test]
fn a_file_has_several_processes_of_a_machine() {
    let directory = TempDir::new().unwrap();
    let rows = [
        kernel(71, 7, 1, [1_000, 3_000]),
        kernel(71, 9, 1, [2_000, 4_000]),
        kernel(70, 7, 1, [5_000, 6_000]),
        kernel(70, 20, 3, [5_000, 9_000]),
    ];
    let file = made(&directory, "a.sqlite", &recent(&rows.concat()));
    let (profiled, problems, notes) = of_two(&[file]);
    assert_eq!(problems, [""; 0]);
    let at = |time: u64| 5_000_000_000 + time;
    let expected = [vec![[at(5_000), at(6_000)]], vec![[at(1_000), at(4_000)]]];
    assert_eq!(profiled.computation.by_process, expected);
    let [own] = &profiled.nccl[0][..] else { panic!("{:?}", profiled.nccl) };
    assert_eq!((own.lane, own.span), (KernelLane([0, 20]), [at(5_000), at(9_000)]));
    // without operations, nothing compares the clocks
    assert!(notes.len() == 2 && notes[0].contains("the clock of rank 0 could not be compared"), "{notes:?}");
}

/// Times of 60 all-reduces: not evenly apart, as in any job.
fn times(of: u64) -> [u64; 2] {
    let begin = 5_010_000_000 + of * 2_000_000 + (of * of * 7_919) % 900_000;
    [begin, begin + 100_000 + (of * 37) % 50_000]
}

#[test]
fn nccls_kernels_show_the_difference_of_the_clocks() {
    let directory = TempDir::new().unwrap();
    for later in [0_i64, 3_456_789, -41_234_567] {
        let shown = |time: u64| (time - 5_000_000_000 + 50_000_000).saturating_add_signed(later);
        let rows: Vec<String> = (0..60).map(|of| kernel(70, 20, 3, times(of).map(shown))).collect();
        let gemm = kernel(70, 7, 1, [5_020_000_000, 5_020_700_000].map(shown));
        let sql = recent(&(rows.concat() + &gemm)).replace(&BEGAN.to_string(), &(BEGAN - 50_000_000).to_string());
        let file = made(&directory, &format!("{later}.sqlite"), &sql);
        let operations = (0..60).map(|of| reduce(of, times(of))).collect();
        let mut profiled = Profiled::new(1);
        let (problems, notes) = read(&[file], &[process(0)], &Made(vec![operations]), &mut profiled);
        assert!(problems.is_empty() && notes.is_empty(), "{problems:?} {notes:?}");
        assert_eq!(profiled.computation.by_process, [[[5_020_000_000, 5_020_700_000]]], "{later}");
        assert_eq!(profiled.nccl[0][7].span, times(7), "{later}");
    }
}

/// Returns the difference that is found for as many all-reduces of equal length, a period apart, of which the profiler
/// saw `seen`; `longer` nanoseconds longer than they were.
fn found(period: u64, count: u64, seen: std::ops::Range<u64>, later: u64, longer: u64) -> Option<i64> {
    let even = |of: u64| [5_010_000_000 + of * period, 5_010_010_000 + of * period];
    let operations: Vec<_> = (0..count).map(|of| reduce(of, even(of))).collect();
    let launched = launched(Box::new(operations.into_iter().map(Ok)), even(0), u64::MAX);
    let (runs, lane) = (crate::archive::nccl_kernel::Runs::of(REDUCE).unwrap(), KernelLane([0, 20]));
    let shown = |[start, stop]: [u64; 2]| [start + later, stop + later + longer];
    let kernels: Vec<_> = seen.map(|of| OwnKernel { runs, lane, span: shown(even(of)) }).collect();
    offset::later(&kernels, &launched)
}

/// All-reduces that are exactly evenly apart fit a clock that is a period off nearly as well, or as well.
#[test]
fn no_difference_is_chosen_of_several_that_fit_alike() {
    // 0.95 ms and 0.6 ms have nearly as many votes as the true difference
    assert_eq!(found(350_000, 60, 0..60, 1_300_000, 0), None);
    assert_eq!(found(4_000_000, 60, 0..60, 300_000, 0), None);
    // as likely 2 ms early as 2 ms late
    assert_eq!(found(4_000_000, 60, 0..60, 2_000_000, 0), None);
    // the bins of neighbouring periods touch each other
    assert_eq!(found(40_000, 60, 0..60, 2_000_000, 0), None);
    // the profiler saw a part: three differences below 1 ms have all votes
    assert_eq!(found(350_000, 10, 1..9, 100_000, 0), None);
    // all likely differences are below 1 ms, and one has most votes
    assert_eq!(found(350_000, 8, 0..8, 100_000, 0), Some(100_000));
    // a period beyond the reach leaves one difference
    assert_eq!(found(200_000_000, 20, 0..20, 1_300_000, 0), Some(1_300_000));
    // other lengths vote for nothing
    assert_eq!(found(200_000_000, 20, 0..20, 0, 90_000), None);
}

/// A kernel whose name says nothing, in NCCL's range on the thread that launched it, and in that of a group.
#[test]
fn nccls_ranges_say_what_a_kernel_runs() {
    let directory = TempDir::new().unwrap();
    let generic =
        |process: i64, number: i64| kernel(process, 20, 4, [9_000, 9_500]).replace(", 9, ", &format!(", {number}, "));
    let thread = (1_i64 << 56) | (70 << 24) | 70;
    let sql = recent(&(generic(70, 11) + &generic(70, 12) + &generic(71, 11)))
        + &format!(
            "INSERT INTO StringIds VALUES (4, 'ncclDevKernel_Generic'), (5, 'ncclAllGather'), (6, 'ncclGroupEnd');
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (150, 160, {thread}, 11), (250, 260, {thread}, 12);
             CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, text TEXT, textId INT);
             INSERT INTO NVTX_EVENTS VALUES (100, 200, {thread}, NULL, 5), (240, 270, {thread}, NULL, 6),
                 (140, 170, 5, 'ncclReduce', NULL);"
        );
    let (profiled, problems, _) = of_two(&[made(&directory, "a.sqlite", &sql)]);
    assert!(problems.is_empty(), "{problems:?}");
    use crate::archive::nccl_kernel::Runs;
    let runs = |process: usize| profiled.nccl[process].iter().map(|own| own.runs).collect::<Vec<_>>();
    assert_eq!((runs(0), runs(1)), (vec![Runs::Function(NcclName::of_text("AllGather")), Runs::Any], vec![Runs::Any]));
}

/// A release without ids of processes, whose names are texts; and files in the order of ranks.
#[test]
fn older_tables_are_read_too() {
    let directory = TempDir::new().unwrap();
    let sql = format!(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({BEGAN});
         CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName TEXT);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 'gemm'), (7, 9, 'ncclKernel_AllReduce_RING_LL_Sum_float'),
             (9, 8, 'ends before it begins'), (11, 12, NULL), ('x', 12, 'gemm');"
    );
    let files = ["0.sqlite", "1.sqlite"].map(|name| made(&directory, name, &sql));
    let (profiled, problems, notes) = of_two(&files);
    assert_eq!(problems, [""; 0]);
    assert_eq!(profiled.computation.by_process, [[[5_000_000_001, 5_000_000_005]], [[5_000_000_001, 5_000_000_005]]]);
    assert!(profiled.nccl.iter().all(|own| own.len() == 1));
    assert!(notes[0].ends_with("0.sqlite: 1 kernels have no name and do not count."), "{notes:?}");
    let ordered = "sqlite: its kernels count as those of rank 1 by the order of the files' names alone.";
    assert!(notes.iter().any(|note| note.ends_with(ordered)), "{notes:?}");
    // one file alone says of no process that it is its
    let (_, problems, _) = of_two(&files[..1]);
    assert!(problems[0].contains("process 0 with kernels is none of the job's"), "{problems:?}");
}

/// A shell puts rank 10 before rank 2, and a file of another machine is of no process, wherever it stands.
#[test]
fn the_order_of_files_is_natural_and_contradicts_nothing() {
    let directory = TempDir::new().unwrap();
    let processes: Vec<Process> = (0..12).map(process).collect();
    let file = |rank: u64, host: &str| {
        let sql = recent(&kernel(1, 7, 1, [1_000, 1_000 + rank + 1])).replace("node7", host);
        made(&directory, &format!("rank{rank}.{host}.sqlite"), &sql)
    };
    let lengths = |profiled: &Profiled| -> Vec<u64> {
        let spans = profiled.computation.by_process.iter().map(|spans| spans.iter().map(|[from, to]| to - from).sum());
        spans.collect()
    };
    let mut files: Vec<PathBuf> = (0..12).map(|rank| file(rank, "node7")).collect();
    files.sort();
    assert!(files[2].ends_with("rank10.node7.sqlite"));
    let mut profiled = Profiled::new(12);
    let (problems, _) = read(&files, &processes, &Made(vec![]), &mut profiled);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(lengths(&profiled), (1..=12).collect::<Vec<u64>>());
    files[2] = file(10, "node8");
    let mut profiled = Profiled::new(12);
    let (problems, _) = read(&files, &processes, &Made(vec![]), &mut profiled);
    assert!(problems.len() == 1 && problems[0].to_string().contains("rank10.node8.sqlite"), "{problems:?}");
    assert_eq!(lengths(&profiled), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 12]);
}

#[test]
fn what_a_file_lacks_is_said() {
    let directory = TempDir::new().unwrap();
    let whole = recent(&kernel(70, 7, 1, [1_000, 3_000]));
    let graphs = whole.clone()
        + "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2), (3, 4);";
    let (_, problems, notes) = of_two(&[made(&directory, "graphs.sqlite", &graphs)]);
    assert!(
        problems.is_empty() && notes[0].contains("2 replays of CUDA graphs") && notes[0].contains("=node"),
        "{notes:?}"
    );
    let text = directory.path().join("text.sqlite");
    std::fs::write(&text, "x".repeat(5_000)).unwrap();
    let refused = [
        (directory.path().join("none.sqlite"), "none.sqlite: No such file"),
        (text, "text.sqlite: it is no SQLite file: `nsys export"),
        (made(&directory, "empty.sqlite", "CREATE TABLE x (y INT)"), "does not say when its session began"),
        (
            made(&directory, "cpu.sqlite", &(whole.clone() + "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL;")),
            "no table CUPTI_ACTIVITY_KIND_KERNEL with times and names",
        ),
        (
            made(&directory, "foreign.sqlite", &whole.replace("node7", "node8")),
            "process 70 with kernels is none of the",
        ),
        (
            made(
                &directory,
                "endless.sqlite",
                &(whole.clone()
                    + "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS
                       WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)
                       SELECT start, start \"end\", 'gemm' shortName FROM n;"),
            ),
            "no table CUPTI_ACTIVITY_KIND_KERNEL with times and names",
        ),
    ];
    for (file, cause) in refused {
        let (profiled, problems, _) = of_two(std::slice::from_ref(&file));
        assert!(problems.len() == 1 && problems[0].contains(cause), "{cause}: {problems:?}");
        assert!(profiled.computation.by_process.iter().all(Vec::is_empty));
    }
}

/// Files with wrong bytes are read or refused, and end nothing.
#[test]
fn damaged_files_end_nothing() {
    let directory = TempDir::new().unwrap();
    let rows: Vec<String> =
        (0..300).map(|of| kernel(70 + of % 2, 7, 1 + of % 3, [1_000, 3_000].map(|t| t + of as u64 * 9))).collect();
    let whole = std::fs::read(made(&directory, "whole.sqlite", &recent(&rows.concat()))).unwrap();
    let file = directory.path().join("damaged.sqlite");
    let mut random = fastrand::Rng::with_seed(5);
    let mut refused = 0;
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..random.usize(1..12) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        if random.u8(..4) == 0 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        std::fs::write(&file, &bytes).unwrap();
        let (_, problems, _) = of_two(std::slice::from_ref(&file));
        refused += usize::from(!problems.is_empty());
    }
    assert!((20..400).contains(&refused), "{refused}");
}

/// A file may have any number of long rows in few pages of its own.
#[test]
fn rows_have_a_bound_on_their_bytes_and_nothing_is_written_beside_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let rows =
        "CREATE TABLE long(name TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
                INSERT INTO long SELECT printf('%.*c', 100000, 'x') FROM n;";
    let file = made(&directory, "100%?x#.sqlite", &format!("PRAGMA journal_mode = WAL; {rows}"));
    let count = || directory.path().read_dir().unwrap().count();
    let before = count();
    let mut database = Database::open(&file).unwrap();
    let read = |database: &Database| database.rows("long", &["name"], |_| Ok(()));
    assert_eq!(read(&database), Ok(()));
    database.allow(1 << 20);
    assert_eq!(read(&database), Err("its rows have more than 2 GiB".into()));
    assert_eq!(count(), before);
}
