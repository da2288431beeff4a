//! Values as they are written in a setting: how each kind is read. `None` for a value that is none of the kind.

use crate::base::log::Verbosity;
use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

pub(super) const KIB: usize = 1 << 10;
pub(super) const MIB: usize = 1 << 20;

fn text(value: &OsStr) -> Option<&str> {
    value.to_str().map(str::trim)
}

/// As it is: a path need not be text.
pub(super) fn path(value: &OsStr) -> Option<Option<PathBuf>> {
    Some(Some(value.into()))
}

/// Any text.
pub(super) fn name(value: &OsStr) -> Option<Option<String>> {
    Some(Some(value.to_string_lossy().trim().to_owned()))
}

/// One of several words.
pub(super) fn named<T>(parse: impl Fn(&str) -> Option<T>) -> impl Fn(&OsStr) -> Option<T> {
    move |value| parse(text(value)?)
}

/// A value that also may be absent.
pub(super) fn some<T>(parse: impl Fn(&OsStr) -> Option<T>) -> impl Fn(&OsStr) -> Option<Option<T>> {
    move |value| parse(value).map(Some)
}

/// `on` or `off`.
pub(super) fn switch(value: &OsStr) -> Option<bool> {
    match text(value)? {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// A whole number within bounds.
pub(super) fn whole<T: FromStr + PartialOrd>(bounds: RangeInclusive<T>) -> impl Fn(&OsStr) -> Option<T> {
    move |value| text(value)?.parse().ok().filter(|number| bounds.contains(number))
}

/// Bytes of so many units, a number within bounds.
pub(super) fn bytes(unit: usize, bounds: RangeInclusive<usize>) -> impl Fn(&OsStr) -> Option<usize> {
    let number = whole(bounds);
    move |value| number(value)?.checked_mul(unit)
}

/// 32 bits, decimal or with 0x in front.
pub(super) fn mask(value: &OsStr) -> Option<Option<u64>> {
    let text = text(value)?;
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    number.map(|number| Some(number.into()))
}

/// A number from 0 on.
pub(super) fn not_negative(value: &OsStr) -> Option<f64> {
    text(value)?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A positive number.
pub(super) fn positive(value: &OsStr) -> Option<f64> {
    not_negative(value).filter(|&number| number > 0.0)
}

/// The verbosity of that name.
pub(super) fn verbosity(name: &str) -> Option<Verbosity> {
    match name {
        "off" => Some(Verbosity::Off),
        "warn" => Some(Verbosity::Warn),
        "info" => Some(Verbosity::Info),
        _ => None,
    }
}
