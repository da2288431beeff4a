//! Sends a message over HTTP.

use super::endpoint::Endpoint;
use super::lookup::HostLookup;
use super::{proxy, words};
use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use prost::Message;
use std::io::Write;
use std::time::Duration;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Error, Timeout};

/// The user agent of requests.
const NAME: &str = concat!("OTel-OTLP-Exporter-scorep-nccl/", env!("CARGO_PKG_VERSION"));
/// Largest number of bytes read of an answer.
const ANSWER: u64 = 64 << 10;

/// The HTTP transport to an endpoint. Nothing is sent again, since the next export contains everything. A connection
/// lasts for one message, since the next message follows a minute later.
pub(super) struct Http {
    agent: Agent,
    uri: Uri,
    headers: HeaderMap,
    gzip: bool,
}

impl Http {
    /// Makes the transport.
    ///
    /// # Errors
    /// What is wrong with the variables, without their values.
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, String> {
        let config = Agent::config_builder()
            .user_agent(NAME)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_connections(0)
            .proxy(proxy::on_the_way_to(&endpoint.uri)?)
            .tls_config(tls(endpoint)?);
        Ok(Self {
            agent: Agent::with_parts(config.build(), DefaultConnector::default(), HostLookup::default()),
            uri: endpoint.uri.clone(),
            headers: endpoint.headers.clone(),
            gzip: endpoint.gzip,
        })
    }

    /// Sends a message, within `patience`.
    ///
    /// # Errors
    /// Why it did not arrive, in the library's own words.
    pub(super) fn send(
        &self,
        message: ExportMetricsServiceRequest,
        patience: Duration,
    ) -> Result<ExportMetricsServiceResponse, String> {
        let mut request = self.agent.post(&self.uri).content_type("application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut message = message.encode_to_vec();
        if self.gzip {
            request = request.header("content-encoding", "gzip");
            message = compressed(&message).map_err(|error| words::of_system(&error))?;
        }
        let request = request.config().timeout_global(Some(patience)).build();
        let mut response = request.send(&message).map_err(|error| in_words(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("the receiver answers with status {}", status.as_u16()));
        }
        // an answer that cannot be read counts as one that refuses nothing
        let answer = response.body_mut().with_config().limit(ANSWER).read_to_vec().unwrap_or_default();
        Ok(ExportMetricsServiceResponse::decode(&*answer).unwrap_or_default())
    }
}

fn compressed(message: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(message)?;
    encoder.finish()
}

/// Trusts the certificates that are set, or else those of browsers.
fn tls(endpoint: &Endpoint) -> Result<TlsConfig, String> {
    let Some(pem) = endpoint.certificates()? else { return Ok(TlsConfig::default()) };
    let is_certificate = |item| if let Ok(PemItem::Certificate(certificate)) = item { Some(certificate) } else { None };
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem).filter_map(is_certificate).collect();
    Ok(TlsConfig::builder().root_certs(RootCerts::new_with_certs(&certificates)).build())
}

fn in_words(error: &Error) -> String {
    match error {
        Error::HostNotFound => words::NO_HOST.into(),
        Error::Timeout(Timeout::Resolve) => words::NO_LOOKUP.into(),
        Error::Timeout(_) => words::TOO_LATE.into(),
        Error::ConnectionFailed => "no connection".into(),
        Error::Io(error) => words::of_system(error),
        Error::Rustls(error) => words::of_tls(Some(error)).into(),
        Error::Tls(_) | Error::Pem(_) => words::of_tls(None).into(),
        Error::ConnectProxyFailed(_) => "the proxy refuses".into(),
        _ => "the receiver does not speak HTTP as expected".into(),
    }
}
