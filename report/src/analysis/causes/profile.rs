//! The conditions of a rank over some time, as rates.

use super::PlacedRow;
use common::conditions::{ConditionRow, GpuRow, HostCondition};

/// Rates over a time. Shares are of that time: 0.5 is half of it. What no row has is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Profile {
    /// The time, microseconds.
    pub(super) length_us: f64,
    /// Launching threads on a processor, summed over them.
    pub(super) running: Option<f64>,
    /// Launching threads that wait for one, summed over them.
    pub(super) waiting: Option<f64>,
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
    /// Returns the rates over the rows that lie in a time, at least by half.
    /// `gpu` is the place of the rank's GPU among those of its process.
    pub(super) fn of(rows: &[PlacedRow], gpu: usize, [begin, end]: [i64; 2]) -> Option<Self> {
        let inside = |it: &&PlacedRow| {
            let part = it.span[1].min(end).saturating_sub(it.span[0].max(begin));
            part.saturating_mul(2) >= it.span[1].saturating_sub(it.span[0])
        };
        Self::sum(&rows.iter().filter(inside).collect::<Vec<_>>(), gpu)
    }

    /// Returns the rates over some rows; `None` if there are none.
    pub(super) fn sum(rows: &[&PlacedRow], gpu: usize) -> Option<Self> {
        let length_us: f64 = rows.iter().map(|it| it.row.length_us as f64).sum();
        if length_us <= 0.0 {
            return None;
        }
        // over the rows that have it, by their lengths
        let mean_of = |of: &dyn Fn(&ConditionRow) -> Option<f64>| {
            let known = rows.iter().filter_map(|it| Some([of(&it.row)?, it.row.length_us as f64]));
            let [sum, length] = known.fold([0.0; 2], |[sum, all], [a, length]| [sum + a * length, all + length]);
            (length > 0.0).then(|| sum / length)
        };
        let part = |us: Option<u64>, row: &ConditionRow| Some(us? as f64 / row.length_us.max(1) as f64);
        let share = |of: fn(&HostCondition) -> Option<u64>| mean_of(&|row| part(of(&row.host), row));
        let mean = |of: fn(&HostCondition) -> Option<f64>| mean_of(&|row| of(&row.host));
        let of_gpu = |of: fn(&GpuRow) -> Option<f64>| mean_of(&|row| of(row.gpus.get(gpu)?));
        Some(Self {
            length_us,
            running: share(|it| it.running_us),
            waiting: share(|it| it.waiting_us),
            stopped: share(|it| it.stopped_us),
            throttled: share(|it| it.throttled_us),
            stolen: share(|it| it.steal_us),
            major_faults: share(|it| it.major_faults).map(|a_microsecond| a_microsecond * 1e6),
            processors: mean(|it| it.processors.map(f64::from)),
            mhz: mean(|it| it.mhz),
            sm_mhz: of_gpu(|it| it.sm_mhz),
            hot: of_gpu(|it| it.hot),
            power_capped: of_gpu(|it| it.power_capped),
            power_brake: of_gpu(|it| it.power_brake),
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

    /// Returns the share of the time in which no launching thread ran or waited for a processor. Threads that did so
    /// together count as one after the other, so the true share may be larger.
    pub(super) fn blocked(&self) -> Option<f64> {
        let stopped = self.stopped.unwrap_or(0.0);
        Some((1.0 - self.running? - self.waiting? - stopped).clamp(0.0, 1.0))
    }
}
