//! Parsers of a setting's value, one for each kind of value. They return `None` for a value that is not of that kind.

use serde::Deserialize;
use serde::de::value::{self, StrDeserializer};
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

pub(super) const KIB: usize = 1 << 10;
pub(super) const MIB: usize = 1 << 20;
/// Characters of a value that a warning shows.
const SHOWN: usize = 80;

fn text(value: &OsStr) -> Option<&str> {
    value.to_str().map(str::trim)
}

/// Takes the value as it is: a path need not be text.
pub(super) fn path(value: &OsStr) -> Option<Option<PathBuf>> {
    Some(Some(value.into()))
}

/// Takes any text.
pub(super) fn name(value: &OsStr) -> Option<Option<String>> {
    Some(Some(value.to_string_lossy().trim().to_owned()))
}

/// Parses one of the words of a choice.
pub(super) fn word<T: for<'de> Deserialize<'de>>(value: &OsStr) -> Option<T> {
    T::deserialize(StrDeserializer::<value::Error>::new(text(value)?)).ok()
}

/// Parses any text that has a meaning.
pub(super) fn parsed<T: FromStr>(value: &OsStr) -> Option<T> {
    text(value)?.parse().ok()
}

/// Makes a parser for a value that may also be absent.
pub(super) fn some<T>(parse: impl Fn(&OsStr) -> Option<T>) -> impl Fn(&OsStr) -> Option<Option<T>> {
    move |value| parse(value).map(Some)
}

/// Parses `on` or `off`.
pub(super) fn switch(value: &OsStr) -> Option<bool> {
    match text(value)? {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Makes a parser for a whole number within bounds.
pub(super) fn whole<T: FromStr + PartialOrd>(bounds: RangeInclusive<T>) -> impl Fn(&OsStr) -> Option<T> {
    move |value| text(value)?.parse().ok().filter(|number| bounds.contains(number))
}

/// Makes a parser for a whole number of units within bounds. The parser returns bytes.
pub(super) fn bytes(unit: usize, bounds: RangeInclusive<usize>) -> impl Fn(&OsStr) -> Option<usize> {
    let number = whole(bounds);
    move |value| number(value)?.checked_mul(unit)
}

/// Parses a 32-bit mask, decimal or with 0x in front.
pub(super) fn mask(value: &OsStr) -> Option<Option<u64>> {
    let text = text(value)?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.map(|number| Some(number.into()))
}

/// Parses a number that is not negative.
pub(super) fn not_negative(value: &OsStr) -> Option<f64> {
    text(value)?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Parses a positive number.
pub(super) fn positive(value: &OsStr) -> Option<f64> {
    not_negative(value).filter(|&number| number > 0.0)
}

/// Returns whether the value of a setting counts as set. An empty or blank value does not.
pub fn is_set(value: &OsStr) -> bool {
    !value.to_string_lossy().trim().is_empty()
}

/// Returns the beginning of a value, which may be long.
pub(super) fn shown(value: &OsStr) -> String {
    let value = value.to_string_lossy();
    let value = value.trim();
    value.char_indices().nth(SHOWN).map_or_else(|| value.to_owned(), |(end, _)| format!("{}...", &value[..end]))
}
