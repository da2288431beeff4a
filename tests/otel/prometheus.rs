//! node_exporter and Prometheus, as a site has them, on loopback and from a directory of their own; and promtool.

use crate::support::tool;
use serde_json::Value;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything of theirs may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first of these programs that is installed; else it is said that the test is skipped.
pub(crate) fn installed(names: &[&'static str]) -> Option<&'static str> {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let has = |program: &str| std::env::split_paths(&places).any(|place| place.join(program).is_file());
    let found = names.iter().copied().find(|name| has(name));
    if found.is_none() {
        tool::skip(&format!("no {} on PATH (`make test-packages`)", names[0]));
    }
    found
}

/// What promtool has to say of a file: nothing, where all is well.
pub(crate) fn promtool(file: &Path) -> Output {
    Command::new("promtool").args(["check", "metrics"]).stdin(File::open(file).unwrap()).output().unwrap()
}

/// A daemon that answers over HTTP; it ends with this.
pub(crate) struct Daemon {
    child: Child,
    port: u16,
    directory: TempDir,
}

impl Daemon {
    /// node_exporter with nothing but the textfile collector.
    pub(crate) fn node_exporter(textfiles: &Path) -> Option<Self> {
        let program = installed(&["prometheus-node-exporter", "node_exporter"])?;
        Some(Self::start(|address, _| {
            let mut command = Command::new("setpriv");
            command.args([
                "--pdeathsig",
                "KILL",
                "--",
                program,
                "--collector.disable-defaults",
                "--collector.textfile",
            ]);
            command.arg(format!("--collector.textfile.directory={}", textfiles.display()));
            command.arg(format!("--web.listen-address={address}"));
            command
        }))
    }

    /// Prometheus, which scrapes that one every second.
    pub(crate) fn prometheus(scraped: &Self) -> Option<Self> {
        let target = scraped.port;
        let lines = format!(
            "scrape_configs:\n- job_name: node\n  scrape_interval: 1s\n  static_configs:\n  - targets: ['127.0.0.1:{target}']\n"
        );
        Self::prometheus_with(&lines, None)
    }

    /// Prometheus with blocks that are there already, however old, and nothing to scrape.
    pub(crate) fn prometheus_of(blocks: &Path) -> Option<Self> {
        Self::prometheus_with("", Some(blocks))
    }

    fn prometheus_with(lines: &str, blocks: Option<&Path>) -> Option<Self> {
        let program = installed(&["prometheus"])?;
        Some(Self::start(|address, directory| {
            let configuration = directory.join("prometheus.yml");
            std::fs::write(&configuration, lines).unwrap();
            let mut command = Command::new("setpriv");
            command
                .args(["--pdeathsig", "KILL", "--", program])
                .arg(format!("--config.file={}", configuration.display()));
            let data = blocks.map_or_else(|| directory.join("data"), Path::to_owned);
            command.arg(format!("--storage.tsdb.path={}", data.display())).arg("--storage.tsdb.retention.time=100y");
            command.arg(format!("--web.listen-address={address}"));
            command
        }))
    }

    fn start(command: impl Fn(&str, &Path) -> Command) -> Self {
        let begun = Instant::now();
        loop {
            let directory = tempfile::tempdir().unwrap();
            // free a moment ago; where somebody has taken it meanwhile the daemon ends at once, and the next one is
            // tried
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
            let log = File::create(directory.path().join("log")).unwrap();
            let mut command = command(&format!("127.0.0.1:{port}"), directory.path());
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
            let mut daemon = Self { child, port, directory };
            while daemon.child.try_wait().unwrap().is_none() {
                if daemon.get("/metrics").is_some() && daemon.child.try_wait().unwrap().is_none() {
                    return daemon;
                }
                assert!(begun.elapsed() < PATIENCE, "{}", daemon.log());
                std::thread::sleep(Duration::from_millis(50));
            }
            assert!(begun.elapsed() < PATIENCE && daemon.log().contains("address already in use"), "{}", daemon.log());
        }
    }

    /// What it has said.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    /// The body of a good answer.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        // the older version has no chunks
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.split(' ').nth(1).filter(|status| *status == "200")?;
        Some(body.to_owned())
    }

    /// What Prometheus answers to a query at a time, once it is ready.
    pub(crate) fn query_at(&self, query: &str, seconds: u64) -> Vec<(Value, f64)> {
        let begun = Instant::now();
        while self.get("/-/ready").is_none() {
            assert!(begun.elapsed() < PATIENCE, "{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        let answer = self.get(&format!("/api/v1/query?time={seconds}&query={}", escaped(query)));
        assert!(answer.is_some(), "refused: {query}");
        let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
        rows(answer["data"]["result"].as_array().unwrap())
    }

    /// What Prometheus answers to a query, as soon as there is something.
    pub(crate) fn query(&self, query: &str) -> Vec<(Value, f64)> {
        let escaped = escaped(query);
        let begun = Instant::now();
        loop {
            // it answers before it is ready, but not this
            let answer = self.get(&format!("/api/v1/query?query={escaped}"));
            let answer: Value = answer.map_or(Value::Null, |answer| serde_json::from_str(&answer).unwrap());
            if let Some(found) = answer["data"]["result"].as_array().filter(|found| !found.is_empty()) {
                return rows(found);
            }
            assert!(begun.elapsed() < PATIENCE, "{query}: {}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn escaped(query: &str) -> String {
    query.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// Labels and values of an answer.
fn rows(found: &[Value]) -> Vec<(Value, f64)> {
    let value = |row: &Value| row["value"][1].as_str().unwrap().parse().unwrap();
    found.iter().map(|row| (row["metric"].clone(), value(row))).collect()
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
