//! The value of a field, in the range that it has in NCCL's C structs and in a recording.

use super::bounds;
use super::error::Problem;
use super::line::{TextValue, WholeNumber};

/// An integer type of NCCL's C structs, with its range in words.
pub(crate) trait Whole: TryFrom<i128> {
    const RANGE: &str;
}
impl Whole for u8 {
    const RANGE: &str = "0 to 255";
}
impl Whole for u32 {
    const RANGE: &str = "0 to 4294967295";
}
impl Whole for i32 {
    const RANGE: &str = "-2147483648 to 2147483647";
}
impl Whole for i64 {
    const RANGE: &str = "-9223372036854775808 to 9223372036854775807";
}
impl Whole for u64 {
    const RANGE: &str = "0 to 18446744073709551615";
}

pub(crate) fn int<T: Whole>(field: &'static str, number: Option<WholeNumber>) -> Result<T, Problem> {
    let WholeNumber(value) = number.ok_or(Problem::Missing(field))?;
    T::try_from(value).map_err(|_| Problem::Range { field, value, range: T::RANGE })
}

/// Reads a number that a line need not have.
pub(crate) fn int_if_any<T: Whole>(field: &'static str, number: Option<WholeNumber>) -> Result<Option<T>, Problem> {
    number.map(|number| int(field, Some(number))).transpose()
}

/// Reads a number of ranks, or of nodes.
pub(crate) fn ranks(field: &'static str, number: Option<WholeNumber>) -> Result<i32, Problem> {
    let ranks = int(field, number)?;
    if common::ranks::are_possible(ranks) { Ok(ranks) } else { Err(Problem::Ranks { field, ranks: ranks.into() }) }
}

pub(crate) fn time(field: &'static str, number: Option<WholeNumber>) -> Result<u64, Problem> {
    let time = int(field, number)?;
    if time > bounds::TIME { Err(Problem::Time { field, time }) } else { Ok(time) }
}

pub(crate) fn hexadecimal(field: &'static str, text: Option<&TextValue<'_>>) -> Result<u64, Problem> {
    let text = text.ok_or(Problem::Missing(field))?.0.as_ref();
    // from_str_radix alone would also accept a sign.
    let digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match u64::from_str_radix(text, 16) {
        Ok(value) if digits => Ok(value),
        _ => Err(Problem::Hexadecimal { field, value: text.to_owned() }),
    }
}
