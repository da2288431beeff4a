//! Values as they are written in a setting; `None` for what is none.

/// Bytes of so many MiB, from 1 to `most`.
pub(super) fn mebibytes(text: &str, most: usize) -> Option<usize> {
    Some(text.parse().ok().filter(|count| (1..=most).contains(count))? << 20)
}

/// What a switch says.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// A number, decimal or with 0x in front.
pub(super) fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A number from 0 on.
pub(super) fn not_negative(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A positive number.
pub(super) fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}
