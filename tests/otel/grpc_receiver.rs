//! A gRPC receiver on loopback, of OpenTelemetry's own service which takes a message, or answers with a status.

use crate::receiver::Request;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsPartialSuccess, ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use tokio::runtime::{Builder, Runtime};
use tonic::codec::CompressionEncoding;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Code, Response, Status};

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Accept,
    /// With that status, and a text that is not for a person's eyes.
    Status(Code, &'static str),
    /// Taken, but for so many points.
    Refuse(i64),
}

/// Listens until it is dropped.
pub(crate) struct GrpcReceiver {
    pub(crate) port: u16,
    requests: Arc<Mutex<Vec<Request>>>,
    /// Dropped, it waits for nobody.
    _runtime: Runtime,
}

impl GrpcReceiver {
    /// With a certificate and its key, over TLS.
    pub(crate) fn new(manner: Manner, identity: Option<Identity>) -> Self {
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let service = MetricsServiceServer::new(Service { manner, requests: requests.clone() });
        let mut server = Server::builder();
        if let Some(identity) = identity {
            server = server.tls_config(ServerTlsConfig::new().identity(identity)).unwrap();
        }
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let within = runtime.enter();
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let port = incoming.local_addr().unwrap().port();
        let serving =
            server.add_service(service.accept_compressed(CompressionEncoding::Gzip)).serve_with_incoming(incoming);
        runtime.spawn(serving);
        drop(within);
        Self { port, requests, _runtime: runtime }
    }

    /// What OTEL_EXPORTER_OTLP_ENDPOINT is to be.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What has come: the headers are the metadata, and there is no line.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

struct Service {
    manner: Manner,
    requests: Arc<Mutex<Vec<Request>>>,
}

type Answer = Result<Response<ExportMetricsServiceResponse>, Status>;

impl MetricsService for Service {
    fn export<'a, 'b>(
        &'a self,
        request: tonic::Request<ExportMetricsServiceRequest>,
    ) -> Pin<Box<dyn Future<Output = Answer> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        let (metadata, _, body) = request.into_parts();
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers =
            metadata.into_headers().iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
        let mut requests = self.requests.lock().unwrap();
        let number = requests.len();
        requests.push(Request { number, line: String::new(), headers, body });
        drop(requests);
        let answer = |partial_success| Ok(Response::new(ExportMetricsServiceResponse { partial_success }));
        let answer = match self.manner {
            Manner::Accept => answer(None),
            Manner::Refuse(rejected_data_points) => {
                answer(Some(ExportMetricsPartialSuccess { rejected_data_points, error_message: String::new() }))
            }
            Manner::Status(code, text) => Err(Status::new(code, text)),
        };
        Box::pin(std::future::ready(answer))
    }
}
