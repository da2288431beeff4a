//! The conditions of the process' GPUs, as the thread that asks NVML hands them over.

use super::gpu_row::GpuRow;
use crate::base::lock;
use crate::hardware::nvml::condition::GpuCondition;
use std::sync::Mutex;

/// Readings of a GPU.
#[derive(Debug)]
struct Readings {
    bus: String,
    /// The newest one since the last row; `None` if there is none.
    newest: Option<GpuCondition>,
    /// Errors by kind since the driver was loaded, at the last reading of each.
    errors: ErrorCounts,
    /// New errors since the last row, if any kind was read twice.
    new: Option<u64>,
}

static READINGS: Mutex<Vec<Readings>> = Mutex::new(vec![]);

/// The GPUs on which the process has communicators, by their places on the PCI bus.
static MET: Mutex<Vec<String>> = Mutex::new(vec![]);

/// Notes the GPUs on which the process has communicators.
pub(crate) fn meet(gpus: Vec<String>) {
    if let Some(mut met) = lock::hold(&MET) {
        *met = gpus;
    }
}

/// Returns these GPUs.
pub(super) fn met() -> Vec<String> {
    lock::hold(&MET).map(|met| met.clone()).unwrap_or_default()
}

/// Numbers of errors by kind, as [`GpuCondition::errors`] has them.
pub(crate) type ErrorCounts = [Option<u64>; 10];

/// Hands a reading over, with the numbers of the GPU's errors since the driver was loaded, if they were read.
pub(crate) fn note(bus: &str, condition: GpuCondition, errors: Option<ErrorCounts>) {
    let Some(mut readings) = lock::hold(&READINGS) else { return };
    let place = readings.iter().position(|it| it.bus == bus).unwrap_or_else(|| {
        readings.push(Readings { bus: bus.to_owned(), newest: None, errors: ErrorCounts::default(), new: None });
        readings.len() - 1
    });
    let Some(of_gpu) = readings.get_mut(place) else { return };
    of_gpu.newest = Some(condition);
    for (known, now) in of_gpu.errors.iter_mut().zip(errors.into_iter().flatten()) {
        // a kind that was refused now or before has no step
        if let (Some(before), Some(now)) = (*known, now) {
            of_gpu.new = Some(of_gpu.new.unwrap_or(0).saturating_add(now.saturating_sub(before)));
        }
        *known = now.or(*known);
    }
}

/// Returns the conditions of the GPUs since the last call; a GPU that was not read since is absent.
pub(super) fn take() -> Vec<GpuRow> {
    let Some(mut readings) = lock::hold(&READINGS) else { return vec![] };
    let row = |it: &mut Readings| {
        let newest = it.newest.take()?;
        Some(GpuRow::of(it.bus.clone(), &newest, it.new.take()))
    };
    readings.iter_mut().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_since_is_handed_on() {
        let condition = |sm| GpuCondition { sm_clock_mhz: Some(sm), ..GpuCondition::default() };
        let errors = |first, second| Some([first, second, None, None, None, None, None, None, None, None]);
        note("a", condition(1), errors(Some(7), None));
        note("a", condition(2), None);
        note("b", condition(3), None);
        let figures = || take().into_iter().map(|row| (row.bus, row.sm_mhz, row.errors)).collect::<Vec<_>>();
        assert_eq!(figures(), [("a".into(), Some(2.0), None), ("b".into(), Some(3.0), None)]);
        assert_eq!(figures(), []);
        // the second kind is read for the first time: its past is not the job's
        note("a", condition(4), errors(Some(9), Some(1000)));
        assert_eq!(figures(), [("a".into(), Some(4.0), Some(2))]);
        note("a", condition(5), errors(None, Some(1003)));
        assert_eq!(figures(), [("a".into(), Some(5.0), Some(3))]);
    }
}
