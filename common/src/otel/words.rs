//! What went wrong on the way, in words of our own: what a library says may hold parts of the endpoint.

use std::io::{Error, ErrorKind};

pub(super) const NO_HOST: &str = "its host is not found";
pub(super) const TOO_LATE: &str = "no answer in time";
pub(super) const NO_TLS: &str = "TLS was refused";

/// What the system or a library on top of it says.
pub(super) fn of_system(error: &Error) -> String {
    match error.kind() {
        kind @ (ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof) => kind.to_string(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TOO_LATE.into(),
        ErrorKind::InvalidData => NO_TLS.into(),
        kind => match error.raw_os_error() {
            Some(number) => Error::from_raw_os_error(number).to_string(),
            // the resolver's errors have no number
            None if error.to_string().starts_with("failed to lookup address") => NO_HOST.into(),
            None => kind.to_string(),
        },
    }
}
