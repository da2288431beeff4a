//! Figures over OpenTelemetry, as a receiver on loopback gets them: `cargo test --features otel --test otel`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[cfg(feature = "otel")]
#[path = "../instructions/callgrind.rs"]
mod callgrind;
#[cfg(feature = "otel")]
mod certificates;
#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod ends;
#[cfg(feature = "otel")]
mod figures;
#[cfg(feature = "otel")]
#[path = "../host/mod.rs"]
mod host;
#[cfg(feature = "otel")]
mod http;
#[cfg(feature = "otel")]
mod job;
#[cfg(feature = "otel")]
mod network;
#[cfg(feature = "otel")]
mod outages;
#[cfg(feature = "otel")]
mod points;
#[cfg(feature = "otel")]
mod proxies;
#[cfg(feature = "otel")]
mod receiver;
#[cfg(feature = "otel")]
mod server;
#[cfg(feature = "otel")]
mod times;
#[cfg(feature = "otel")]
mod tls;
#[path = "../tool/mod.rs"]
mod tool;

/// The figures are there, and a line says how to have them exported.
#[cfg(not(feature = "otel"))]
#[test]
fn a_library_without_it_says_so() {
    let capture = tool::captures(&tool::run("net2_single")).remove(0);
    let mut command = tool::tool();
    command.arg("replay").arg(capture).args(["--otlp", "http://127.0.0.1:9", "--format", "json"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !output.stdout.is_empty(), "{said}");
    assert!(said.lines().count() == 1 && said.contains("-DSCOREP_NCCL_OTEL=ON"), "{said}");
}
