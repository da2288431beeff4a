//! The report of an experiment: the same as that of the recordings of the same run.

use super::experiment::{Experiment, REGIONS};
use super::report::{self, Row};
use super::tool;
use serde_json::Value;
use std::path::Path;

/// Nanoseconds by which a time may differ: the likely error of a wait. Lanes are on the clock of Score-P's timer, which
/// is compared with the GPU's anew; and an operation that begins before the one before it has ended is moved by up to the
/// uncertainty of the GPU's clock. Durations are the GPU's own, and differ by less than 1 us.
const WITHIN: i64 = 7_000;

/// Compares the reports of trace and recordings.
///
/// # Errors
/// A time differs.
pub(crate) fn compare(job: &Experiment, recordings: &Path) -> Result<(), String> {
    let [(of_trace, traced), (of_recordings, recorded)] =
        [job.path(), recordings.to_owned()].map(|input| report::of(&[input], &[]));
    let [traced, recorded] = [traced, recorded].map(in_order);
    assert_eq!(traced.len(), recorded.len());
    let mut most = [0; 3];
    for (row, other) in traced.iter().zip(&recorded) {
        let facts = |row: &Row| {
            let place = (row.communicator.clone(), row.rank, row.function.clone(), row.kind.clone());
            (place, row.sequence, row.bytes, row.messages, row.source.clone())
        };
        assert_eq!(facts(row), facts(other));
        let times = |row: &Row| [Some(row.duration), row.wait, row.transfer];
        for ((time, other_time), most) in times(row).into_iter().zip(times(other)).zip(&mut most) {
            let off = (time.unwrap() - other_time.unwrap()).abs();
            if off > WITHIN {
                return Err(format!("{row:?}\n{other:?}"));
            }
            *most = off.max(*most);
        }
    }
    tool::say(&format!("duration, wait and transfer differ by at most {most:?} ns"));
    for part in ["/steps/known/count", "/steps/known/period", "/complete/matched", "/complete/compared"] {
        assert_eq!(of_trace.pointer(part), of_recordings.pointer(part), "{part}");
    }
    // the order of operations is that of begins in a trace, and that of enqueues in recordings: steps may begin at another
    // operation, and lengths then differ as steps do
    let steps = |report: &Value| ["median_us", "p99_us"].map(|part| report["steps"]["known"][part].as_f64().unwrap());
    let [[length, longest], [other, other_longest]] = [steps(&of_trace), steps(&of_recordings)];
    let spread = (longest - length).max(other_longest - other);
    assert!((length - other).abs() <= spread + WITHIN as f64 / 1e3, "{length} us and {other} us, {spread} us apart");
    steps_of_regions(job);
    Ok(())
}

/// The report of that many inputs.
fn of_apart(directory: &Path, ranks: usize, name: impl Fn(usize) -> String) -> Value {
    let mut command = tool::tool();
    command.arg("report").args((0..ranks).map(|rank| directory.join(name(rank)))).args(["--json", "-"]);
    tool::summary(&mut command)
}

/// The traces of that many measurements without MPI make one job. Nobody waits in a replay for another process, so that
/// its clocks cannot be compared by causality.
pub(crate) fn read_apart(directory: &Path, ranks: usize, operations: u64) {
    let report = of_apart(directory, ranks, |rank| format!("experiment.rank{rank}"));
    let complete = &report["complete"];
    let inputs = complete["inputs"].as_array().unwrap();
    assert!(inputs.len() == ranks && inputs.iter().all(|input| input["kind"] == "archive"), "{complete:#}");
    let counts = ["ranks_here", "operations", "matched", "unmatched"].map(|count| complete[count].as_u64().unwrap());
    assert_eq!(counts, [ranks as u64, operations, operations / 2, 0], "{complete:#}");
}

/// Compares the reports of that many measurements without MPI and of the summaries that the same processes have left.
pub(crate) fn compare_apart(directory: &Path, ranks: usize) {
    let of_experiments = of_apart(directory, ranks, |rank| format!("experiment.rank{rank}"));
    let of_summaries = of_apart(directory, ranks, |rank| format!("all.{rank}.json"));
    assert_eq!(of_experiments["complete"]["inputs"].as_array().unwrap().len(), ranks);
    let lateness = |report: &Value| report["late"]["known"]["lateness"].as_array().unwrap().clone();
    let (rows, others) = (lateness(&of_experiments), lateness(&of_summaries));
    assert_eq!((rows.len(), others.len()), (ranks, ranks), "{of_experiments:#}");
    for (row, other) in rows.iter().zip(&others) {
        for fact in ["comm", "rank", "operations", "last", "one_in"] {
            assert_eq!(row[fact], other[fact], "{row} {other}");
        }
        // the clock of Score-P's timer has been turned into nanoseconds another time
        for time in ["mean_us", "p99_us"] {
            let [time, other] = [row, other].map(|row| row[time].as_f64().unwrap_or_default());
            assert!((time - other).abs() <= 0.01, "{row}: {other} us");
        }
    }
    for part in ["/speed/known/rows", "/complete/operations"] {
        let [part_of, other] = [&of_experiments, &of_summaries].map(|report| report.pointer(part).unwrap());
        assert_eq!(part_of, other, "{part}");
    }
}

/// The application has each region once, with a third of the operations. Those before the first step do not count.
fn steps_of_regions(job: &Experiment) {
    for (region, share) in REGIONS.into_iter().zip([1.0 / 3.0, 1.0 / 2.0, 1.0]) {
        let (report, _) = report::of(&[job.path()], &["--step", region]);
        let steps = &report["steps"]["known"];
        assert_eq!((&steps["source"]["region"], &steps["count"]), (&region.into(), &1.into()), "{report}");
        let covered = steps["covered"].as_f64().unwrap();
        tool::say(&format!("{region}: {covered:.3} of the operations lie in the step"));
        assert!((covered - share).abs() < 0.05, "{region}: {covered}");
    }
}

/// Sorts rows by their place in the job, and those of the same communicator by their begin on the GPU.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.communicator.clone(), row.rank, row.begin));
    rows
}
