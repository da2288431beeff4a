//! The three kinds of value in a line, each with its own `Deserialize`. serde's own implementations would not name what
//! they expect and would not borrow inside an `Option`; an untagged enum would copy first and give unclear errors.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use super::call::NAMES;
use super::error::Problem;

/// A whole number. It is wide enough for any field, so that the range is checked where the field is known.
#[derive(Clone, Copy)]
pub(super) struct Number(pub(super) i128);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Whole;
        impl Visitor<'_> for Whole {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of at most 64 bits")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(value.into()))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value.into()))
            }
        }
        source.deserialize_any(Whole)
    }
}

/// A string, borrowed from the line unless it has escapes.
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Letters;
        impl<'de> Visitor<'de> for Letters {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        source.deserialize_str(Letters)
    }
}

/// The type of an event, by its name or by the number in NCCL's `descr.type`.
pub(super) enum Kind<'a> {
    Name(Cow<'a, str>),
    Number(u64),
}

impl Kind<'_> {
    /// Returns the type's bit. Any number is accepted, for types of a newer NCCL. A name must be known: otherwise the
    /// bit is not known.
    pub(super) fn bits(&self) -> Result<u64, Problem> {
        let name = match self {
            Self::Number(bits) => return Ok(*bits),
            Self::Name(name) => name.as_ref(),
        };
        if let Some(place) = NAMES.iter().position(|known| *known == name) {
            return Ok(1 << place);
        }
        let (digits, base) = match name.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (name, 10),
        };
        match u64::from_str_radix(digits, base) {
            // from_str_radix alone would also accept a sign.
            Ok(bits) if !digits.starts_with('+') => Ok(bits),
            _ => Err(Problem::EventName(name.to_owned())),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Kind<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Type;
        impl<'de> Visitor<'de> for Type {
            type Value = Kind<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name or the number of an event type")
            }
            fn visit_u64<E: Error>(self, bits: u64) -> Result<Kind<'de>, E> {
                Ok(Kind::Number(bits))
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Kind<'de>, E> {
                Ok(Kind::Name(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Kind<'de>, E> {
                Ok(Kind::Name(Cow::Owned(text.to_owned())))
            }
        }
        source.deserialize_any(Type)
    }
}
