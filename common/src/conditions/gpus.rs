//! The conditions of the process' GPUs, as the thread that asks NVML hands them over.

use super::gpu_row::GpuRow;
use crate::base::lock;
use crate::hardware::nvml::condition::GpuCondition;
use std::sync::Mutex;

/// Readings of a GPU.
#[derive(Debug)]
struct Readings {
    bus: String,
    /// The reading that the last row ended with.
    before: GpuCondition,
    /// The newest one since; `None` if there is none.
    newest: Option<GpuCondition>,
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

/// Hands a reading over.
pub(crate) fn note(bus: &str, condition: GpuCondition) {
    let Some(mut readings) = lock::hold(&READINGS) else { return };
    match readings.iter_mut().find(|it| it.bus == bus) {
        Some(readings) => readings.newest = Some(condition),
        None => readings.push(Readings { bus: bus.to_owned(), before: condition, newest: None }),
    }
}

/// Returns the conditions of the GPUs since the last call; a GPU that was not read since is absent.
pub(super) fn take() -> Vec<GpuRow> {
    let Some(mut readings) = lock::hold(&READINGS) else { return vec![] };
    let row = |it: &mut Readings| {
        let newest = it.newest.take()?;
        Some(GpuRow::between(it.bus.clone(), &std::mem::replace(&mut it.before, newest), &newest))
    };
    readings.iter_mut().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_read_since_is_handed_on() {
        let condition = |sm| GpuCondition { sm_clock_mhz: Some(sm), ..GpuCondition::default() };
        note("a", condition(1));
        assert_eq!(take(), []);
        note("a", condition(2));
        note("a", condition(3));
        note("b", condition(4));
        let rows = take();
        assert_eq!(rows.iter().map(|row| (row.bus.as_str(), row.sm_mhz)).collect::<Vec<_>>(), [("a", Some(3.0))]);
        assert_eq!(take(), []);
    }
}
