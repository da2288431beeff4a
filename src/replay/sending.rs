//! Checks that the library can send what `--otlp` asks for. A variable that asks all jobs to send is not checked: the
//! library itself reports that it cannot.

use super::error::ReplayError;
use crate::installed::loader::{self, Loaded};
use std::path::Path;

/// Loads the library and checks its features.
///
/// # Errors
/// When the library cannot send.
pub(super) fn check(library: &Path) -> Result<(), ReplayError> {
    match loader::load(library) {
        Loaded::Ours { features, path, .. } if features.otel() && !features.otel_grpc() && asks_for_grpc() => {
            Err(ReplayError::CannotSend {
                library: path,
                lacking: "gRPC",
                option: "-DSCOREP_NCCL_OTEL_GRPC=ON",
                asked: "the protocol grpc",
            })
        }
        Loaded::Ours { features, path, .. } if !features.otel() => Err(ReplayError::CannotSend {
            library: path,
            lacking: "OpenTelemetry",
            option: "-DSCOREP_NCCL_OTEL=ON",
            asked: "--otlp",
        }),
        _ => Ok(()),
    }
}

/// Returns whether OpenTelemetry's variables ask for gRPC.
fn asks_for_grpc() -> bool {
    let names = ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
    let protocol = names.into_iter().filter_map(std::env::var_os).find(|protocol| !protocol.is_empty());
    protocol.is_some_and(|protocol| protocol.to_string_lossy().trim() == "grpc")
}
