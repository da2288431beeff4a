//! What goes wrong on the way, made for real: the figures are as ever, and one line says why nothing arrives.

use crate::points;
use crate::receiver::{Manner, Receiver};
use crate::tool;
use serde_json::Value;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Part of every address and header here, which must not be told.
const SECRET: &str = "s3cret";

fn capture() -> PathBuf {
    tool::captures(&tool::run("nodes2x2_train")).remove(0)
}

/// What one process comes to, what it says and how long that takes.
fn replay(endpoint: Option<&str>) -> (Value, String, Duration) {
    let mut command = tool::tool();
    command.arg("replay").arg(capture()).args(["--format", "json"]);
    if let Some(endpoint) = endpoint {
        command.args(["--otlp", endpoint]).env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization={SECRET}"));
    }
    let begun = Instant::now();
    let output = command.output().unwrap();
    let took = begun.elapsed();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let mut summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    // what depends on the machine's time
    for field in ["pid", "peak_memory_bytes", "windows"] {
        summary["processes"][0][field] = Value::Null;
    }
    (summary, said, took)
}

/// A fault of that endpoint changes nothing, delays the end by two seconds at most and is told in one line with that in it.
fn check(endpoint: &str, cause: &str) {
    let (expected, _, without) = replay(None);
    let (summary, said, took) = replay(Some(endpoint));
    assert_eq!(summary, expected, "{cause}");
    assert!(said.lines().count() == 1 && said.contains(cause) && !said.contains(SECRET), "{cause}: {said}");
    assert!(took < without * 2 + Duration::from_secs(4), "{cause}: {took:?} rather than {without:?}");
}

#[test]
fn nobody_listens() {
    // the port was free a moment ago
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    check(&format!("http://127.0.0.1:{port}/{SECRET}"), "connection refused");
}

#[test]
fn nobody_answers() {
    let receiver = Receiver::new(|_| Manner::Silence);
    check(&format!("{}/{SECRET}", receiver.endpoint()), "no answer in time");
}

#[test]
fn the_connection_is_closed() {
    let receiver = Receiver::new(|_| Manner::HangUp);
    let (_, said, _) = replay(Some(&receiver.endpoint()));
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn the_receiver_is_unwell() {
    for status in [400, 401, 404, 429, 500, 503] {
        let receiver = Receiver::new(move |_| Manner::Status(status));
        check(&receiver.endpoint(), &format!("status {status}"));
    }
}

#[test]
fn some_points_are_refused() {
    let receiver = Receiver::new(|_| Manner::Refuse(3));
    check(&receiver.endpoint(), "refuses 3 data points");
}

#[test]
fn it_is_no_receiver() {
    let receiver = Receiver::new(|_| Manner::Noise);
    check(&format!("{}/{SECRET}", receiver.endpoint()), "does not speak HTTP");
}

#[test]
fn there_is_no_such_host() {
    check(&format!("http://{SECRET}.invalid:4318"), "host is not found");
}

#[test]
fn tls_is_refused() {
    // one that speaks no TLS
    let receiver = Receiver::new(|_| Manner::Noise);
    check(&receiver.endpoint().replace("http:", "https:"), "TLS was refused");
}

#[test]
fn the_address_is_none() {
    for endpoint in [SECRET.to_owned(), format!("ftp://{SECRET}/"), format!("http://{SECRET} /")] {
        check(&endpoint, "OTEL_EXPORTER_OTLP_ENDPOINT is no URL");
    }
}

/// Its figures are cumulative, so what comes after an outage has all of it; the exports that failed are counted.
#[test]
fn an_outage_ends() {
    const OUTAGE: usize = 4;
    let receiver = Receiver::new(|number| if number < OUTAGE { Manner::Status(503) } else { Manner::Accept });
    let mut command = tool::host(env!("HOST_MEMORY_HOST"));
    command.arg(tool::library()).args(["7", "idle", "2500"]).env("NCCL_ALLGATHERV_ENABLE", "0");
    command.env("NCCL_SCOREP_OTEL", "on").env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint());
    let output = command.env("OTEL_METRIC_EXPORT_INTERVAL", "100").env("NCCL_SCOREP_LOG", "info").output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("could not be exported").count(), 1, "{said}");
    assert_eq!(said.matches("exported again").count(), 1, "{said}");
    let requests = receiver.requests();
    assert!(requests.len() > 2 * OUTAGE, "{}", requests.len());
    for (number, (_, request)) in requests.iter().enumerate() {
        let failed = points::of(request).into_iter().find(|point| point.name == "nccl_exports_failed").unwrap();
        assert_eq!(failed.sum, number.min(OUTAGE) as f64);
    }
}
