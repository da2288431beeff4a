//! Figures over OpenTelemetry, as a receiver on loopback gets them, and in textfiles, as Prometheus does: `cargo test
//! --features otel --test otel`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[cfg(feature = "otel")]
#[path = "../instructions/callgrind.rs"]
mod callgrind;
#[cfg(feature = "otel")]
mod certificates;
#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod dashboard;
#[cfg(feature = "otel")]
mod database;
#[cfg(feature = "otel")]
mod directory;
#[cfg(feature = "otel")]
mod ends;
#[cfg(feature = "otel")]
mod figures;
#[cfg(feature = "otel")]
#[path = "../support/host/mod.rs"]
mod host;
#[cfg(feature = "otel")]
mod http;
#[cfg(feature = "otel")]
mod job;
#[cfg(feature = "otel")]
mod launches;
#[cfg(feature = "otel")]
mod network;
#[cfg(feature = "otel")]
mod outages;
#[cfg(feature = "otel")]
mod panels;
#[cfg(feature = "otel")]
mod points;
#[cfg(feature = "otel")]
mod prometheus;
#[cfg(feature = "otel")]
mod proxies;
#[cfg(feature = "otel")]
mod receiver;
#[cfg(feature = "otel")]
#[path = "../support/reference/mod.rs"]
mod reference;
#[cfg(feature = "otel")]
mod series;
#[cfg(feature = "otel")]
mod server;
#[cfg(feature = "otel")]
mod text;
#[cfg(feature = "otel")]
mod textfile;
#[cfg(feature = "otel")]
mod times;
#[cfg(feature = "otel")]
mod tls;
#[path = "../support/tool/mod.rs"]
mod tool;

/// Who does not ask for it builds none of it, for tests neither. The tool has TLS for the webhook of its watch; the library
/// has none.
#[test]
fn what_a_feature_needs_is_built_with_it_alone() {
    const OF_OTEL: [&str; 4] = ["opentelemetry", "opentelemetry_sdk", "opentelemetry-proto", "rcgen"];
    const OF_LIBRARY: [&str; 3] = ["ring", "rustls", "ureq"];
    const OF_NOBODY: [&str; 4] = ["hyper", "tokio", "tonic", "tower"];
    let otel = cfg!(feature = "otel");
    let (all, library) = (packages(&["--workspace"]), packages(&["--package", "scorep-nccl-substrate"]));
    let cases = [(&all, &OF_OTEL[..], otel), (&all, &OF_NOBODY, false), (&library, &OF_LIBRARY, otel)];
    for (packages, names, wanted) in cases {
        let is_built = |name: &str| packages.lines().any(|line| line.split(' ').next() == Some(name));
        names.iter().for_each(|name| assert_eq!(is_built(name), wanted, "{name}"));
    }
}

/// Returns the packages that these ones are built with, a line each.
fn packages(of: &[&str]) -> String {
    let features = if cfg!(feature = "otel") { "otel" } else { "" };
    let mut command = std::process::Command::new(env!("CARGO"));
    // nothing of another cargo, which it waits for
    command.args(["tree", "--quiet", "--locked", "--offline"]).args(of);
    command.args(["--edges", "normal,build,dev", "--features", features]);
    command.args(["--prefix", "none", "--format", "{p}"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    // ctest tells where crates are without a network
    if let Ok(vendored) = std::env::var("SCOREP_NCCL_VENDOR_DIR") {
        command.args(["--config", "source.crates-io.replace-with='vendored'"]);
        command.arg("--config").arg(format!("source.vendored.directory='{vendored}'"));
    }
    tool::succeed(&mut command)
}

/// Who asks this replay to send is refused; who has a variable for all jobs has the figures, and a line.
#[cfg(not(feature = "otel"))]
#[test]
fn a_library_without_it_says_so() {
    let place = tempfile::tempdir().unwrap();
    let replay = |options: &[&str]| {
        let capture = tool::captures(&tool::run("net2_single")).remove(0);
        let mut command = tool::tool();
        command
            .arg("replay")
            .arg(capture)
            .args(["--format", "json"])
            .args(options)
            .env("NCCL_SCOREP_PROM_DIR", place.path());
        let output = command.output().unwrap();
        (output.status.code(), !output.stdout.is_empty(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, has_figures, said) = replay(&["--otlp", "http://127.0.0.1:9"]);
    assert!(status == Some(1) && !has_figures && said.lines().count() == 1, "{said}");
    assert!(
        said.contains("without OpenTelemetry") && said.contains("-DSCOREP_NCCL_OTEL=ON") && said.contains("--otlp"),
        "{said}"
    );
    let (status, has_figures, said) = replay(&[]);
    assert!(status == Some(0) && has_figures && said.lines().count() == 1, "{said}");
    assert!(said.contains("-DSCOREP_NCCL_OTEL=ON") && said.contains("NCCL_SCOREP_PROM_DIR"), "{said}");
    assert_eq!(place.path().read_dir().unwrap().count(), 0);
}
