//! How late ranks arrive at their collectives: the library's figures against CUPTI's kernels of the same run.

use crate::support::{lines, tool};
use crate::truth::{Truth, number, runs, truth};
use common::arrivals::Arrivals;
use common::clock_tree::{ClockOffset, ClockTree, ParentLink};
use common::lateness::{MatchedOperation, matched};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// A rank that is last by more than `CLEAR` nanoseconds is clearly late. In the part `KNOWN` of such collectives, the
/// library must know it.
const CLEAR: i64 = 30_000;
const KNOWN: f64 = 0.95;
/// Part of the estimated errors that must hold.
const HOLD: f64 = 0.95;

/// Begin of each collective on both ranks, by communicator, function and sequence number.
type Begins = BTreeMap<(u64, String, u64), [i64; 2]>;

fn begins(truth: &Truth) -> Begins {
    let mut begins: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for ((comm, _, function, _), operations) in truth {
        for operation in operations {
            let Some(sequence) = operation.sequence else { continue };
            let comm = u64::from_str_radix(comm, 16).unwrap();
            begins.entry((comm, function.clone(), sequence)).or_default().push(operation.begin);
        }
    }
    // the keys of the truth are in the order of ranks
    begins.into_iter().filter_map(|(key, begins)| Some((key, begins.try_into().ok()?))).collect()
}

/// Compares the arrivals of a run's captures with the library. `mode` is the source of GPU times.
fn compared(run: &Path, mode: &str) -> Vec<MatchedOperation> {
    let scratch = tempfile::tempdir().unwrap();
    let arrivals = tool::captures(run).into_iter().map(|capture| {
        let file = scratch.path().join("arrivals");
        let mut command = tool::tool();
        command.arg("replay-one").arg(capture).arg("--arrivals").arg(&file);
        let summary = scratch.path().join("summary.%p.json").into_os_string().into_string().unwrap();
        let settings =
            [("SUMMARY", &*summary), ("TICK_RATE", "1000000000"), ("SETTLE_SECONDS", "1e6"), ("LANES", "off")];
        command.env("NCCL_SCOREP_GPU_TIME", mode);
        command
            .envs(settings.map(|(name, value)| (format!("NCCL_SCOREP_{name}"), value)))
            .env("NCCL_SCOREP_TRUST_NCCL", "on");
        tool::succeed(&mut command);
        Arrivals::decode(&std::fs::read(&file).unwrap()).unwrap()
    });
    let arrivals: Vec<Arrivals> = arrivals.collect();
    // both ranks are on one host and read the same clock
    let link = ParentLink { parent: 0, begin: None, end: ClockOffset { own: 0, parents: 0, error: 0 } };
    let clocks = ClockTree::new(&vec![Some(link); arrivals.len()]);
    let mut all = Vec::new();
    matched(arrivals, &clocks, 1.0, |operation| all.push(operation));
    all
}

/// Result of a comparison with the truth.
#[derive(Debug, Default)]
struct Held {
    collectives: usize,
    clear: u32,
    known: u32,
    errors: u32,
    estimates: u32,
    /// Errors of the time between both ranks' begins, nanoseconds.
    off: Vec<f64>,
    /// A sentence for each error of the library.
    wrong: Vec<String>,
}

impl Held {
    fn hold(&mut self, name: &str, begins: &Begins, compared: &[MatchedOperation]) {
        self.collectives += begins.len();
        self.clear += begins.values().filter(|[one, other]| (one - other).abs() > CLEAR).count() as u32;
        for operation in compared {
            let (function, sequence, _) = operation.operation;
            let begins = begins[&(operation.comm, function.text(), sequence)];
            let first = begins.into_iter().min().unwrap();
            let last = i32::from(begins[1] > begins[0]);
            let mut say = |what: String| self.wrong.push(format!("{name}: {} {sequence}: {what}", function.text()));
            match operation.last {
                Some(rank) if rank == last => self.known += u32::from((begins[1] - begins[0]).abs() > CLEAR),
                Some(rank) => say(format!("not {rank} is last, {begins:?}")),
                None => {}
            }
            let between = operation.ranks[1].late - operation.ranks[0].late;
            self.off.push((between - (begins[1] - begins[0]) as f64).abs());
            for (late, begin) in operation.ranks.iter().zip(begins) {
                let off = (late.late - (begin - first) as f64).abs();
                // stamps count 32 ns
                if off > late.error + 100.0 {
                    say(format!("{late:?} is off by {off}"));
                }
                self.errors += 1;
                self.estimates += u32::from(off <= late.likely + 100.0);
            }
        }
    }

