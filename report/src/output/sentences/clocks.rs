//! Waits that clocks leave unknown.

use super::super::pace::Pace;
use super::super::units::time;
use crate::answer::Report;

/// Errors of the waits a step, as a share of all ranks' time, below which waits are as good as known.
const SMALL: f64 = 0.01;

/// Returns the error of a wait, microseconds, where the clocks of machines are known so little that waits may as well be
/// nothing as twice as long; `None` where waits are known.
pub(super) fn unknown_waits(report: &Report) -> Option<f64> {
    let late = report.late.known().filter(|_| report.complete.nodes > 1)?;
    let sum = |of: fn(&crate::answer::RankLate) -> f64| late.ranks.iter().map(of).sum::<f64>();
    let (calls, wait, error) =
        (sum(|rank| rank.calls as f64), sum(|rank| rank.wait_us), sum(|rank| rank.wait_error_us));
    let pace = Pace::of(report);
    let is_small = pace.share(pace.a_step(error)).is_some_and(|share| share < SMALL);
    (error > 0.0 && error >= wait && !is_small).then(|| error / calls)
}

/// Says that the share of waits is not known, and how it would be.
pub(super) fn no_share(error_us: f64) -> String {
    format!(
        "how much of that is waiting for other ranks is not known, since waits between nodes are known to {} an \
         operation (an all-reduce over all nodes a step, of a few bytes, lets the report compare their clocks)",
        time(error_us)
    )
}
