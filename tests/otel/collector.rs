//! A collector that somebody else has made (rotel, from PyPI): it takes the figures in, and sends on what it has
//! understood to the test's receiver.

use crate::figures;
use crate::job;
use crate::network::free;
use crate::points::{self, Point};
use crate::receiver::{Receiver, Request};
use crate::support::tool;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where `make test-packages` has installed it.
fn program() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("rotel/lib");
    let python = root.read_dir().ok()?.next()?.ok()?.path();
    Some(python.join("site-packages/rotel/rotel-agent")).filter(|program| program.is_file())
}

/// The collector's process.
struct Collector {
    child: Child,
    endpoint: String,
}

impl Collector {
    fn new(program: &Path, receiver: &Receiver) -> Self {
        let directory = tempfile::tempdir().unwrap();
        // an address that no test takes for one at which nobody listens
        let [http, grpc] = ["127.0.0.3", "127.0.0.4"].map(free);
        let mut command = Command::new(program);
        command.arg("start").args(["--otlp-http-endpoint", &http, "--otlp-grpc-endpoint", &grpc]);
        command.args(["--exporter", "otlp", "--otlp-exporter-endpoint", &receiver.endpoint()]);
        command.args(["--otlp-exporter-protocol", "http", "--otlp-exporter-compression", "none"]);
        command.arg("--pid-file").arg(directory.path().join("pid")).arg("--log-file").arg(directory.path().join("log"));
        job::without_others(&mut command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let made = Self { child: command.spawn().unwrap(), endpoint: format!("http://{http}") };
        let begun = Instant::now();
        while TcpStream::connect(&http).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the collector does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        made
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// It may put what several processes have sent in one message.
fn of_each_process(request: &Request) -> Vec<Request> {
    let alone = |resource: &_| {
        let mut alone = request.clone();
        alone.body.resource_metrics = vec![Clone::clone(resource)];
        alone
    };
    request.body.resource_metrics.iter().map(alone).collect()
}

#[test]
fn another_collector_understands_the_same() {
    let Some(program) = program() else { return tool::skip("no rotel (`make test-packages` installs it)") };
    let receiver = Receiver::good();
    let collector = Collector::new(&program, &receiver);
    let summary = figures::replay(&tool::run("nodes2x2_collectives"), &collector.endpoint, &[]);
    let processes = summary["processes"].as_array().unwrap().len();
    let begun = Instant::now();
    let requests = loop {
        let requests: Vec<Request> = receiver.requests().iter().flat_map(of_each_process).collect();
        if requests.len() >= processes {
            break requests;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the collector sends nothing on");
        std::thread::sleep(Duration::from_millis(20));
    };
    let points: Vec<Point> = requests.iter().flat_map(points::of).collect();
    assert_eq!(figures::differences(&figures::found(&points), &figures::expected(&summary)), Vec::<String>::new());
}
