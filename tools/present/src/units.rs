//! Numbers as text for people, with their units; times below the clocks' error are not resolved.

pub(crate) use common::report::count;
use report::answer::Complete;

/// Stands for an unknown figure in a table.
pub(crate) const UNKNOWN: &str = "-";

/// A unit of time, so that the numbers of an axis or a column are short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeUnit {
    /// Name: `ns`, `us`, `ms`, `s` or `min`.
    pub(crate) name: &'static str,
    /// Its length, microseconds.
    pub(crate) us: f64,
}

impl TimeUnit {
    /// Returns the unit for times up to `largest_us` microseconds.
    pub(crate) fn of(largest_us: f64) -> Self {
        let (name, us) = match largest_us.abs() {
            us if us < 0.9995 => ("ns", 1e-3),
            us if us < 999.5 => ("us", 1.0),
            us if us < 999.5e3 => ("ms", 1e3),
            us if us < 119.5e6 => ("s", 1e6),
            _ => ("min", 60e6),
        };
        Self { name, us }
    }
}

/// Writes a number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size < 0.0995 => format!("{value:.3}"),
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        size if size < 9999.5 => format!("{value:.0}"),
        size => format!("{}{}", if value < 0.0 { "-" } else { "" }, count(size.round() as u64)),
    }
}

/// Writes a round number, as at the marks of an axis, without zeros at its end.
pub(crate) fn round(value: f64) -> String {
    // a mark is a multiple of its step, and that has rounding errors
    let text = format!("{:.6}", if value.abs() < 1e-9 { 0.0 } else { value });
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Writes a time in microseconds with its unit.
pub(crate) fn time(us: f64) -> String {
    if us == 0.0 {
        return "0 s".into();
    }
    let unit = TimeUnit::of(us);
    format!("{} {}", number(us / unit.us), unit.name)
}

/// Writes a rate in GB/s (10^9 bytes per second).
pub(crate) fn rate(gb_s: f64) -> String {
    if gb_s > 0.0 && gb_s < 0.0995 {
        return format!("{} MB/s", number(gb_s * 1e3));
    }
    format!("{} GB/s", number(gb_s))
}

/// Writes a rate in GB/s without its unit, for a column of such rates.
pub(crate) fn gb_s(rate: f64) -> String {
    if rate < 1.0 { format!("{rate:.3}") } else { format!("{rate:.1}") }
}

/// Writes a share, 0 to 1, in percent. A share that is neither nothing nor all is never rounded to 0 or 100.
pub(crate) fn share(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".into(),
        percent if percent > 0.0 && percent < 0.01 => "< 0.01 %".into(),
        percent if percent < 0.995 => format!("{percent:.2} %"),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent if percent < 99.0 => format!("{percent:.0} %"),
        percent if percent < 100.0 => format!("{:.1} %", percent.min(99.9)),
        percent => format!("{percent:.0} %"),
    }
}

/// Returns the share of a part; 0 of nothing.
pub(crate) fn part_of(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
}

/// Writes a count and its noun, in the plural where there is not one: `1 rank`, `2 ranks`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        _ if number == 1 => noun.to_owned(),
        Some(stem) if !noun.ends_with("ay") => format!("{stem}ies"),
        _ if noun.ends_with("ss") => format!("{noun}es"),
        _ => format!("{noun}s"),
    };
    format!("{} {plural}", count(number))
}

/// Writes bytes in the largest binary unit that does not exceed them, with three significant digits at most.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes;
    let mut units = UNITS.iter();
    let mut unit = units.next().unwrap_or(&"B");
    while value >= 1024.0 {
        let Some(next) = units.next() else { break };
        (value, unit) = (value / 1024.0, next);
    }
    if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{} {unit}", number(value)) }
}

/// Writes a range of sizes: one size, or `from` up to `to`, which is named by its bound if that is a power of two.
pub(crate) fn sizes(from: u64, to: u64) -> String {
    let [first, last] = [from, to].map(|it| bytes(it as f64));
    match to.checked_add(1).filter(|bound| bound.is_power_of_two()) {
        _ if from == to => first,
        Some(bound) => format!("{first} to < {}", bytes(bound as f64)),
        None => format!("{first} to {last}"),
    }
}

/// Writes a figure that may be unknown.
pub(crate) fn known<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.into(), text)
}

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
    fn times_have_the_unit_that_keeps_them_short() {
        let texts = [0.0, 0.25, 1.0, 12.34, 999.4, 999.6, 412_345.0, 999_600.0, 75e6, -1500.0].map(time);
        let expected =
            ["0 s", "250 ns", "1.00 us", "12.3 us", "999 us", "1.00 ms", "412 ms", "1.00 s", "75.0 s", "-1.50 ms"];
        assert_eq!(texts, expected);
        assert_eq!(time(180e6), "3.00 min");
    }

    #[test]
    fn a_share_is_rounded_to_nothing_or_all_only_when_it_is() {
        let texts = [0.0, 0.00001, 0.004, 0.0123, 0.345, 0.9912, 0.99999, 1.0, 1.23].map(share);
        assert_eq!(texts, ["0 %", "< 0.01 %", "0.40 %", "1.2 %", "34 %", "99.1 %", "99.9 %", "100 %", "123 %"]);
    }

    #[test]
    fn rates_bytes_and_counts_have_units_and_commas() {
        assert_eq!([0.0, 0.0312, 3.1, 182.4].map(rate), ["0 GB/s", "31.2 MB/s", "3.10 GB/s", "182 GB/s"]);
        let texts = [0.0, 1023.0, 1024.0, 1536.0, 536_870_912.0].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1 KiB", "1.50 KiB", "512 MiB"]);
        assert_eq!([sizes(1024, 2047), sizes(0, 5)], ["1 KiB to < 2 KiB", "0 B to 5 B"]);
        assert_eq!(sizes(64, 64), "64 B");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(2, "process"), "2 processes");
        assert_eq!([counted(1, "rank"), counted(2, "delay"), counted(0, "entry")], ["1 rank", "2 delays", "0 entries"]);
        assert_eq!(number(-123_456.0), "-123,456");
        assert_eq!([0.0, 20.0, 0.2, 3.0 * 0.1, -15.0, 100.0].map(round), ["0", "20", "0.2", "0.3", "-15", "100"]);
    }

    #[test]
    fn an_unknown_figure_is_no_number() {
        assert_eq!(known(None, time), "-");
        assert_eq!(known(Some(2.0), time), "2.00 us");
    }

    #[test]
    fn a_time_below_the_error_is_not_resolved() {
        let complete = Complete { wait_error_us: Some(4.0), ..Complete::default() };
        assert_eq!([3.9, 4.0, -4.5].map(|us| resolved(us, &complete)), [NOT_RESOLVED, "4.00 us", "-4.50 us"]);
        assert_eq!(resolved(0.1, &Complete::default()), "100 ns");
    }
}
