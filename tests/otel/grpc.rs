//! The same over gRPC, to a receiver of OpenTelemetry's own service.

use crate::figures;
use crate::grpc_receiver::{GrpcReceiver, Manner};
use crate::network::nowhere;
use crate::points::{self, Point};
use crate::tool;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;
use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;
use tonic::Code;
use tonic::transport::Identity;

/// Part of every address and header here, which must not be told.
const SECRET: &str = "s3cret";

const GRPC: (&str, &str) = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// What a replay says that ends well and has its figures.
fn replay(endpoint: &str, settings: &[(&str, &str)]) -> String {
    let capture = tool::captures(&tool::run("net2_single")).remove(0);
    let mut command = tool::tool();
    command.arg("replay").arg(capture).args(["--format", "json"]);
    // not by --otlp, which wants them to arrive
    command.env("NCCL_SCOREP_OTEL", "on").env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization={SECRET}"));
    let output = command.envs([GRPC]).envs(settings.iter().copied()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(output.status.success() && summary["operations"].as_array().is_some_and(|rows| !rows.is_empty()), "{said}");
    assert!(!said.contains(SECRET), "{said}");
    said
}

/// What goes wrong is told in one line with that in it.
fn check(endpoint: &str, settings: &[(&str, &str)], cause: &str) {
    let said = replay(endpoint, settings);
    assert!(said.lines().count() == 1 && said.contains(cause), "{cause}: {said}");
}

/// Nothing goes wrong.
fn check_well(endpoint: &str, settings: &[(&str, &str)]) {
    assert_eq!(replay(endpoint, settings), "");
}

/// Answers a connection with that, whatever is asked, or hangs up.
fn somebody(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(answer).unwrap();
        if !answer.is_empty() {
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    endpoint
}

#[test]
fn the_figures_are_the_summarys() {
    for (run, gzip) in [("nodes2x2_train", "none"), ("nodes4x1_pipeline", "gzip")] {
        let receiver = GrpcReceiver::new(Manner::Accept, None);
        let settings =
            [GRPC, ("OTEL_EXPORTER_OTLP_COMPRESSION", gzip), ("OTEL_EXPORTER_OTLP_HEADERS", "X-Tenant=a%20b")];
        let summary = figures::replay(&tool::run(run), &receiver.endpoint(), &settings);
        let requests = receiver.requests();
        assert_eq!(requests.len(), summary["processes"].as_array().unwrap().len(), "{run}");
        let points: Vec<Point> = requests.iter().flat_map(points::of).collect();
        assert_eq!(
            figures::differences(&figures::found(&points), &figures::expected(&summary)),
            Vec::<String>::new(),
            "{run}"
        );
        for request in requests {
            assert_eq!(request.header("x-tenant"), Some("a b"));
            assert_eq!(request.header("grpc-encoding"), (gzip == "gzip").then_some("gzip"));
            assert!(
                request.header("user-agent").unwrap().starts_with("OTel-OTLP-Exporter-scorep-nccl/"),
                "{request:?}"
            );
        }
    }
}

/// The path of a URL is none of gRPC's.
#[test]
fn a_path_is_left_out() {
    let receiver = GrpcReceiver::new(Manner::Accept, None);
    check_well(&format!("{}/{SECRET}/", receiver.endpoint()), &[]);
    assert_eq!(receiver.requests().len(), 1);
}

#[test]
fn nobody_listens() {
    let nowhere = nowhere();
    let (_, port) = nowhere.split_once(':').unwrap();
    check(&format!("http://{nowhere}/{SECRET}"), &[], "connection refused");
    check(&format!("http://{SECRET}.invalid:4317"), &[], "host is not found");
    // an address of IPv6, whether the machine has any or not
    check(&format!("https://[::1]:{port}"), &[], "could not be exported");
}

#[test]
fn nobody_answers() {
    // connections wait in the queue of one that takes none
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // shorter than the time of a request: that of the last export counts
    check(&format!("http://{address}"), &[], "no answer in time");
    check(&format!("https://{address}"), &[], "no answer in time");
    // and here that of the request
    check(&format!("http://{address}"), &[("OTEL_EXPORTER_OTLP_TIMEOUT", "1")], "no answer in time");
}

#[test]
fn a_status_is_told_by_its_name() {
    for (code, name) in [
        (Code::Unauthenticated, "status UNAUTHENTICATED"),
        (Code::Unavailable, "status UNAVAILABLE"),
        (Code::ResourceExhausted, "status RESOURCE_EXHAUSTED"),
        (Code::Cancelled, "status CANCELLED"),
    ] {
        let receiver = GrpcReceiver::new(Manner::Status(code, SECRET), None);
        check(&receiver.endpoint(), &[], name);
        assert_eq!(receiver.requests()[0].header("authorization"), Some(SECRET));
    }
}

#[test]
fn some_points_are_refused() {
    let receiver = GrpcReceiver::new(Manner::Refuse(3), None);
    check(&receiver.endpoint(), &[], "refuses 3 data points");
}

#[test]
fn it_is_no_receiver() {
    check(&somebody(b"HTTP/1.1 400 Bad Request\r\n\r\n"), &[], "does not speak gRPC");
    check(&somebody(b"SSH-2.0-none\r\n"), &[], "does not speak gRPC");
    assert_eq!(replay(&somebody(b""), &[]).lines().count(), 1);
    check(&somebody(b"SSH-2.0-none\r\n").replace("http:", "https:"), &[], "TLS was refused");
}

#[test]
fn tls_is_by_the_certificate_of_the_file() {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = Identity::from_pem(cert.pem(), signing_key.serialize_pem());
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (known, empty) = (file("known.pem", &cert.pem()), file("empty.pem", SECRET));
    let receiver = GrpcReceiver::new(Manner::Accept, Some(identity));
    let endpoint = format!("https://localhost:{}", receiver.port);
    check_well(&endpoint, &[(CERTIFICATE, &known)]);
    assert_eq!(receiver.requests().len(), 1);
    // nobody whom browsers trust has signed it
    check(&endpoint, &[], "its certificate is signed by nobody who is trusted");
    check(&endpoint, &[(CERTIFICATE, &empty)], "has no certificate");
    check(&endpoint, &[(CERTIFICATE, &format!("/{SECRET}"))], "cannot be read");
    assert_eq!(receiver.requests().len(), 1);
}

/// While the program runs, an export each 50 ms: there are the collector, the exporter, and the three threads that look up
/// names, read the rates of the links and read the settings file, and no others.
#[test]
fn it_adds_no_thread() {
    let receiver = GrpcReceiver::new(Manner::Accept, None);
    let mut command = tool::host(env!("HOST_MEMORY_HOST"));
    command.arg(tool::library()).args(["7", "idle", "2500"]).env("NCCL_ALLGATHERV_ENABLE", "0").envs([GRPC]);
    command.env("NCCL_SCOREP_OTEL", "on").env("OTEL_METRIC_EXPORT_INTERVAL", "50");
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://localhost:{}", receiver.port));
    let mut child = command.spawn().unwrap();
    let tasks = Path::new("/proc").join(child.id().to_string()).join("task");
    let mut seen = std::collections::BTreeSet::new();
    while child.try_wait().unwrap().is_none() {
        for task in tasks.read_dir().into_iter().flatten().flatten() {
            seen.extend(std::fs::read_to_string(task.path().join("comm")).map(|name| name.trim().to_owned()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(child.wait().unwrap().success());
    assert!(receiver.requests().len() > 10, "{}", receiver.requests().len());
    // the process has its name a moment after it is there
    seen.remove(std::fs::read_to_string("/proc/thread-self/comm").unwrap().trim());
    let always = ["memory_host", "scorep-nccl", "scorep-nccl-exp"];
    // a look may find each of these before it ends
    let passing = ["scorep-nccl-dns", "scorep-nccl-lnk", "scorep-nccl-set"];
    assert!(seen.iter().all(|name| always.iter().chain(&passing).any(|ours| ours == name)), "{seen:?}");
    assert!(always.iter().all(|&name| seen.contains(name)), "{seen:?}");
}
