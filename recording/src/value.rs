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
pub(super) struct WholeNumber(pub(super) i128);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct WholeVisitor;
        impl Visitor<'_> for WholeVisitor {
            type Value = WholeNumber;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of at most 64 bits")
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<WholeNumber, E> {
                Ok(WholeNumber(value.into()))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<WholeNumber, E> {
                Ok(WholeNumber(value.into()))
            }
        }
        source.deserialize_any(WholeVisitor)
    }
}

/// A string, borrowed from the line unless it has escapes.
pub(super) struct TextValue<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for TextValue<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Letters;
        impl<'de> Visitor<'de> for Letters {
            type Value = TextValue<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<TextValue<'de>, E> {
                Ok(TextValue(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<TextValue<'de>, E> {
                Ok(TextValue(Cow::Owned(text.to_owned())))
            }
        }
        source.deserialize_str(Letters)
    }
}

/// The type of an event, by its name or by the number in NCCL's `descr.type`.
pub(super) enum TypeName<'a> {
    Name(Cow<'a, str>),
    Number(u64),
}

impl TypeName<'_> {
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

impl<'de: 'a, 'a> Deserialize<'de> for TypeName<'a> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Type;
        impl<'de> Visitor<'de> for Type {
            type Value = TypeName<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name or the number of an event type")
            }
            fn visit_u64<E: Error>(self, bits: u64) -> Result<TypeName<'de>, E> {
                Ok(TypeName::Number(bits))
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<TypeName<'de>, E> {
                Ok(TypeName::Name(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<TypeName<'de>, E> {
                Ok(TypeName::Name(Cow::Owned(text.to_owned())))
            }
        }
        source.deserialize_any(Type)
    }
}
