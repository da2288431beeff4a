//! One line of JSON as fields, each of which borrows from the line.
//!
//! A line is first read into one flat struct, and then converted by its callback and event type. A tagged enum would
//! make serde copy every line into a tree first. Unknown fields are skipped: a newer recorder may write more of them.
//!
//! Each kind of value has its own `Deserialize`. serde's own implementations would not name what they expect and would
//! not borrow inside an `Option`; an untagged enum would copy first and give unclear errors.

use super::error::Problem;
use common::conditions::ConditionRow;
use common::origin::Origin;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

macro_rules! fields {
    (numbers: $($number:ident)*; texts: $($text:ident)*) => {
        /// All fields that a line may have, in any kind of line.
        #[derive(Deserialize)]
        pub(crate) struct LineFields<'a> {
            #[serde(borrow, rename = "type")]
            pub(crate) kind: Option<TypeName<'a>>,
            $(pub(crate) $number: Option<WholeNumber>,)*
            $(#[serde(borrow)] pub(crate) $text: Option<TextValue<'a>>,)*
            pub(crate) process: Option<Box<Origin>>,
            pub(crate) row: Option<Box<ConditionRow>>,
        }
    };
}

fields! {
    numbers:
        t tid ctx h parent rank state arg nnodes nranks
        seq count root peer nch nwarps pid ch nsteps chunk send step tag sym plugin dev qp fd bytes ptimer phase depth
        graph
        format api mask real0 mono0 dropped ends full
        first last begin at time from until;
    texts: cb comm name func dtype algo proto variant stream
}

impl<'a> LineFields<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Problem> {
        // serde would also take an array for a struct.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            let message = "it does not begin with a brace".to_owned();
            return Err(Problem::Json { message, column: 1 });
        }
        serde_json::from_slice(bytes).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let message = error.to_string();
            // serde_json restarts its line numbers with each line of the recording, so only the column is of use.
            let place = format!(" at line {line} column {column}");
            let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
            Problem::Json { message, column }
        })
    }
}

/// A whole number. It is wide enough for any field, so that the range is checked where the field is known.
#[derive(Clone, Copy)]
pub(crate) struct WholeNumber(pub(crate) i128);

/// A string, borrowed from the line unless it has escapes.
pub(crate) struct TextValue<'a>(pub(crate) Cow<'a, str>);

/// The type of an event, by its name or by the number in NCCL's `descr.type`.
pub(crate) enum TypeName<'a> {
    Name(Cow<'a, str>),
    Number(u64),
}

/// Makes the values of each kind from JSON's numbers and strings.
macro_rules! values {
    ($($value:ty, $expected:literal: { $($visit:ident $of:ty => $made:expr;)* })*) => {
        $(impl<'de: 'a, 'a> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                struct ValueVisitor<'a>(PhantomData<&'a ()>);
                impl<'de: 'a, 'a> Visitor<'de> for ValueVisitor<'a> {
                    type Value = $value;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }
                    $(fn $visit<E: Error>(self, value: $of) -> Result<$value, E> {
                        let made: fn($of) -> $value = $made;
                        Ok(made(value))
                    })*
                }
                source.deserialize_any(ValueVisitor(PhantomData))
            }
        })*
    };
}

values! {
    WholeNumber, "a whole number of at most 64 bits": {
        visit_u64 u64 => |number| WholeNumber(number.into());
        visit_i64 i64 => |number| WholeNumber(number.into());
    }
    TextValue<'a>, "a string": {
        visit_borrowed_str &'de str => |text| TextValue(Cow::Borrowed(text));
        visit_str &str => |text| TextValue(Cow::Owned(text.to_owned()));
    }
    TypeName<'a>, "the name or the number of an event type": {
        visit_u64 u64 => TypeName::Number;
        visit_borrowed_str &'de str => |text| TypeName::Name(Cow::Borrowed(text));
        visit_str &str => |text| TypeName::Name(Cow::Owned(text.to_owned()));
    }
}
