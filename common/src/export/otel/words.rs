//! What went wrong on the way, in the library's own words: another library's message may contain parts of the endpoint.

use rustls::CertificateError;
use std::io::{Error, ErrorKind};

pub(super) const NO_HOST: &str = "its host is not found";
pub(super) const NO_LOOKUP: &str = "the name of its host is not looked up in time";
pub(super) const TOO_LATE: &str = "no answer in time";

/// Returns the words for an error of the system or of a library on top of it.
pub(super) fn of_system(error: &Error) -> String {
    match error.kind() {
        kind @ (ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => {
            kind.to_string()
        }
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => "the receiver closes the connection".into(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => TOO_LATE.into(),
        ErrorKind::InvalidData => of_tls(error.get_ref().and_then(|inner| inner.downcast_ref())).into(),
        kind => {
            error.raw_os_error().map_or_else(|| kind.to_string(), |number| Error::from_raw_os_error(number).to_string())
        }
    }
}

/// Returns the words for an error of TLS.
pub(super) fn of_tls(error: Option<&rustls::Error>) -> &'static str {
    let Some(rustls::Error::InvalidCertificate(wrong)) = error else { return "TLS was refused" };
    match wrong {
        // the second error: the issuer's name is known, but the key is another
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is signed by nobody who is trusted"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is another host's"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired",
        _ => "its certificate is not accepted",
    }
}
