//! The time between two exports: OpenTelemetry's variable, for every exporter.

use std::time::Duration;

const NAME: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// Reads the interval from the variable; 60 seconds without it.
///
/// # Errors
/// What is wrong, without the value.
pub(crate) fn told(lookup: impl Fn(&str) -> Option<String>) -> Result<Duration, String> {
    let Some(value) = lookup(NAME).filter(|value| !value.trim().is_empty()) else { return Ok(Duration::from_secs(60)) };
    milliseconds(NAME, &value)
}

/// Parses the value of a variable in milliseconds.
///
/// # Errors
/// What is wrong, without the value.
pub(crate) fn milliseconds(name: &str, value: &str) -> Result<Duration, String> {
    let number = value.trim().parse().ok().filter(|&number| number > 0);
    number.map(Duration::from_millis).ok_or_else(|| format!("{name} is no positive number of milliseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_minute_where_nothing_else_is_told() {
        let of = |value: Option<&str>| told(|_| value.map(str::to_owned));
        assert_eq!([None, Some(" "), Some(" 250 ")].map(|value| of(value).unwrap().as_millis()), [60_000, 60_000, 250]);
        for wrong in ["0", "-1", "1s", "secret"] {
            let why = of(Some(wrong)).unwrap_err();
            assert!(why.contains(NAME) && !why.contains("secret"), "{why}");
        }
    }
}
