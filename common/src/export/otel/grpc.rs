//! Sends a message over gRPC.
//!
//! Only the host name is looked up on another thread. The exporter's thread connects, and for this message alone it
//! runs the runtime that drives HTTP/2 and TLS. So neither a socket nor an epoll remains in the process between two
//! exports.

use super::endpoint::Endpoint;
use super::lookup::{HostLookup, NoAddress, host_and_port};
use super::transport::{NAME, Transport};
use super::words;
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tonic::codec::CompressionEncoding;
use tonic::metadata::MetadataMap;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint as Channels, Uri};
use tonic::{Extensions, Request, Response, Status};

/// The standard names of the status codes, by number.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

const NO_GRPC: &str = "the receiver does not speak gRPC, or closes the connection";

/// The gRPC transport to an endpoint.
pub(super) struct Grpc {
    host: String,
    port: u16,
    lookup: HostLookup,
    channels: Channels,
    metadata: MetadataMap,
    gzip: bool,
}

impl Grpc {
    /// Makes the transport.
    ///
    /// # Errors
    /// What is wrong with the variables, without their values.
    pub(super) fn new(endpoint: &Endpoint) -> Result<Self, String> {
        let uri = &endpoint.uri;
        let is_https = uri.scheme_str() == Some("https");
        let channels = Channels::from(uri.clone()).user_agent(NAME).map_err(|error| in_words(&error))?;
        let (host, port) = host_and_port(uri);
        let channels = if is_https { channels.tls_config(tls(endpoint)?.domain_name(host)) } else { Ok(channels) };
        Ok(Self {
            host: host.to_owned(),
            port,
            lookup: HostLookup::default(),
            channels: channels
                .map_err(|_| "OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_CERTIFICATE cannot be used for TLS")?,
            metadata: MetadataMap::from_headers(endpoint.headers.clone()),
            gzip: endpoint.gzip,
        })
    }

    /// Connects to one of these addresses, within `patience`.
    fn connect(addresses: &[SocketAddr], patience: Duration) -> io::Result<TcpStream> {
        let begun = Instant::now();
        let mut outcome = Err(io::ErrorKind::TimedOut.into());
        for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
            // an address that does not answer leaves time for the remaining ones
            let share = patience.saturating_sub(begun.elapsed()) / u32::try_from(left).unwrap_or(u32::MAX);
            if share.is_zero() {
                break;
            }
            outcome = TcpStream::connect_timeout(address, share);
            if outcome.is_ok() {
                break;
            }
        }
        let stream = outcome?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    async fn exchange(&self, stream: TcpStream, message: ExportMetricsServiceRequest) -> Result<GrpcAnswer, String> {
        let stream = tokio::net::TcpStream::from_std(stream).map_err(|error| words::of_system(&error))?;
        // a single connection: after the receiver closes it, there is no second one
        let mut streams = Some(TokioIo::new(stream)).into_iter();
        let connector = tower::service_fn(move |_: Uri| std::future::ready(streams.next().ok_or(NO_GRPC)));
        let channel = self.channels.connect_with_connector(connector).await.map_err(|error| in_words(&error))?;
        let mut client = MetricsServiceClient::new(channel);
        if self.gzip {
            client = client.send_compressed(CompressionEncoding::Gzip);
        }
        let request = Request::from_parts(self.metadata.clone(), Extensions::new(), message);
        client.export(request).await.map(Response::into_inner).map_err(|status| refusal(&status))
    }
}

type GrpcAnswer = ExportMetricsServiceResponse;

impl Transport for Grpc {
    fn send(&mut self, message: ExportMetricsServiceRequest, patience: Duration) -> Result<GrpcAnswer, String> {
        let begun = Instant::now();
        let addresses = self.lookup.found((&self.host, self.port), patience).map_err(|missing| match missing {
            NoAddress::NotFound => words::NO_HOST,
            NoAddress::TooLate => words::NO_LOOKUP,
        })?;
        let stream = Self::connect(&addresses, patience.saturating_sub(begun.elapsed()))
            .map_err(|error| words::of_system(&error))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| words::of_system(&error))?;
        let left = patience.saturating_sub(begun.elapsed());
        let within = async { tokio::time::timeout(left, self.exchange(stream, message)).await };
        runtime.block_on(within).unwrap_or_else(|_| Err(words::TOO_LATE.into()))
    }
}

/// Trusts the certificates that are set, or else those of browsers.
fn tls(endpoint: &Endpoint) -> Result<ClientTlsConfig, String> {
    let tls = ClientTlsConfig::new();
    Ok(match endpoint.certificates()? {
        Some(pem) => tls.ca_certificate(Certificate::from_pem(pem)),
        None => tls.with_webpki_roots(),
    })
}

/// Returns the words for a failed exchange: the receiver's status or, if the status has a cause, what kept its answer
/// away.
fn refusal(status: &Status) -> String {
    match status.source() {
        Some(cause) => in_words(cause),
        None => format!("the receiver answers with status {}", CODES.get(status.code() as usize).unwrap_or(&"UNKNOWN")),
    }
}

/// Returns the words for an error, by the system's error that caused it if there is one.
fn in_words(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let of_system = causes.filter_map(|error| error.downcast_ref::<io::Error>()).last();
    of_system.map_or_else(|| NO_GRPC.into(), words::of_system)
}
