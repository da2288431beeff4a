//! The report of an experiment: the same as that of the recordings of the same run.

use super::experiment::{Experiment, REGIONS};
use super::report::{self, Row};
use super::tool;
use std::path::Path;

/// Nanoseconds by which a time may differ. Lanes count ticks of Score-P's timer, and an operation that begins before the
/// one before it has ended is moved by up to the uncertainty of the GPU's clock. The likely error of a wait is 7 us.
const WITHIN: i64 = 7_000;

/// Compares the reports of trace and recordings.
pub(crate) fn compare(job: &Experiment, recordings: &Path) {
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
            assert!(off <= WITHIN, "{row:?}\n{other:?}");
            *most = off.max(*most);
        }
    }
    tool::say(&format!("duration, wait and transfer differ by at most {most:?} ns"));
    for part in ["/steps/known/count", "/steps/known/period", "/complete/matched", "/complete/compared"] {
        assert_eq!(of_trace.pointer(part), of_recordings.pointer(part), "{part}");
    }
    let length = |report: &serde_json::Value| report["steps"]["known"]["median_us"].as_f64().unwrap();
    assert!((length(&of_trace) - length(&of_recordings)).abs() <= WITHIN as f64 / 1e3);
    steps_of_regions(job);
}

/// The application has each region once, with a third of the operations.
fn steps_of_regions(job: &Experiment) {
    for region in REGIONS {
        let (report, _) = report::of(&[job.path()], &["--step", region]);
        let steps = &report["steps"]["known"];
        assert_eq!((&steps["source"]["region"], &steps["count"]), (&region.into(), &1.into()), "{report}");
        let covered = steps["covered"].as_f64().unwrap();
        assert!((0.2..0.5).contains(&covered), "{region}: {covered}");
    }
}

/// Sorts rows by their place in the job, and those of the same communicator by their begin on the GPU.
fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| (row.communicator.clone(), row.rank, row.begin));
    rows
}
