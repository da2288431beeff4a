//! The conditions of a rank over some time, as rates.

use crate::analysis::conditions::{Means, blocked};

/// Rates over a time. Shares are of that time: 0.5 is half of it. What no row has is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Profile {
    /// The time, microseconds.
    pub(super) length_us: f64,
    /// Launching threads on a processor, mean of them.
    pub(super) running: Option<f64>,
    /// Launching threads that wait for one, mean of them.
    pub(super) waiting: Option<f64>,
    /// Number of these threads, mean over the time.
    pub(super) threads: Option<f64>,
    pub(super) stopped: Option<f64>,
    pub(super) throttled: Option<f64>,
    pub(super) stolen: Option<f64>,
    /// Page faults with input, a second.
    pub(super) major_faults: Option<f64>,
    /// Processors that the threads may run on.
    pub(super) processors: Option<f64>,
    pub(super) mhz: Option<f64>,
    /// Clock of the GPU.
    pub(super) sm_mhz: Option<f64>,
    pub(super) hot: Option<f64>,
    pub(super) power_capped: Option<f64>,
    pub(super) power_brake: Option<f64>,
}

impl Profile {
    /// Returns the rates over some rows; `None` if there are none.
    pub(super) fn of(means: &Means<'_>) -> Option<Self> {
        Some(Self {
            length_us: means.length_us()?,
            running: means.share_of_thread(|it| it.running_us),
            waiting: means.share_of_thread(|it| it.waiting_us),
            threads: means.mean(|it| it.threads),
            stopped: means.share(|it| it.stopped_us),
            throttled: means.share(|it| it.throttled_us),
            stolen: means.share(|it| it.steal_us),
            major_faults: means.rate(|it| it.major_faults),
            processors: means.mean(|it| it.processors.map(f64::from)),
            mhz: means.mean(|it| it.mhz),
            sm_mhz: means.mean_of_gpu(|it| it.sm_mhz),
            hot: means.mean_of_gpu(|it| it.hot),
            power_capped: means.mean_of_gpu(|it| it.power_capped),
            power_brake: means.mean_of_gpu(|it| it.power_brake),
        })
    }

    /// Returns the mean of several ranks' rates; `None` of none.
    pub(super) fn mean(of: &[Self]) -> Option<Self> {
        let mean = |value: fn(&Self) -> Option<f64>| {
            let known: Vec<f64> = of.iter().filter_map(value).collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        Some(Self {
            length_us: mean(|it| Some(it.length_us))?,
            running: mean(|it| it.running),
            waiting: mean(|it| it.waiting),
            threads: mean(|it| it.threads),
            stopped: mean(|it| it.stopped),
            throttled: mean(|it| it.throttled),
            stolen: mean(|it| it.stolen),
            major_faults: mean(|it| it.major_faults),
            processors: mean(|it| it.processors),
            mhz: mean(|it| it.mhz),
            sm_mhz: mean(|it| it.sm_mhz),
            hot: mean(|it| it.hot),
            power_capped: mean(|it| it.power_capped),
            power_brake: mean(|it| it.power_brake),
        })
    }

    /// Returns how often a share of each launching thread counts for the rank. Threads that may have taken turns add up,
    /// and those that ran or were ready at once for certain do not: all together have no more than the whole time.
    pub(super) fn turns(&self) -> f64 {
        let threads = self.threads.unwrap_or(1.0).max(1.0);
        let ready = threads * (self.running.unwrap_or(0.0) + self.waiting.unwrap_or(0.0));
        // rows without a number of threads have sums
        if self.threads.is_some() { threads / ready.clamp(1.0, threads) } else { 1.0 }
    }

    /// Returns the share of the time in which a launching thread neither ran nor waited for a processor.
    pub(super) fn blocked(&self) -> Option<f64> {
        blocked(self.running, self.waiting, self.stopped)
    }
}
