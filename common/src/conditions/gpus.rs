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
    /// Errors since the driver was loaded, and how many of them the last row had seen.
    errors: Option<[u64; 2]>,
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

/// Hands a reading over, with the number of the GPU's errors since the driver was loaded, if it was read.
pub(crate) fn note(bus: &str, condition: GpuCondition, errors: Option<u64>) {
    let Some(mut readings) = lock::hold(&READINGS) else { return };
    let place = readings.iter().position(|it| it.bus == bus).unwrap_or_else(|| {
        readings.push(Readings { bus: bus.to_owned(), newest: None, errors: None });
        readings.len() - 1
    });
    let Some(of_gpu) = readings.get_mut(place) else { return };
    of_gpu.newest = Some(condition);
    if let Some(errors) = errors {
        of_gpu.errors = Some([errors, of_gpu.errors.map_or(errors, |[_, seen]| seen)]);
    }
}

/// Returns the conditions of the GPUs since the last call; a GPU that was not read since is absent.
pub(super) fn take() -> Vec<GpuRow> {
    let Some(mut readings) = lock::hold(&READINGS) else { return vec![] };
    let row = |it: &mut Readings| {
        let newest = it.newest.take()?;
        let new = it.errors.as_mut().map(|[all, seen]| all.saturating_sub(std::mem::replace(seen, *all)));
        Some(GpuRow::of(it.bus.clone(), &newest, new))
    };
    readings.iter_mut().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_since_is_handed_on() {
        let condition = |sm| GpuCondition { sm_clock_mhz: Some(sm), ..GpuCondition::default() };
        note("a", condition(1), Some(7));
        note("a", condition(2), None);
        note("b", condition(3), None);
        let figures = || take().into_iter().map(|row| (row.bus, row.sm_mhz, row.errors)).collect::<Vec<_>>();
        assert_eq!(figures(), [("a".into(), Some(2.0), Some(0)), ("b".into(), Some(3.0), None)]);
        assert_eq!(figures(), []);
        note("a", condition(4), Some(9));
        assert_eq!(figures(), [("a".into(), Some(4.0), Some(2))]);
    }
}
