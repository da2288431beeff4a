//! Score-P's side of a replay: the calls of a program that replays recorded callbacks, in the order of a measurement.

use crate::metrics::{counters, ids};
use crate::{lanes, run};
use common::clock::CLOCK;
use common::series::SeriesName;

pub use crate::measurement::{LaneTarget, OwnLocation};
pub use crate::metrics::memory::Metric;
pub use crate::run::{take_arrivals, take_timeline};

/// Prepares the measurement: its clock, and what lanes and series are written into.
pub fn prepare(clock: unsafe extern "C" fn() -> u64, target: &'static dyn LaneTarget) {
    CLOCK.set_function(clock);
    counters::prepare();
    run::write_into(target);
}

/// Returns the counters of a token that no earlier token has named.
pub fn show(token: &str) -> Vec<Metric<'static>> {
    counters::show(token)
}

/// Has a series written at the end.
pub fn ask_for_series(name: SeriesName) {
    lanes::ask_for_series(name);
}

/// Returns the number by which a counter is read on the calling thread.
pub fn number(counter: &str) -> i32 {
    counters::number(counter)
}

/// Returns the current value of the counter with this number.
pub fn value(number: i32) -> u64 {
    ids::read(number)
}

/// Begins the measurement, on its first thread.
pub fn begin() {
    run::begin();
}

/// Ends the measurement, on the same thread: everything is recorded, the summary written, and lanes and series are.
pub fn end() {
    run::measurement_ends();
}
