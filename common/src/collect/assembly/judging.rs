//! Whether an operation's stamps are believed.

use crate::clock::gpu::GpuClock;
use crate::collect::in_step::InStep;
use crate::operation::Operation;
use crate::operation::verdict::{Cause, StampVerdict};

/// An operation whose first stamp lies more than this before its enqueue has another operation's stamp, nanoseconds. In
/// step, a stamp lies before the enqueue by no more than the uncertainty of the clocks: 75 us in all recordings.
const EARLY: f64 = 1e6;

/// Returns the verdict on an operation's stamps. Stamps of the operation that lie before its enqueue condemn it and all
/// later operations.
pub(super) fn judge(
    in_step: &mut InStep,
    clock: &GpuClock,
    nanoseconds_per_tick: f64,
    operation: &Operation,
) -> StampVerdict {
    let verdict = in_step.verdict(operation.order);
    let first = operation.span().map(|(first, _)| first).filter(|_| verdict == StampVerdict::InStep);
    let early = first.and_then(|first| clock.nanoseconds_before(first, operation.start, nanoseconds_per_tick));
    if early.is_none_or(|early| early <= EARLY) {
        return verdict;
    }
    in_step.condemn(operation.order, Cause::EarlyStamp);
    StampVerdict::OutOfStep
}
