//! Whether a GPU's calls waited for their launch by the host, or for the GPU.

use super::super::sketch::TimeSketch;
use crate::answer::RankLaunches;
use crate::stream::Call;
use common::operation::Later;

/// Calls of one GPU by the later of launch and GPU, and the delay costs of those calls, nanoseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Launches {
    calls: [u64; 2],
    cost: [u64; 2],
    /// From the launch to the begin of calls that waited for the GPU.
    queued: TimeSketch,
}

impl Launches {
    /// Adds a call; not a second one of the same kernel.
    pub(super) fn add(&mut self, call: &Call, later: Option<Later>) {
        let Some(later) = later else { return };
        self.calls[later as usize] += 1;
        if let Some(queued) = call.queued().filter(|_| later == Later::Gpu) {
            self.queued.add(queued);
        }
    }

    /// Adds what others waited for a call.
    pub(super) fn charge(&mut self, later: Option<Later>, cost: u64) {
        if let Some(later) = later {
            let sum = &mut self.cost[later as usize];
            *sum = sum.saturating_add(cost);
        }
    }

    /// Returns the figures; `None` if no call's launch is known.
    pub(super) fn row(&self) -> Option<RankLaunches> {
        let [host, gpu] = self.calls;
        let [host_cost_us, gpu_cost_us] = self.cost.map(|cost| cost as f64 / 1e3);
        (host + gpu > 0).then(|| RankLaunches {
            host_later: host,
            gpu_later: gpu,
            queued_us: self.queued.sum() as f64 / 1e3,
            queued_median_us: self.queued.percentile(0.5).map(|median| median / 1e3),
            host_cost_us,
            gpu_cost_us,
        })
    }
}
