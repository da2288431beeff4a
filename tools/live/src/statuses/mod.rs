//! The status files of a job: read twice, with the life of each process.

mod file;
mod life;
mod looks;
mod reading;

pub(crate) use life::Life;
pub(crate) use looks::StatusLooks;
pub(crate) use reading::{StatusReading, observe, read, read_text};

use common::origin::since_epoch;
use common::status::bounded::at_most;
use common::status::{MOST_WAITS, PERIOD_SECONDS, Status, StatusCommunicator};
use life::OwnHost;
use std::time::Duration;

/// Age up to which a status has just been written, seconds.
pub(crate) const FRESH: f64 = 5.0 * PERIOD_SECONDS;

/// A process as two readings of its status file show it.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    /// Name of the file.
    pub(crate) file: String,
    /// The later reading.
    pub(crate) status: Status,
    /// What the system says of the process.
    pub(crate) life: Life,
    /// Whether the process has written between the readings.
    pub(crate) beats: bool,
    /// Whether anything has moved in each communicator of [`Status::communicators`] between the readings.
    pub(crate) moved: Vec<bool>,
}

/// Returns whether a process of this host is gone. One that has just written may live in a container, whose process ids
/// are others.
pub(crate) fn is_gone(status: &Status) -> bool {
    let is_new = since_epoch().saturating_sub(Duration::from_nanos(status.written)).as_secs_f64() < FRESH;
    !is_new && matches!(OwnHost::own().life(status), Life::Gone | Life::Zombie | Life::Left)
}

/// Returns whether a process belongs to another host, which alone can say whether it lives.
pub(crate) fn is_elsewhere(status: &Status) -> bool {
    OwnHost::own().life(status) == Life::Elsewhere
}

/// Counts of a communicator that show progress, from the earlier reading.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
struct ProgressCounts {
    comm: String,
    rank: Option<i32>,
    entered: u64,
    entered_p2p: u64,
    begun: u64,
    finished: u64,
    #[serde(deserialize_with = "at_most::<MOST_WAITS, _, _>")]
    waits: Vec<TransferSteps>,
}

/// Steps of a network transfer that have ended.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
struct TransferSteps {
    steps: u64,
}

impl From<&StatusCommunicator> for ProgressCounts {
    fn from(of: &StatusCommunicator) -> Self {
        let waits = of.waits.iter().map(|wait| TransferSteps { steps: wait.steps }).collect();
        let &StatusCommunicator { ref comm, rank, entered, entered_p2p, begun, finished, .. } = of;
        Self { comm: comm.clone(), rank, entered, entered_p2p, begun, finished, waits }
    }
}
