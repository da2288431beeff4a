//! Figures over OpenTelemetry, as a receiver on loopback gets them, and in textfiles, as Prometheus does: `cargo test --features otel --test otel`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[cfg(feature = "otel")]
mod directory;
#[cfg(feature = "otel")]
mod faults;
#[cfg(feature = "otel")]
mod figures;
#[cfg(feature = "otel")]
mod points;
#[cfg(feature = "otel")]
mod prometheus;
#[cfg(feature = "otel")]
mod receiver;
#[cfg(feature = "otel")]
mod text;
#[cfg(feature = "otel")]
mod textfile;
#[path = "../tool/mod.rs"]
mod tool;

/// The figures are there, and a line each says how to have them exported.
#[cfg(not(feature = "otel"))]
#[test]
fn a_library_without_it_says_so() {
    let capture = tool::captures(&tool::run("net2_single")).remove(0);
    let place = tempfile::tempdir().unwrap();
    let mut command = tool::tool();
    command.arg("replay").arg(capture).args(["--otlp", "http://127.0.0.1:9", "--format", "json"]);
    let output = command.env("NCCL_SCOREP_PROM_DIR", place.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !output.stdout.is_empty(), "{said}");
    assert!(said.lines().count() == 2 && said.matches("-DSCOREP_NCCL_OTEL=ON").count() == 2, "{said}");
    assert!(said.contains("NCCL_SCOREP_OTEL=on") && said.contains("NCCL_SCOREP_PROM_DIR"), "{said}");
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}
