//! Score-P's own settings.

/// Returns whether Score-P takes a value for true: a word, or a whole number other than 0.
pub fn is_true(value: &str) -> bool {
    let number = value.trim_start();
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
    ["true", "yes", "on"].contains(&value.to_lowercase().as_str())
        || (is_number && digits.bytes().any(|digit| digit != b'0'))
}

/// Returns whether Score-P reads counters in the handlers of its samples.
pub(crate) fn has_samples() -> bool {
    std::env::var("SCOREP_ENABLE_UNWINDING").is_ok_and(|value| is_true(&value))
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_are_read_as_score_p_reads_them() {
        assert_eq!(["TRUE", "yes", "On", "1", " 2", "-1", "99999999999999999999"].map(super::is_true), [true; 7]);
        assert_eq!(["0", "false", "no", "x", "", "yes ", "1 ", "00", "-"].map(super::is_true), [false; 9]);
    }
}
