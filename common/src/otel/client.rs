//! Sends a message over HTTP, and says in words what went wrong.
//!
//! Nothing is sent again: the next export has it all. A connection lasts for one message, since the next one is a minute away.

use super::endpoint::Endpoint;
use super::lookup::Lookup;
use super::proxy;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message;
use std::io::ErrorKind;
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error, Timeout};

/// Bytes of an answer that are looked at.
const ANSWER: u64 = 64 << 10;

/// Knows where to send to.
pub(super) struct Client {
    agent: Agent,
    url: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
    timeout: Duration,
}

impl Client {
    /// # Errors
    /// What is wrong with the variables, without their values.
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, String> {
        let url: Uri = endpoint.url.parse().map_err(|_| "OTEL_EXPORTER_OTLP_ENDPOINT is no URL")?;
        if !matches!(url.scheme_str(), Some("http" | "https")) || url.host().is_none() {
            return Err("OTEL_EXPORTER_OTLP_ENDPOINT is no URL that begins with http:// or https://".into());
        }
        let header = |(name, value): &(String, String)| {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            Some((HeaderName::from_bytes(name.as_bytes()).ok()?, value))
        };
        let headers = endpoint.headers.iter().map(header).collect::<Option<_>>();
        let config = Agent::config_builder()
            .user_agent(concat!("OTel-OTLP-Exporter-scorep-nccl/", env!("CARGO_PKG_VERSION")))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_connections(0)
            .proxy(proxy::on_the_way_to(&url)?)
            .tls_config(tls(endpoint)?);
        Ok(Self {
            agent: Agent::with_parts(config.build(), DefaultConnector::default(), Lookup::default()),
            url,
            headers: headers.ok_or("OTEL_EXPORTER_OTLP_HEADERS has what is no header of HTTP")?,
            timeout: endpoint.timeout,
        })
    }

    /// Sends a message, within so much time.
    ///
    /// # Errors
    /// Why it did not arrive.
    pub(super) fn send(&self, message: &[u8], patience: Duration) -> Result<(), String> {
        let mut request = self.agent.post(&self.url).content_type("application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.config().timeout_global(Some(self.timeout.min(patience))).build();
        let mut response = request.send(message).map_err(|error| words(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the receiver answers with status {}", status.as_u16()));
        }
        // an answer that cannot be read is one that refuses nothing
        let answer = response.body_mut().with_config().limit(ANSWER).read_to_vec().unwrap_or_default();
        let refused = ExportMetricsServiceResponse::decode(&*answer).ok().and_then(|answer| answer.partial_success);
        match refused.map_or(0, |refused| refused.rejected_data_points) {
            0 => Ok(()),
            points => Err(format!("the receiver refuses {points} data points")),
        }
    }
}

/// With the certificates that are set, if any are; else those that browsers trust.
fn tls(endpoint: &Endpoint) -> Result<TlsConfig, String> {
    let Some(path) = &endpoint.certificates else { return Ok(TlsConfig::default()) };
    let pem =
        std::fs::read(path).map_err(|error| format!("the file of OTEL_EXPORTER_OTLP_CERTIFICATE cannot be read ({error})"))?;
    let is_certificate = |item| if let Ok(PemItem::Certificate(certificate)) = item { Some(certificate) } else { None };
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem).filter_map(is_certificate).collect();
    if certificates.is_empty() {
        return Err("the file of OTEL_EXPORTER_OTLP_CERTIFICATE has no certificate".into());
    }
    Ok(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build())
}

/// In words of our own: what a library says may hold parts of the endpoint.
fn words(error: &Error) -> String {
    match error {
        Error::HostNotFound => "its host is not found".into(),
        Error::Timeout(Timeout::Resolve) => "the name of its host is not looked up in time".into(),
        Error::Timeout(_) => "no answer in time".into(),
        Error::ConnectionFailed => "no connection".into(),
        Error::Io(error) => match error.kind() {
            kind @ (ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => {
                kind.to_string()
            }
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
                "the receiver closes the connection".into()
            }
            ErrorKind::TimedOut | ErrorKind::WouldBlock => "no answer in time".into(),
            ErrorKind::InvalidData => of_tls(error.get_ref().and_then(|inner| inner.downcast_ref())).into(),
            kind => error.raw_os_error().map_or(kind.to_string(), |number| std::io::Error::from_raw_os_error(number).to_string()),
        },
        Error::Rustls(error) => of_tls(Some(error)).into(),
        Error::Tls(_) | Error::Pem(_) => of_tls(None).into(),
        Error::ConnectProxyFailed(_) => "the proxy refuses".into(),
        _ => "the receiver does not speak HTTP as expected".into(),
    }
}

fn of_tls(error: Option<&rustls::Error>) -> &'static str {
    use rustls::CertificateError as Wrong;
    let Some(rustls::Error::InvalidCertificate(wrong)) = error else { return "TLS was refused" };
    match wrong {
        // the second, where the name is known but not the key
        Wrong::UnknownIssuer | Wrong::BadSignature => "its certificate is signed by nobody who is trusted",
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => "its certificate is another host's",
        Wrong::Expired | Wrong::ExpiredContext { .. } => "its certificate has expired",
        _ => "its certificate is not accepted",
    }
}
