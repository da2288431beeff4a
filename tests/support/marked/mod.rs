//! State files of ranks whose marks of progress are made: eight ranks on two hosts.

use common::origin::Origin;
use common::status::progress::ProgressMark;
use common::status::{ENDING, SCHEMA, Status, StatusCommunicator};
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: u64 = 1_000_000_000;
const WINDOWS: u64 = 40;

/// Writes the file of a rank of a job of eight whose windows last a second; `own` is its share of computation.
pub(crate) fn write(directory: &Path, job: Option<&str>, rank: u32, own: impl Fn(u64) -> f64) {
    let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap();
    let mut mark = ProgressMark { time: now - (WINDOWS + 1) * SECOND, ..ProgressMark::default() };
    let marks = (0..=WINDOWS).map(|window| {
        let own = (own(window) * SECOND as f64) as u64;
        let next = ProgressMark { number: window * 8, time: mark.time + SECOND, own: mark.own + own, ..mark };
        mark = ProgressMark { operations: next.operations + 8, bytes: next.bytes + 8000, ..next };
        next
    });
    let communicator = StatusCommunicator {
        comm: format!("{:016x}", job.map_or(0xc0, str::len)),
        rank: Some(rank.cast_signed()),
        nranks: 8,
        counts_all: true,
        sees_gpu: true,
        entered: WINDOWS * 8,
        begun: WINDOWS * 8,
        finished: WINDOWS * 8,
        stride: 8,
        marks: marks.collect(),
        ..StatusCommunicator::default()
    };
    let origin = Origin {
        host: Some(format!("elsewhere{}", rank / 4)),
        job: job.map(Into::into),
        rank: Some(rank),
        ..Origin::default()
    };
    let pid = 1000 + rank;
    let status = Status {
        schema: SCHEMA.into(),
        pid,
        origin,
        written: now,
        communicators: vec![communicator],
        ..Status::default()
    };
    let name = format!("{}{rank}{ENDING}", job.map(|job| job.replace(' ', "_") + ".").unwrap_or_default());
    fs::write(directory.join(name), serde_json::to_string(&status).unwrap()).unwrap();
}

/// The own time of a rank that is as all others, with small differences.
pub(crate) fn usual(rank: u32, window: u64) -> f64 {
    0.5 + 0.001 * ((window * 7 + u64::from(rank) * 5) % 11) as f64
}