    /// Returns the rows of the table in docs/gpu-test.md, without their ends.
    fn rows(&mut self) -> [String; 5] {
        self.off.sort_by(f64::total_cmp);
        let off = |part: f64| self.off[((self.off.len() - 1) as f64 * part) as usize] / 1e3;
        [
            format!("| collectives | {} |", self.collectives),
            format!("| a rank is last by more than 30 us | {} |", self.clear),
            format!("| of these, known with the right rank | {} |", self.known),
            format!(
                "| estimated errors that hold | {:.1} % |",
                100.0 * f64::from(self.estimates) / f64::from(self.errors)
            ),
            format!(
                "| time between two begins is off by | {:.1} us, {:.1} us, {:.1} us |",
                off(0.5),
                off(0.95),
                off(1.0)
            ),
        ]
    }
}

#[test]
fn who_is_late_is_known_and_no_error_is_larger_than_it_is_said_to_be() {
    let mut held = Held::default();
    for (name, run) in runs() {
        held.hold(&name, &begins(&truth(&name, &run)), &compared(&run, "auto"));
    }
    assert!(held.wrong.is_empty(), "{} wrong:\n{}", held.wrong.len(), held.wrong.join("\n"));
    assert!(held.clear > 100 && f64::from(held.known) >= KNOWN * f64::from(held.clear), "{held:?}");
    assert!(f64::from(held.estimates) >= HOLD * f64::from(held.errors), "{held:?}");
    let document = include_str!("../../docs/gpu-test.md");
    let is_missing = |row: &String| !document.lines().any(|line| line.starts_with(row));
    let missing: Vec<String> = held.rows().into_iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "docs/gpu-test.md lacks\n{}", missing.join("\n"));
}

/// Beside a computation, a kernel may wait for multiprocessors long after the event before it. Estimates take the event
/// for its begin and are wrong; guaranteed errors still hold.
#[test]
fn guaranteed_errors_hold_where_a_kernel_waits_behind_its_event() {
    let (name, run) = runs().into_iter().find(|(name, _)| name == "truth_fsdp").unwrap();
    let begins = begins(&truth(&name, &run));
    let mut compared = compared(&run, "events");
    compared.iter_mut().for_each(|operation| operation.last = None);
    let mut held = Held::default();
    held.hold(&name, &begins, &compared);
    assert!(held.wrong.is_empty() && held.errors > 150 && held.estimates < held.errors, "{held:?}");
}

/// Guaranteed errors must also be small, since too large ones always hold. With stamps for all operations, they are a
/// few microseconds.
#[test]
fn errors_are_close() {
    let (_, run) = runs().into_iter().find(|(name, _)| name == "truth_fsdp").unwrap();
    let compared = compared(&run, "auto");
    let errors = compared.iter().flat_map(|operation| &operation.ranks).map(|late| late.error);
    let mean = errors.sum::<f64>() / compared.len() as f64 / 2.0;
    assert!(compared.len() == 100 && mean < 5_000.0, "{mean}");
}

/// A kernel begins after its launch, which is a closer bound than the API call. If NCCL reports operations on another
/// thread than the launch's, as for replays of a graph, their launch is unknown.
#[test]
fn launches_bound_the_clocks_of_the_kernels_that_their_thread_tells_of() {
    let (name, run) = runs().into_iter().find(|(name, _)| name == "truth_pipeline").unwrap();
    let begins = begins(&truth(&name, &run));
    let elsewhere = tempfile::tempdir().unwrap();
    for capture in tool::captures(&run) {
        told_elsewhere(&capture, &elsewhere.path().join(capture.file_name().unwrap()));
    }
    let [by_launches, by_calls] = [&run, elsewhere.path()].map(|run| {
        let compared = compared(run, "auto");
        let mut held = Held::default();
        held.hold(&name, &begins, &compared);
        assert!(held.wrong.is_empty() && held.errors == 8, "{held:?}");
        compared.iter().flat_map(|operation| &operation.ranks).map(|late| late.error).sum::<f64>() / 8.0
    });
    assert!(by_launches < 10_000.0 && by_calls > 12_000.0, "{by_launches} {by_calls}");
}

