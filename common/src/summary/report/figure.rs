//! Numbers as text for people.

/// Stands for an unknown figure.
const ABSENT: &str = "-";

/// Writes a number with this many digits after the point.
pub(super) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| ABSENT.into(), |value| format!("{value:.digits$}"))
}

/// Writes a value and its standard error with this many digits after the point.
pub(super) fn with_error(value: Option<(f64, f64)>, digits: usize) -> String {
    value.map_or_else(|| ABSENT.into(), |(value, error)| format!("{value:.digits$} ± {error:.digits$}"))
}

/// Writes a share in percent.
pub(super) fn share(part: u64, all: u64) -> String {
    number((all > 0).then(|| 100.0 * part as f64 / all as f64), 1)
}

/// Writes a count with commas between thousands.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let comma = |place: usize| place > 0 && (digits.len() - place).is_multiple_of(3);
    digits
        .chars()
        .enumerate()
        .flat_map(|(place, digit)| comma(place).then_some(',').into_iter().chain([digit]))
        .collect()
}

/// Writes bytes in the largest unit that does not exceed them.
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    match bytes.max(1).ilog2() / 10 {
        0 => format!("{bytes} B"),
        power => format!("{:.2} {}", bytes as f64 / (1_u64 << (10 * power)) as f64, UNITS[power as usize]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_shown_as_absent() {
        assert_eq!(number(None, 2), ABSENT);
        assert_eq!(number(Some(1.005), 1), "1.0");
        assert_eq!([with_error(None, 1), with_error(Some((7.25, 0.5)), 1)], ["-", "7.2 ± 0.5"]);
    }

    #[test]
    fn a_share_of_nothing_is_absent() {
        assert_eq!([share(1, 24), share(24, 24), share(0, 0)], ["4.2", "100.0", ABSENT]);
    }

    #[test]
    fn thousands_have_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567")]
        {
            assert_eq!(count(number), text);
        }
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn bytes_have_their_largest_unit() {
        for (number, text) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (1536, "1.50 KiB"), (5 << 30, "5.00 GiB")]
        {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(bytes(u64::MAX), "16.00 EiB");
    }
}
