//! The exporter over OpenTelemetry: OTLP in protobuf over HTTP, configured by the standard variables.
//!
//! The messages are made from the sums directly. The SDK's instruments take single values, and its collected figures
//! cannot be made outside of it: existing sums and histograms would have to be taken apart again.

mod endpoint;
mod http;
mod lookup;
mod proxy;
mod request;
mod words;

use crate::config;
use crate::export::{Exporter, Family, ProcessIdentity};
use endpoint::Endpoint;
use http::Http;
use opentelemetry_sdk::Resource;
use std::time::{Duration, SystemTime};

/// Makes the exporter to the endpoint that the environment names.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn exporter(identity: &ProcessIdentity) -> Result<Box<dyn Exporter>, String> {
    let endpoint = Endpoint::told(config::of_environment)?;
    let begun = SystemTime::now();
    Ok(Box::new(Otlp {
        http: Http::new(&endpoint)?,
        timeout: endpoint.timeout,
        interval: endpoint.interval,
        resource: request::resource(identity, begun),
        begun,
    }))
}

struct Otlp {
    http: Http,
    /// Largest time for a request.
    timeout: Duration,
    interval: Duration,
    resource: Resource,
    /// Start of the sums.
    begun: SystemTime,
}

impl Exporter for Otlp {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn export(&mut self, families: &[Family], patience: Duration) -> Result<(), String> {
        let message = request::of(families, &self.resource, self.begun, SystemTime::now());
        let answer = self.http.send(message, self.timeout.min(patience))?;
        match answer.partial_success.map_or(0, |refused| refused.rejected_data_points) {
            0 => Ok(()),
            points => Err(format!("the receiver refuses {points} data points")),
        }
    }
}
