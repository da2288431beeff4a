//! Figures over OpenTelemetry: OTLP over HTTP, in protobuf, configured by the standard variables.
//!
//! The messages are made from the sums directly: the SDK's instruments take single values and its collected figures cannot be made outside of it, so
//! sums and histograms that exist already would have to be taken apart again.

mod client;
mod endpoint;
mod lookup;
mod proxy;
mod request;

use crate::export::{Exporter, Family, Identity};
use client::Client;
use endpoint::Endpoint;
use opentelemetry_sdk::Resource;
use std::time::{Duration, SystemTime};

/// What sends to the endpoint that the environment names.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn exporter(identity: &Identity) -> Result<Box<dyn Exporter>, String> {
    let endpoint = Endpoint::told(|name| std::env::var(name).ok())?;
    let resource = request::resource(identity);
    Ok(Box::new(Otlp { client: Client::new(&endpoint)?, interval: endpoint.interval, resource, begun: SystemTime::now() }))
}

struct Otlp {
    client: Client,
    interval: Duration,
    resource: Resource,
    /// Since when the sums are.
    begun: SystemTime,
}

impl Exporter for Otlp {
    fn interval(&self) -> Duration {
        self.interval
    }

    fn export(&mut self, families: &[Family], patience: Duration) -> Result<(), String> {
        self.client.send(&request::of(families, &self.resource, self.begun, SystemTime::now()), patience)
    }
}
