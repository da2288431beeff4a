//! The way of a message to its receiver.

use opentelemetry_proto::tonic::collector::metrics::v1::{ExportMetricsServiceRequest, ExportMetricsServiceResponse};
use std::time::Duration;

/// How we present ourselves.
pub(super) const NAME: &str = concat!("OTel-OTLP-Exporter-scorep-nccl/", env!("CARGO_PKG_VERSION"));

/// Takes messages to the receiver. Nothing is sent again: the next export has it all. A connection lasts for one
/// message, since the next one is a minute away.
pub(super) trait Transport: Send {
    /// Sends a message, within so much time.
    ///
    /// # Errors
    /// Why it did not arrive, in words of our own.
    fn send(
        &mut self,
        message: ExportMetricsServiceRequest,
        patience: Duration,
    ) -> Result<ExportMetricsServiceResponse, String>;
}
