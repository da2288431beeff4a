//! What does communication cost a step? The verdict is by the time that the GPUs wait or transfer beside no
//! computation.

use super::pace::Pace;
use crate::answer::{AnswerVerdict, Budget, RankLate, Report};

/// Share of the operations with a GPU time from which on shares of a step are right.
const MIN_TIMED_SHARE: f64 = 0.9;
/// Shares of a step without computation from which on communication is worth a look, and costs much.
const NOTABLE_SHARE: f64 = 0.2;
const LARGE_SHARE: f64 = 0.4;
/// Errors of the waits a step, as a share of all ranks' time, below which waits are as good as known.
const MAX_ERROR_SHARE: f64 = 0.01;

/// Returns the verdict on a budget; `None` if no GPU has any time.
pub fn of_cost(budget: &Budget) -> Option<AnswerVerdict> {
    let whole = Some(budget.whole.total_ns).filter(|whole| *whole > 0)?;
    let exposed = communication_ns(budget) as f64 / whole as f64;
    Some(match exposed {
        // without kernels, computation may run beside it
        share if share >= LARGE_SHARE && budget.with_kernels => AnswerVerdict::Bad,
        share if share >= NOTABLE_SHARE => AnswerVerdict::Look,
        _ if !shares_hold(budget) => AnswerVerdict::Unknown,
        _ => AnswerVerdict::Fine,
    })
}

/// Returns whether enough operations have a GPU time for shares of a step to be right.
pub fn shares_hold(budget: &Budget) -> bool {
    budget.timed >= MIN_TIMED_SHARE
}

/// Returns whether waits are known in more than half of the time in NCCL.
pub fn waits_are_known(budget: &Budget) -> bool {
    budget.whole.not_compared_ns.saturating_mul(2) <= communication_ns(budget)
}

/// Returns the time in NCCL of all GPUs without computation beside it, nanoseconds.
pub fn communication_ns(budget: &Budget) -> u64 {
    budget.whole.waiting_ns.saturating_add(budget.whole.transferring_ns)
}

/// Returns the error of a wait, microseconds, where the clocks of machines are known so little that waits may as well
/// be nothing as twice as long; `None` where waits are known.
pub fn unknown_waits(report: &Report) -> Option<f64> {
    let late = report.late.known().filter(|_| report.complete.nodes > 1)?;
    let sum = |of: fn(&RankLate) -> f64| late.ranks.iter().map(of).sum::<f64>();
    let (calls, wait, error) =
        (sum(|rank| rank.calls as f64), sum(|rank| rank.wait_us), sum(|rank| rank.wait_error_us));
    let pace = Pace::from_report(report);
    let is_small = pace.share(pace.a_step(error)).is_some_and(|share| share < MAX_ERROR_SHARE);
    (error > 0.0 && error >= wait && !is_small).then(|| error / calls)
}
