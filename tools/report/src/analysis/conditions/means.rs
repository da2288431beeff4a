//! Means over rows of conditions, by the rows' lengths.

use common::conditions::{ConditionRow, GpuRow, HostCondition};

/// Rows of a process, and the GPU of it that they are looked at for. A figure that no row has is absent.
#[derive(Debug)]
pub struct Means<'a> {
    rows: Vec<&'a ConditionRow>,
    /// The GPU's place on the PCI bus, where that is known.
    bus: Option<&'a str>,
}

impl<'a> Means<'a> {
    pub(super) fn new(rows: Vec<&'a ConditionRow>, bus: Option<&'a str>) -> Self {
        Self { rows, bus }
    }

    /// Returns the rows' length, microseconds; `None` without a row of any length.
    pub fn length_us(&self) -> Option<f64> {
        let length = self.rows.iter().map(|row| row.length_us as f64).sum();
        (length > 0.0).then_some(length)
    }

    /// Returns the share of the time that a figure of microseconds has.
    pub fn share(&self, of: fn(&HostCondition) -> Option<u64>) -> Option<f64> {
        self.mean_of(|row| Some(of(&row.host)? as f64 / row.length_us.max(1) as f64))
    }

    /// Returns the share of the time that a figure of microseconds has, which is summed over launching threads: the
    /// mean of those that ran or were ready. Rows of earlier versions do not say how many these were: they count as
    /// one.
    pub fn share_of_thread(&self, of: fn(&HostCondition) -> Option<u64>) -> Option<f64> {
        self.mean_of(|row| share_of_thread(row, of))
    }

    /// Returns how often something happens, a second.
    pub fn rate(&self, of: fn(&HostCondition) -> Option<u64>) -> Option<f64> {
        self.share(of).map(|a_microsecond| a_microsecond * 1e6)
    }

    /// Returns the mean of a figure of the host.
    pub fn mean(&self, of: fn(&HostCondition) -> Option<f64>) -> Option<f64> {
        self.mean_of(|row| of(&row.host))
    }

    /// Returns the mean of a figure of the GPU.
    pub fn mean_of_gpu(&self, of: fn(&GpuRow) -> Option<f64>) -> Option<f64> {
        self.mean_of(|row| of(gpu_of(row, self.bus)?))
    }

    /// Returns the values of the host that are known.
    pub fn of_host<T: 'a>(&self, of: fn(&HostCondition) -> Option<T>) -> impl Iterator<Item = T> {
        self.rows.iter().filter_map(move |row| of(&row.host))
    }

    /// Returns the values of the GPU that are known.
    pub fn of_gpu<T: 'a>(&self, of: fn(&GpuRow) -> Option<T>) -> impl Iterator<Item = T> {
        self.rows.iter().filter_map(move |row| of(gpu_of(row, self.bus)?))
    }

    fn mean_of(&self, of: impl Fn(&ConditionRow) -> Option<f64>) -> Option<f64> {
        let known = self.rows.iter().filter_map(|row| Some([of(row)?, row.length_us as f64]));
        let [sum, length] = known.fold([0.0; 2], |[sum, all], [a, length]| [sum + a * length, all + length]);
        (length > 0.0).then(|| sum / length)
    }
}

/// Returns a row's share of [`Means::share_of_thread`].
pub(super) fn share_of_thread(row: &ConditionRow, of: fn(&HostCondition) -> Option<u64>) -> Option<f64> {
    let threads = row.host.threads.unwrap_or(1.0).max(1.0);
    Some(of(&row.host)? as f64 / row.length_us.max(1) as f64 / threads)
}

/// Returns the share of the time in which a launching thread neither ran nor waited for a processor, from the shares in
/// which it did and in which the process was stopped.
pub fn blocked(running: Option<f64>, waiting: Option<f64>, stopped: Option<f64>) -> Option<f64> {
    Some((1.0 - running? - waiting? - stopped.unwrap_or(0.0)).clamp(0.0, 1.0))
}

pub(super) fn gpu_of<'a>(row: &'a ConditionRow, bus: Option<&str>) -> Option<&'a GpuRow> {
    row.gpus.iter().find(|gpu| Some(gpu.bus.as_str()) == bus)
}
