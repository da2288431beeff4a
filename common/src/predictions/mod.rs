//! The times that NCCL's own model predicts for collectives, as NCCL passes them to a tuner.
//!
//! NCCL's threads note a prediction for each collective that they schedule. They neither allocate nor wait. Equal
//! predictions share a place and are counted ([`store`]).

mod store;

use crate::event::name::NcclName;
use std::io;
use std::sync::OnceLock;
use store::Store;

/// Number of different predictions that are kept.
pub(crate) const MOST: usize = 1024;

/// A way to run a collective, and the time that NCCL predicts for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PredictedWay {
    /// Algorithm.
    pub algorithm: NcclName,
    /// Protocol.
    pub protocol: NcclName,
    /// Predicted time, microseconds. Not a number if NCCL predicts none.
    pub microseconds: f32,
}

/// What NCCL predicted when it scheduled a collective, or several of one function together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Id of the communicator; `None` before NCCL 2.28, which does not pass it to a tuner.
    pub comm: Option<u64>,
    /// Number of ranks of the communicator.
    pub ranks: i32,
    /// Number of nodes of the communicator.
    pub nodes: i32,
    /// Function.
    pub function: NcclName,
    /// Bytes: those of the larger buffer of a rank, summed over operations that are scheduled together.
    pub bytes: u64,
    /// NCCL's number of operations that follow each other on a channel.
    pub pipelined: u32,
    /// Whether NCCL could register the buffers; `false` before NCCL 2.24, which does not pass it.
    pub registered: bool,
    /// Number of ways that NCCL could choose from.
    pub candidates: u8,
    /// The way with the least time.
    pub fastest: PredictedWay,
    /// The way with the least time after the user's tuner has changed the times, with NCCL's own time for it.
    pub chosen: PredictedWay,
    /// Number of channels that the user's tuner asks for; 0 if it leaves the number to NCCL.
    pub channels: u8,
}

impl Prediction {
    /// Returns whether the user's tuner has changed NCCL's choice.
    pub fn is_changed(&self) -> bool {
        let way = |way: PredictedWay| (way.algorithm, way.protocol);
        way(self.chosen) != way(self.fastest) || self.channels != 0
    }
}

static STORE: OnceLock<Option<Store>> = OnceLock::new();

/// Makes room for predictions, once. Not for a forked child, which might wait for a thread that it lacks.
///
/// # Errors
/// If the system has no memory, at the first call.
pub fn begin() -> io::Result<()> {
    let mut failed = Ok(());
    STORE.get_or_init(|| Store::new().map_err(|error| failed = Err(error)).ok());
    failed
}

/// Returns whether NCCL hands its predictions to this library.
#[inline]
pub(crate) fn are_noted() -> bool {
    store().is_some()
}

/// Notes a prediction, on NCCL's thread. It is counted as lost if there is no room.
pub fn note(prediction: &Prediction) {
    if let Some(store) = store() {
        store.note(prediction);
    }
}

/// Returns all predictions and how often each was made.
pub(crate) fn all() -> Vec<(Prediction, u64)> {
    store().map(Store::all).unwrap_or_default()
}

/// Returns the number of collectives whose predictions found no room.
pub(crate) fn lost() -> u64 {
    store().map_or(0, Store::lost)
}

fn store() -> Option<&'static Store> {
    STORE.get()?.as_ref()
}
