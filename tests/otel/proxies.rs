//! Proxies, which the environment names for all programs.

use crate::certificates::Certificate;
use crate::job::{self, SECRET};
use crate::network::nowhere;
use crate::receiver::Receiver;
use crate::server::Manner;

fn with_password(address: &str) -> String {
    format!("http://user:{SECRET}@{address}")
}

fn address(proxy: &Receiver) -> String {
    with_password(&format!("127.0.0.1:{}", proxy.port()))
}

#[test]
fn the_way_is_through_the_proxy() {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        let (proxy, receiver) = (Receiver::new([Manner::Tunnel]), Receiver::good());
        job::check_good(&receiver.endpoint(), &[(name, &address(&proxy))]);
        let asked = proxy.requests().remove(0);
        assert_eq!(asked.line, format!("CONNECT 127.0.0.1:{} HTTP/1.1", receiver.port()));
        assert!(asked.header("authorization").is_none(), "headers are for the receiver: {asked:?}");
        assert_eq!(receiver.requests().len(), 1);
    }
}

#[test]
fn a_proxy_may_be_none_of_this_urls() {
    let receiver = Receiver::good();
    let nowhere = with_password(&nowhere());
    job::check_good(&receiver.endpoint(), &[("HTTP_PROXY", &nowhere), ("NO_PROXY", "elsewhere,127.0.0.1")]);
    job::check_good(&receiver.endpoint(), &[("HTTPS_PROXY", &nowhere)]);
    job::check_good(&receiver.endpoint(), &[("HTTP_PROXY", "")]);
    assert_eq!(receiver.requests().len(), 3);
}

#[test]
fn the_proxy_is_the_fault() {
    let receiver = Receiver::good();
    let refuses = Receiver::new([Manner::Status(403)]);
    job::check(&receiver.endpoint(), &[("HTTP_PROXY", &address(&refuses))], "the proxy refuses");
    job::check(&receiver.endpoint(), &[("HTTP_PROXY", &with_password(&nowhere()))], "connection refused");
    let silent = Receiver::new([Manner::Silence]);
    job::check(&receiver.endpoint(), &[("HTTP_PROXY", &address(&silent))], "no answer in time");
    job::check(
        &receiver.endpoint(),
        &[("ALL_PROXY", &format!("socks5://{SECRET}:1"))],
        "ALL_PROXY is no URL of a proxy",
    );
    job::check(&receiver.endpoint(), &[("HTTP_PROXY", &format!("{SECRET}//"))], "HTTP_PROXY is no URL of a proxy");
    assert_eq!(receiver.requests().len(), 0);
}

#[test]
fn tls_is_spoken_through_it() {
    let certificate = Certificate::new("127.0.0.1", 2999);
    let receiver = Receiver::with([Manner::Accept], Some(certificate.files()));
    let refuses = Receiver::new([Manner::Status(407)]);
    let settings = [("HTTPS_PROXY", address(&refuses)), ("OTEL_EXPORTER_OTLP_CERTIFICATE", certificate.path())];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    job::check(&receiver.endpoint().replace("http:", "https:"), &settings, "the proxy refuses");
    assert_eq!(refuses.requests().len(), 1);
}
