//! Settings that NCCL says it took.

use crate::answer::LoggedSetting;
use crate::nccl_log::LoggedProcess;

/// Returns a setting of a process, if it has one of the values that `is` accepts.
pub(super) fn setting(process: &LoggedProcess, name: &str, is: impl Fn(&str) -> bool) -> Option<LoggedSetting> {
    let value = process.setting(name).filter(|value| is(value))?;
    Some(LoggedSetting { name: name.to_owned(), value: value.to_owned() })
}

/// Returns whether a value switches something on, as NCCL reads it.
pub(in crate::analysis) fn is_on(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|number| number != 0)
}
