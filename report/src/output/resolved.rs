//! Times that the clocks resolve, and those that are smaller than the clocks' error.

use super::units::time;
use crate::answer::Complete;

/// Stands for a time that is smaller than the clocks' error.
pub(super) const NOT_RESOLVED: &str = "not resolved";

/// Writes a difference of two ranks' times, microseconds. One below the clocks' error is not resolved.
pub(super) fn resolved(us: f64, complete: &Complete) -> String {
    if is_resolved(us, complete) { time(us) } else { NOT_RESOLVED.into() }
}

/// Returns whether a difference of two ranks' times is at least as large as the clocks' error.
pub(super) fn is_resolved(us: f64, complete: &Complete) -> bool {
    us.abs() >= complete.wait_error_us.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_below_the_error_is_not_resolved() {
        let complete = Complete { wait_error_us: Some(4.0), ..Complete::default() };
        assert_eq!([3.9, 4.0, -4.5].map(|us| resolved(us, &complete)), [NOT_RESOLVED, "4.00 us", "-4.50 us"]);
        assert_eq!(resolved(0.1, &Complete::default()), "100 ns");
    }
}
