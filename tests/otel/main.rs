//! Figures over OpenTelemetry, as a receiver on loopback gets them, and in textfiles, as Prometheus does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod certificates;
mod collector;
mod dashboard;
mod database;
mod directory;
mod ends;
mod figures;
mod http;
mod job;
mod launches;
mod network;
mod outages;
mod panels;
mod points;
mod prometheus;
mod proxies;
mod receiver;
mod series;
mod server;
#[path = "../support/mod.rs"]
mod support;
mod text;
mod textfile;
mod times;
mod tls;

use crate::support::tool;

/// The shipped library has neither HTTP nor TLS.
#[test]
fn a_library_without_it_is_built_without_its_packages() {
    const OF_LIBRARY: [&str; 3] = ["ring", "rustls", "ureq"];
    const OF_NOBODY: [&str; 4] = ["hyper", "tokio", "tonic", "tower"];
    let library = ["--package", "scorep-nccl-substrate"];
    let with = [&library[..], &["--features", "otel"]].concat();
    for (options, names, wanted) in
        [(&library[..], &OF_LIBRARY[..], false), (&with, &OF_LIBRARY, true), (&["--workspace"], &OF_NOBODY, false)]
    {
        let packages = packages(options);
        let is_built = |name: &str| packages.lines().any(|line| line.split(' ').next() == Some(name));
        names.iter().for_each(|name| assert_eq!(is_built(name), wanted, "{name}, {options:?}"));
    }
}

/// Returns the packages of a build with these options, a line each.
fn packages(options: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO"));
    // nothing of another cargo, which it waits for
    command.args(["tree", "--quiet", "--locked", "--offline", "--edges", "normal,build,dev"]).args(options);
    command.args(["--prefix", "none", "--format", "{p}"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    // ctest tells where crates are without a network
    if let Ok(vendored) = std::env::var("SCOREP_NCCL_VENDOR_DIR") {
        command.args(["--config", "source.crates-io.replace-with='vendored'"]);
        command.arg("--config").arg(format!("source.vendored.directory='{vendored}'"));
    }
    tool::succeed(&mut command)
}

/// A job with a variable for all jobs has its figures, and a line.
#[test]
fn a_library_without_it_says_so() {
    let Ok(library) = tool::shipped(tool::LIBRARY).inspect_err(|missing| tool::skip(missing)) else { return };
    let place = tempfile::tempdir().unwrap();
    let summary = place.path().join("summary.json");
    let mut command = tool::host(env!("HOST_ALL_REDUCE_HOST"));
    command.arg(&library).arg("6").env("NCCL_SCOREP_SUMMARY", &summary);
    let output = command.env("NCCL_SCOREP_PROM_DIR", place.path().join("textfiles")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && summary.is_file() && said.lines().count() == 1, "{said}");
    assert!(said.contains("-DSCOREP_NCCL_OTEL=ON") && said.contains("NCCL_SCOREP_PROM_DIR"), "{said}");
    assert_eq!(place.path().read_dir().unwrap().count(), 1);
}
