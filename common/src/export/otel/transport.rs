//! The transport of messages to the receiver.

use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use std::time::Duration;

/// The user agent of requests.
pub(super) const NAME: &str = concat!("OTel-OTLP-Exporter-scorep-nccl/", env!("CARGO_PKG_VERSION"));

/// Sends messages to the receiver. Nothing is sent again, since the next export contains everything. A connection lasts
/// for one message, since the next message follows a minute later.
pub(super) trait Transport: Send {
    /// Sends a message, within `patience`.
    ///
    /// # Errors
    /// Why it did not arrive, in the library's own words.
    fn send(
        &mut self,
        message: ExportMetricsServiceRequest,
        patience: Duration,
    ) -> Result<ExportMetricsServiceResponse, String>;
}
