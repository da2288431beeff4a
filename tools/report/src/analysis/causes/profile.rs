//! The conditions of a rank over some time, as rates.

use crate::analysis::conditions::{Means, blocked};

/// States each rate once: its field, and the mean that it is.
macro_rules! profile {
    ($($(#[$about:meta])* $rate:ident: $mean:ident($value:expr),)+) => {
        /// Rates over a time. Shares are of that time: 0.5 is half of it. What no row has is absent.
        #[derive(Debug, Clone, Copy, Default, PartialEq)]
        pub(super) struct Profile {
            /// The time, microseconds.
            pub(super) length_us: f64,
            $($(#[$about])* pub(super) $rate: Option<f64>,)+
        }

        impl Profile {
            /// Returns the rates over some rows; `None` if there are none.
            pub(super) fn over(means: &Means<'_>) -> Option<Self> {
                Some(Self { length_us: means.length_us()?, $($rate: means.$mean($value),)+ })
            }

            /// Returns the mean of several ranks' rates; `None` of none.
            pub(super) fn mean(of: &[Self]) -> Option<Self> {
                let mean = |value: fn(&Self) -> Option<f64>| {
                    let known: Vec<f64> = of.iter().filter_map(value).collect();
                    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
                };
                Some(Self { length_us: mean(|it| Some(it.length_us))?, $($rate: mean(|it| it.$rate),)+ })
            }
        }
    };
}

profile! {
    /// Launching threads on a processor, mean of them.
    running: share_of_thread(|it| it.running_us),
    /// Launching threads that wait for one, mean of them.
    waiting: share_of_thread(|it| it.waiting_us),
    /// Number of these threads, mean over the time.
    threads: mean(|it| it.threads),
    stopped: share(|it| it.stopped_us),
    throttled: share(|it| it.throttled_us),
    stolen: share(|it| it.steal_us),
    /// Page faults with input, a second.
    major_faults: rate(|it| it.major_faults),
    /// Processors that the threads may run on.
    processors: mean(|it| it.processors.map(f64::from)),
    mhz: mean(|it| it.mhz),
    /// Clock of the GPU.
    sm_mhz: mean_of_gpu(|it| it.sm_mhz),
    hot: mean_of_gpu(|it| it.hot),
    power_capped: mean_of_gpu(|it| it.power_capped),
    power_brake: mean_of_gpu(|it| it.power_brake),
}

impl Profile {
    /// Returns how often a share of each launching thread counts for the rank. Threads that may have taken turns add
    /// up, and those that ran or were ready at once for certain do not: all together have no more than the whole time.
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
