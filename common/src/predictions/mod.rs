//! The times that NCCL's own model predicts for collectives, as NCCL passes them to a tuner.
//!
//! NCCL's threads note a prediction for each collective that they schedule. They neither allocate nor wait. Equal
//! predictions share a place and are counted (`store`).

mod prediction;
mod store;

use std::io;
use std::sync::OnceLock;
use store::Store;

pub use prediction::{PredictedWay, Prediction};

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
