//! The two runs: whether they are of one size and their steps of one work.

use crate::answer::Report;
use serde::{Deserialize, Serialize};

/// Operations and bytes of a step that differ by no more than this share are the same.
const MAX_DIFFERENCE: f64 = 0.01;
/// Most operations of a step that come once, however many micro-steps it has.
const MAX_ONCE: f64 = 3.0;

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Number of ranks that there should be or, where that is unknown, that are here.
    pub ranks: u64,
    /// Number of nodes, where they are known.
    pub nodes: Option<u64>,
    /// NCCL's releases, as far as they are known.
    pub nccl: Vec<String>,
    /// Number of steps after the warm-up.
    pub steps: Option<u64>,
    /// Operations of a rank in a step, mean.
    pub operations: Option<f64>,
    /// Bytes of these.
    pub bytes: Option<f64>,
}

impl ComparedRun {
    pub(super) fn from_report(report: &Report) -> Self {
        let mut nodes: Vec<&str> = report.nodes.iter().map(String::as_str).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let budget = report.budget.known().filter(|budget| budget.of_steps);
        let dimensions = budget.map(|budget| &budget.dimensions);
        Self {
            ranks: report.complete.ranks.unwrap_or(report.gpus.len() as u64),
            nodes: (!nodes.is_empty()).then_some(nodes.len() as u64),
            nccl: report.nccl.clone(),
            steps: report.steps.known().map(|steps| steps.count),
            operations: dimensions.map(|all| all.iter().map(|dimension| dimension.operations).sum()),
            bytes: dimensions.map(|all| all.iter().map(|dimension| dimension.bytes).sum()),
        }
    }
}

/// Returns how many times the work of one run's step the other's has, where that is twice or more: bytes are so many
/// times those of the other, and so are operations except a few that come once a step, as the gradients' norm. More
/// accumulated gradients do that, and steps that were found by another period. More operations of fewer bytes are
/// another way to do the same work.
pub(super) fn times_the_work([before, after]: &[ComparedRun; 2]) -> Option<f64> {
    let both = |before: Option<f64>, after: Option<f64>| before.zip(after).filter(|both| both.0 > 0.0 && both.1 > 0.0);
    let (bytes, operations) = (both(before.bytes, after.bytes)?, both(before.operations, after.operations)?);
    let is_more = bytes.1 > bytes.0;
    let larger = |both: (f64, f64)| if is_more { both } else { (both.1, both.0) };
    let ((less, more), (fewer, many)) = (larger(bytes), larger(operations));
    let times = (more / less).round();
    if times < 2.0 || (more / less / times - 1.0).abs() > MAX_DIFFERENCE {
        return None;
    }
    let once = (times * fewer - many) / (times - 1.0);
    let is_so = (-MAX_DIFFERENCE * fewer..=MAX_ONCE + MAX_DIFFERENCE * fewer).contains(&once) && once < fewer / 2.0;
    is_so.then(|| if is_more { times } else { 1.0 / times })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_twice_the_operations_and_bytes_is_of_twice_the_work() {
        let run = |operations: f64, bytes: f64| ComparedRun {
            operations: Some(operations),
            bytes: Some(bytes),
            ..ComparedRun::default()
        };
        let one = || run(7.0, 1e9);
        assert_eq!(times_the_work(&[one(), run(14.0, 2e9)]), Some(2.0));
        assert_eq!(times_the_work(&[run(21.02, 3e9), one()]).map(|times| (times * 3.0).round()), Some(1.0));
        // four micro-steps and a norm
        assert_eq!(times_the_work(&[run(25.0, 1e9), run(97.0, 4e9)]), Some(4.0));
        // smaller buckets, a larger model, no steps
        for other in [run(14.0, 1e9), run(7.0, 2e9), run(8.0, 1.1e9), one(), ComparedRun::default()] {
            assert_eq!(times_the_work(&[one(), other]), None);
        }
    }
}
