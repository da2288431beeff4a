//! An OTLP receiver on loopback, a process of its own (server.rs), as the test has it in hand.

use crate::server::{self, Manner, Orders, Taken};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use prost::Message;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// How long something may take that will come about.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that came whole.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// Of the connection, from 0 on.
    pub(crate) number: usize,
    pub(crate) line: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: ExportMetricsServiceRequest,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Listens until it is dropped.
pub(crate) struct Receiver {
    orders: Orders,
    child: Child,
    /// Its standard output, which must not be closed.
    lines: Lines,
    directory: TempDir,
}

impl Receiver {
    /// Answers as it should.
    pub(crate) fn good() -> Self {
        Self::new([Manner::Accept])
    }

    /// Answers each request in its manner, and those after the last in that one's.
    pub(crate) fn new(manners: impl Into<Vec<Manner>>) -> Self {
        Self::with(manners, None)
    }

    /// The same over TLS, with the files of a certificate and its key.
    pub(crate) fn with(manners: impl Into<Vec<Manner>>, certificate: Option<[PathBuf; 2]>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut orders =
            Orders { manners: manners.into(), certificate, port: 0, first: 0, directory: directory.path().into() };
        let (child, mut lines) = start(&orders);
        orders.port =
            lines.by_ref().map_while(Result::ok).find_map(|line| line.strip_prefix("port ")?.parse().ok()).unwrap();
        Self { orders, child, lines, directory }
    }

    /// The port, of which 127.0.0.1 is the address.
    pub(crate) fn port(&self) -> u16 {
        self.orders.port
    }

    /// What OTEL_EXPORTER_OTLP_ENDPOINT is to be.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.orders.port)
    }

    /// What has come.
    pub(crate) fn requests(&self) -> Vec<Request> {
        let taken = files(self.directory.path()).into_iter().map(|path| {
            let number = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
            let taken: Taken = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let body = ExportMetricsServiceRequest::decode(&*taken.body).unwrap();
            Request { number, line: taken.line, headers: taken.headers, body }
        });
        taken.collect()
    }

    /// Waits until so many requests have come.
    pub(crate) fn wait_for(&self, requests: usize) {
        let begun = std::time::Instant::now();
        while files(self.directory.path()).len() < requests {
            assert!(begun.elapsed() < PATIENCE, "{requests} requests do not come");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The process dies, its port is closed.
    pub(crate) fn stop(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "a request was not understood");
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Another process listens at the same port.
    pub(crate) fn start_again(&mut self) {
        self.orders.first = files(self.directory.path()).len();
        (self.child, self.lines) = start(&self.orders);
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        } else {
            self.stop();
        }
    }
}

type Lines = std::io::Lines<BufReader<ChildStdout>>;

/// This program once more, as a receiver; and what it says, first the port that it listens at.
fn start(orders: &Orders) -> (Child, Lines) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", server::NAME, "--ignored", "--nocapture"])
        .env(server::ORDERS, serde_json::to_string(orders).unwrap());
    // which ends when its input does, so that none is left behind by a test that is killed
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    (child, lines)
}

/// Of the requests, in their order.
fn files(directory: &Path) -> Vec<PathBuf> {
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_none()).collect();
    paths.sort();
    paths
}
