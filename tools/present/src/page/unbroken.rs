//! Text whose lines do not break between a number and its unit.

/// Units that follow a number.
const UNITS: [&str; 15] =
    ["%", "ns", "us", "ms", "s", "min", "GB/s", "MB/s", "B", "KiB", "MiB", "GiB", "TiB", "ranks", "rank"];

/// Puts spaces that do not break between numbers and their units, and between `rank` and its number.
pub(super) fn unbroken(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 16);
    let mut before = "";
    for word in text.split(' ') {
        let unit = word.trim_end_matches([',', '.', ';', ':', ')']).trim_end_matches("'s");
        let is_number = |word: &str| word.chars().next_back().is_some_and(|last| last.is_ascii_digit());
        let belongs =
            is_number(before) && UNITS.contains(&unit) || before.eq_ignore_ascii_case("rank") && is_number(unit);
        if !written.is_empty() {
            written.push(if belongs { '\u{a0}' } else { ' ' });
        }
        written += word;
        before = word;
    }
    written
}

#[cfg(test)]
mod tests {
    use super::unbroken;

    #[test]
    fn numbers_stay_with_their_units() {
        let text = unbroken("Rank 3's peers waited 82.1 ms, 99 % of 12 MiB (rank 4: 5 GB/s) in 57 of 703 operations");
        assert_eq!(
            text.replace('\u{a0}', "_"),
            "Rank_3's peers waited 82.1_ms, 99_% of 12_MiB (rank 4: 5_GB/s) in 57 of 703 operations"
        );
    }
}
