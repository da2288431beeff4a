//! TLS: who is trusted, and how it is told that somebody is not.

use crate::certificates::Certificate;
use crate::job::{self, SECRET};
use crate::receiver::Receiver;
use crate::server::Manner;

/// The variable that names whom to trust.
const TRUSTED: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

fn receiver(certificate: &Certificate) -> (Receiver, String) {
    let receiver = Receiver::with([Manner::Accept], Some(certificate.files()));
    let endpoint = receiver.endpoint().replace("http:", "https:");
    (receiver, endpoint)
}

#[test]
fn a_certificate_that_is_named_is_trusted() {
    let certificate = Certificate::new("127.0.0.1", 2999);
    let (receiver, endpoint) = receiver(&certificate);
    job::check_good(&endpoint, &[(TRUSTED, &certificate.path())]);
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn others_are_not() {
    let (named, other) = (Certificate::new("127.0.0.1", 2999), Certificate::new("127.0.0.1", 2999));
    let (receiver, endpoint) = receiver(&other);
    job::check(&endpoint, &[], "its certificate is signed by nobody who is trusted");
    job::check(&endpoint, &[(TRUSTED, &named.path())], "its certificate is signed by nobody who is trusted");
    assert_eq!(receiver.requests().len(), 0);
}

#[test]
fn a_certificate_is_for_a_host_and_a_time() {
    for (certificate, cause) in [
        (Certificate::new("elsewhere.test", 2999), "its certificate is another host's"),
        (Certificate::new("127.0.0.1", 2001), "its certificate has expired"),
    ] {
        let (receiver, endpoint) = receiver(&certificate);
        job::check(&endpoint, &[(TRUSTED, &certificate.path())], cause);
        assert_eq!(receiver.requests().len(), 0);
    }
}

/// Found when the job begins.
#[test]
fn there_is_no_certificate_in_the_file() {
    let certificate = Certificate::new("127.0.0.1", 2999);
    let (_receiver, endpoint) = receiver(&certificate);
    job::check(&endpoint, &[(TRUSTED, &format!("/nowhere/{SECRET}.pem"))], "CERTIFICATE cannot be read (No such file");
    let key = certificate.files()[1].to_str().unwrap().to_owned();
    job::check(&endpoint, &[(TRUSTED, &key)], "CERTIFICATE has no certificate");
}

#[test]
fn it_speaks_none() {
    for (manner, cause) in [
        (Manner::Noise, "TLS was refused"),
        (Manner::Silence, "no answer in time"),
        (Manner::HangUp(9), "closes the connection"),
    ] {
        let receiver = Receiver::new([manner]);
        job::check(&receiver.endpoint().replace("http:", "https:"), &[], cause);
    }
}