/// Copies a capture, with operations and groups of operations moved to another thread.
fn told_elsewhere(capture: &Path, to: &Path) {
    let (meta, mut lines) = lines::all(capture);
    let mut moved = HashSet::new();
    for line in &mut lines {
        if line["cb"] == "start" && ["Group", "Coll", "P2p"].iter().any(|moving| line["type"] == *moving) {
            moved.insert(number(line, "h"));
        }
        if line["h"].as_u64().is_some_and(|handle| moved.contains(&handle)) && line["cb"] != "kernel" {
            line["tid"] = 99.into();
        }
    }
    let mut file = GzEncoder::new(File::create(to).unwrap(), Compression::fast());
    std::iter::once(&meta).chain(&lines).for_each(|line| writeln!(file, "{line}").unwrap());
    file.finish().unwrap();
}

/// A replay's summary has the lateness if asked for it: the matched operations, and how often each rank was last.
#[test]
fn a_replay_has_the_lateness_on_demand() {
    let (_, run) = runs().into_iter().find(|(name, _)| name == "truth_fsdp").unwrap();
    let replayed = |arguments: &[&str]| {
        let mut command = tool::tool();
        tool::summary(command.arg("replay").arg(&run).args(["--format", "json"]).args(arguments))
    };
    assert!(replayed(&[])["lateness"].is_null());
    let summary = replayed(&["--lateness"]);
    let compared = compared(&run, "auto");
    let rows = summary["lateness"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    for row in rows {
        let last =
            |rank: &i64| compared.iter().filter(|operation| operation.last.map(i64::from) == Some(*rank)).count();
        let numbers = ["operations", "resolved", "last"].map(|field| row[field].as_u64().unwrap() as usize);
        assert_eq!(numbers, [compared.len(), last(&0) + last(&1), last(&row["rank"].as_i64().unwrap())]);
    }
}

/// Bus bandwidth is computed from the kernels of the rank that waits least; CUPTI gives their times. With two ranks,
/// the bytes on the bus are those of the buffer, or half of them if each rank has its own part.
#[test]
fn bandwidth_is_by_the_kernels_that_wait_least() {
    let (name, run) = runs().into_iter().find(|(name, _)| name == "truth_fsdp").unwrap();
    let mut kernels: BTreeMap<(String, u64), Vec<f64>> = BTreeMap::new();
    for ((_, _, function, _), operations) in truth(&name, &run) {
        for operation in operations {
            kernels.entry((function.clone(), operation.sequence.unwrap())).or_default().push(operation.us);
        }
    }
    let least = |function: &str| {
        let of_function = kernels.iter().filter(|((of, _), _)| of == function);
        of_function.map(|(_, times)| times.iter().copied().fold(f64::MAX, f64::min)).collect::<Vec<_>>()
    };
    let mut command = tool::tool();
    let summary = tool::summary(command.arg("replay").arg(&run).args(["--format", "json", "--lateness"]));
    let rows = summary["bandwidth"].as_array().unwrap();
    let number = |row: &serde_json::Value, field: &str| row[field].as_f64().unwrap();
    for function in ["AllGather", "ReduceScatter", "AllReduce"] {
        let rows: Vec<_> = rows.iter().filter(|row| row["func"] == function).collect();
        let sum = |field: &str| rows.iter().map(|row| number(row, field)).sum::<f64>();
        let (count, true_us) = (least(function).len() as f64, least(function).iter().sum::<f64>());
        // the stamps of an operation lie 3 us inside CUPTI's kernel
        let off = true_us - sum("least_us");
        assert!(sum("operations") == count && off > 0.0 && off < 6.0 * count, "{function}: {true_us} us, {rows:?}");
        for row in rows {
            let busbw = number(row, "bytes") / 1e3 / number(row, "least_us");
            assert!((number(row, "busbw_gb_s") / busbw - 1.0).abs() < 1e-9, "{row}");
        }
    }
}

/// Planted fault: one rank's kernels begin 2 ms later.
#[test]
fn a_planted_lateness_is_found() {
    let (name, run) = runs().into_iter().find(|(name, _)| name == "truth_fsdp").unwrap();
    let mut begins = begins(&truth(&name, &run));
    begins.values_mut().for_each(|begins| begins[1] += 2_000_000);
    let mut held = Held::default();
    held.hold(&name, &begins, &compared(&run, "auto"));
    assert!(held.wrong.len() > 100, "{held:?}");
}
