//! Score-P's own settings: variables that mean to this library what they mean to Score-P.

use std::env;

/// Returns whether Score-P takes a value for true.
pub fn is_true(value: &str) -> bool {
    let value = value.trim().to_lowercase();
    ["true", "yes", "on"].contains(&value.as_str()) || value.parse::<u64>().is_ok_and(|number| number > 0)
}

fn is_on(name: &str, default: bool) -> bool {
    env::var(name).ok().filter(|value| !value.trim().is_empty()).map_or(default, |value| is_true(&value))
}

/// Returns whether Score-P writes a trace and makes no profile.
pub(crate) fn is_trace_alone() -> bool {
    is_on("SCOREP_ENABLE_TRACING", false) && !is_on("SCOREP_ENABLE_PROFILING", true)
}

/// Returns whether Score-P reads counters in the handlers of its samples.
pub(crate) fn has_samples() -> bool {
    is_on("SCOREP_ENABLE_UNWINDING", false)
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_read_as_score_p_reads_them() {
        assert_eq!(["TRUE", " yes", "1", "on"].map(super::is_true), [true; 4]);
        assert_eq!(["0", "false", "no", "x", ""].map(super::is_true), [false; 5]);
    }
}
