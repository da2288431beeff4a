//! The kinds of files that are mutated, each with the command that reads them.

use crate::fuzz_readers::mutations;
use crate::support::tool;
use fastrand::Rng;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files with their names.
pub(crate) type Files = Vec<(PathBuf, Vec<u8>)>;

/// A kind of files.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Ending of the files' names.
    pub(crate) ending: &'static str,
    /// Files that one command reads.
    pub(crate) at_a_time: usize,
    /// Makes in a directory what mutations begin with, and returns it.
    pub(crate) prepare: fn(&Path) -> PathBuf,
    /// Returns the files of a mutation, below its place; one without a name is the place itself.
    pub(crate) mutated: fn(&mut Rng, &Path) -> Files,
    /// Adds the arguments of the command.
    pub(crate) arguments: fn(&mut Command, &[PathBuf], &Path),
    /// Whether an exit status other than 0 may be an answer, and no error.
    pub(crate) status_answers: bool,
    /// Mutations that once failed.
    pub(crate) failed: &'static [u64],
}

/// A mutation that is one file.
fn one(content: Vec<u8>) -> Files {
    vec![(PathBuf::new(), content)]
}

/// Returns the files of a directory with this ending.
fn seeds(of: &Path, ending: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = of.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == ending));
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Makes summaries of processes, the tables of a job, and their files one by one.
fn prepare(place: &Path) -> PathBuf {
    let run = tool::run("nvlink2_graph");
    for (number, capture) in tool::captures(&run).iter().enumerate() {
        let summary = place.join(format!("{number}.json"));
        tool::succeed(tool::tool().arg("replay").arg(capture).arg("--summary").arg(summary));
    }
    let job = place.join("job.json");
    tool::succeed(tool::tool().arg("replay").arg(run.as_path()).arg("--lateness").arg("--summary").arg(job));
    tool::succeed(tool::tool().arg("table").arg(&run).arg("--to").arg(place.join("tables")));
    let tables = place.join("tables").read_dir().unwrap();
    for (number, process) in tables.map(|entry| entry.unwrap().path()).enumerate() {
        fs::copy(process.join("operations.parquet"), place.join(format!("{number}.parquet"))).unwrap();
    }
    place.to_path_buf()
}

/// Gives each process of a text an id of its own, of the same length: those of one id are left out.
fn renamed(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    let of_text = b"\"id\":";
    let places: Vec<usize> =
        (0..bytes.len().saturating_sub(32)).filter(|&at| bytes[at..].starts_with(of_text)).collect();
    for at in places {
        let digits =
            bytes[at + of_text.len()..].iter().position(u8::is_ascii_hexdigit).map(|more| at + of_text.len() + more);
        let id = digits.into_iter().flat_map(|from| from..(from + 16).min(bytes.len()));
        for place in id.filter(|&place| bytes[place].is_ascii_hexdigit()).collect::<Vec<_>>() {
            bytes[place] = b"0123456789abcdef"[rng.usize(..16)];
        }
    }
    bytes
}

pub(crate) const SUMMARY: Kind = Kind {
    name: "summary",
    ending: ".json",
    at_a_time: 50,
    prepare,
    mutated: |rng, with| {
        let all = seeds(with, "json").into_iter().map(|seed| renamed(seed, rng)).collect::<Vec<_>>();
        one(mutations::of_text(&all, rng))
    },
    arguments: |command, files, with| {
        // mutations may be of other jobs
        command.args(["report", "--job", "1"]).args(files).arg(with.join("0.json"));
    },
    status_answers: false,
    failed: &[],
};

pub(crate) const TABLE: Kind = Kind {
    name: "table",
    ending: ".parquet",
    at_a_time: 50,
    prepare,
    mutated: |rng, with| {
        let all = seeds(with, "parquet").into_iter().map(|seed| renamed(seed, rng)).collect::<Vec<_>>();
        // the footer, with the process' summary, is most of a short table
        one(mutations::of_bytes(&all, 4000, rng))
    },
    arguments: |command, files, with| {
        command.args(["report", "--job", "1"]).args(files).arg(with.join("0.parquet"));
    },
    status_answers: false,
    // a length of the footer that Parquet's decoder does not believe
    failed: &[1846],
};

/// A trace of PyTorch's profiler, of the first rank.
const TRACE: &str = r#"{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"H200"}],
"distributedInfo":{"backend":"nccl","rank":0,"world_size":2},"baseTimeNanoseconds":1700000000000000000,
"traceEvents":[{"ph":"X","cat":"kernel","name":"gemm<float>","pid":0,"tid":7,"ts":1.5,"dur":2,"args":{"device":0}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)","pid":0,"tid":20,"ts":9.25,"dur":100.5},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":"main","ts":0,"dur":1000},
{"ph":"M","name":"process_name","pid":"Spans","tid":"PyTorch Profiler","args":{"name":"python"}},
{"ph":"X","cat":"kernel","name":"cut off","ts":30,"dur":null},{"ph":"X","cat":"gpu_memset","name":"Memset","ts":20,"dur":0.5}]}"#;

