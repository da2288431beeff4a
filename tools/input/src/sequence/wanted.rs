//! The operation that a person asks for.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Name for groups of API calls in place of a function.
pub(super) const GROUP: &str = "Group";

/// An operation, group or other event of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum WantedOperation {
    /// A function with the sequence number that NCCL gave the collective; a send, receive or group with its place among
    /// those of the recording, from 0.
    Numbered { function: String, number: u64 },
    /// The event with this handle (`h` of the recording's lines).
    Handle(u64),
}

impl FromStr for WantedOperation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!("{text:?} is no operation: write a function and a number, as AllReduce:3, or the h of a callback")
        };
        match text.split_once(':') {
            None => text.parse().map(Self::Handle).map_err(|_| wrong()),
            Some((function, number)) => {
                let number = number.parse().map_err(|_| wrong())?;
                let function = function.strip_prefix("nccl").unwrap_or(function);
                if function.is_empty() {
                    Err(wrong())
                } else {
                    Ok(Self::Numbered { function: function.into(), number })
                }
            }
        }
    }
}

impl Display for WantedOperation {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Numbered { function, number } => write!(formatter, "{function}:{number}"),
            Self::Handle(handle) => write!(formatter, "event {handle}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_a_function_with_a_number_or_a_handle() {
        let numbered = |number| WantedOperation::Numbered { function: "AllReduce".into(), number };
        assert_eq!("AllReduce:3".parse(), Ok(numbered(3)));
        assert_eq!("ncclAllReduce:0".parse(), Ok(numbered(0)));
        assert_eq!("812".parse(), Ok(WantedOperation::Handle(812)));
        for wrong in ["", "AllReduce", "AllReduce:", ":3", "AllReduce:-1", "nccl:1"] {
            assert!(wrong.parse::<WantedOperation>().is_err_and(|error| error.contains("AllReduce:3")), "{wrong}");
        }
    }
}