pub(crate) const PROFILE: Kind = Kind {
    name: "profile",
    ending: ".json.gz",
    at_a_time: 100,
    prepare,
    mutated: |rng, _| {
        let gzip = |text: &[u8]| {
            let mut file = GzEncoder::new(Vec::new(), Compression::fast());
            file.write_all(text).unwrap();
            file.finish().unwrap()
        };
        one(match rng.u8(..4) {
            0 => mutations::of_bytes(&[gzip(TRACE.as_bytes())], 100, rng),
            _ => gzip(&mutations::of_text(&[TRACE.into()], rng)),
        })
    },
    arguments: |command, files, with| {
        command.arg("report").arg(with.join("tables")).arg("--kernels").args(files);
    },
    status_answers: false,
    failed: &[],
};

/// An export of Nsight Systems, of both ranks.
const EXPORT: &str = "
    CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'gemm<float>'), (2, 'ncclDevKernel_Generic'), (3, 'ncclAllReduce');
    CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, name TEXT, value TEXT);
    INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'Hostname', 'node7');
    CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT);
    INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
    CREATE TABLE MPI_RANKS (globalTid INT, rank INT);
    INSERT INTO MPI_RANKS VALUES (72057595212103680, 0), (72057595228880896, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT, streamId INT,
        correlationId INT, globalPid INT, demangledName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        SELECT 1000 * i, 1000 * i + 700, 0, 7, i, 72057595212103680 + i % 2 * 16777216, 1 + i % 2 FROM n;
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 72057595228880897, 1);
    CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, text TEXT, textId INT);
    INSERT INTO NVTX_EVENTS VALUES (5, 25, 72057595228880897, NULL, 3);";

pub(crate) const NSYS: Kind = Kind {
    name: "nsys",
    ending: ".sqlite",
    at_a_time: 20,
    prepare: |place| {
        prepare(place);
        rusqlite::Connection::open(place.join("export.sqlite")).unwrap().execute_batch(EXPORT).unwrap();
        place.to_path_buf()
    },
    mutated: |rng, with| one(mutations::of_bytes(&seeds(with, "sqlite"), 4000, rng)),
    arguments: |command, files, with| {
        command.arg("report").arg(with.join("tables")).arg("--nsys").args(files);
    },
    status_answers: false,
    failed: &[],
};

/// A kind of text files of facts, one a command.
const fn facts(
    name: &'static str,
    mutated: fn(&mut Rng, &Path) -> Files,
    arguments: fn(&mut Command, &[PathBuf], &Path),
) -> Kind {
    Kind { name, ending: ".txt", at_a_time: 1, prepare, mutated, arguments, status_answers: false, failed: &[] }
}

pub(crate) const DIMENSIONS: Kind = facts(
    "dimensions",
    |rng, _| {
        let text = "# ours\nDP name mesh_dp*\nTP ranks 0-1 2,3,4-7\n\nwide name *world*of*\nPP ranks 0,4\n";
        one(mutations::of_text(&[text.into()], rng))
    },
    |command, files, with| {
        command.arg("report").arg(with.join("job.json")).arg("--dimensions").args(files);
    },
);

pub(crate) const STEPS: Kind = facts(
    "steps",
    |rng, _| {
        let text = "# steps\n1700000000.5 1700000001.25\n0 1700000002 1700000003.000000001\n1 1.5 1e3\n";
        one(mutations::of_text(&[text.into(), "1700000000 1700000001\n".repeat(20).into()], rng))
    },
    |command, files, with| {
        command.arg("report").arg(with.join("tables")).arg("--steps").args(files);
    },
);

pub(crate) const LINKS: Kind = facts(
    "links",
    |rng, _| {
        let text = "# node to node\n00000000000000ab 200\n\n*\t100 # the others\ncd 0.5\n";
        one(mutations::of_text(&[text.into()], rng))
    },
    |command, files, with| {
        command.arg("report").arg(with.join("job.json")).arg("--link-gbps").args(files);
    },
);

pub(crate) const BASELINE: Kind = Kind {
    prepare: |place| {
        prepare(place);
        let report = place.join("report.json");
        tool::succeed(tool::tool().arg("report").arg(place.join("tables")).arg("--json").arg(&report));
        fs::rename(report, place.join("earlier")).unwrap();
        place.to_path_buf()
    },
    ..facts(
        "baseline",
        |rng, with| one(mutations::of_text(&[fs::read(with.join("earlier")).unwrap()], rng)),
        |command, files, with| {
            command.arg("report").arg(with.join("job.json")).arg("--baseline").args(files);
        },
    )
};
