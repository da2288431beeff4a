//! What exports: a replay, or a job that lasts for as long as the test wants. None of them may tell what is secret.

use crate::support::host::Run;
use crate::support::tool;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Part of every value here that must not be told.
pub(crate) const SECRET: &str = "s3cret";

/// How long a process may take, which would otherwise take as long as [`FOR_EVER`] says.
const PATIENCE: Duration = Duration::from_secs(20);
/// Milliseconds that a request may take: the end of the process must not wait for it.
const FOR_EVER: &str = "90000";

pub(crate) type Settings<'a> = &'a [(&'a str, &'a str)];

/// Nothing of OpenTelemetry's and of proxies in the environment.
pub(crate) fn without_others(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy().to_uppercase();
        if text.starts_with("OTEL_") || text.ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    command
}

/// All that may be secret is, and all is told that ever is.
fn with_secrets(command: &mut Command) -> &mut Command {
    without_others(command)
        .env("OTEL_EXPORTER_OTLP_HEADERS", format!("authorization=Bearer%20{SECRET},{SECRET}=x"))
        .env("OTEL_RESOURCE_ATTRIBUTES", format!("token={SECRET},{SECRET}=x"))
        .env("OTEL_SERVICE_NAME", SECRET)
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", FOR_EVER)
        .env("NCCL_SCOREP_LOG", "info")
}

fn check_secrets(output: &Output) {
    for bytes in [&output.stdout, &output.stderr] {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(SECRET), "{text}");
    }
}

/// Runs to replay: a fiftieth of a second, and a second.
pub(crate) const BRIEF: &str = "nodes2x1_comms";
pub(crate) const LONG: &str = "nodes2x2_train";

/// What came of a process.
pub(crate) struct Outcome {
    /// But for what depends on the machine's time.
    pub(crate) summary: Value,
    /// Warnings.
    pub(crate) warnings: Vec<String>,
    pub(crate) took: Duration,
}

/// The first process of a recorded run.
pub(crate) fn replay(run: &str, endpoint: Option<&str>, settings: Settings<'_>) -> Outcome {
    let mut command = tool::tool();
    command.arg("replay").arg(tool::captures(&tool::run(run)).remove(0)).args(["--format", "json"]);
    if let Some(endpoint) = endpoint {
        // not by --otlp, which wants them to arrive
        with_secrets(&mut command)
            .env("NCCL_SCOREP_OTEL", "on")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
            .envs(settings.iter().copied());
    }
    let directory = tempfile::tempdir().unwrap();
    let [stdout, stderr] = ["stdout", "stderr"].map(|name| directory.path().join(name));
    command.stdout(std::fs::File::create(&stdout).unwrap()).stderr(std::fs::File::create(&stderr).unwrap());
    let begun = Instant::now();
    let status = tool::ends(&mut command, PATIENCE, "a replay");
    let took = begun.elapsed();
    let output = Output { status, stdout: std::fs::read(stdout).unwrap(), stderr: std::fs::read(stderr).unwrap() };
    check_secrets(&output);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let mut summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    for field in ["pid", "peak_memory_bytes", "windows"] {
        summary["processes"][0][field] = Value::Null;
    }
    Outcome { summary, warnings: warnings(&said), took }
}

fn warnings(said: &str) -> Vec<String> {
    said.lines().filter(|line| line.contains("warning: ")).map(str::to_owned).collect()
}

/// The brief one without export.
pub(crate) fn plain() -> &'static Outcome {
    static PLAIN: OnceLock<Outcome> = OnceLock::new();
    PLAIN.get_or_init(|| replay(BRIEF, None, &[]))
}

/// A fault of that endpoint changes nothing, does not hold up the end and is told in one line with that in it.
pub(crate) fn check(endpoint: &str, settings: Settings<'_>, cause: &str) {
    replay(BRIEF, Some(endpoint), settings).check(plain(), cause);
}

/// Nothing is told where all is well.
pub(crate) fn check_good(endpoint: &str, settings: Settings<'_>) {
    let outcome = replay(BRIEF, Some(endpoint), settings);
    assert_eq!((outcome.summary, outcome.warnings), (plain().summary.clone(), vec![]));
}

impl Outcome {
    /// It is as without export, but for a line with the cause.
    pub(crate) fn check(&self, plain: &Self, cause: &str) {
        assert_eq!(self.summary, plain.summary, "{cause}");
        assert!(matches!(&self.warnings[..], [line] if line.contains(cause)), "{cause}: {:?}", self.warnings);
        for line in &self.warnings {
            assert!(is_documented(line), "docs/otel.md does not have {line}");
        }
        tool::say(&format!("{cause}: {:.1?}, and {:.1?} without export", self.took, plain.took));
    }
}

/// Whether docs/otel.md has what an export that fails gives as its reason, `...` for what varies. Reasons for none at
/// all say which variable is wrong.
fn is_documented(line: &str) -> bool {
    let Some((_, rest)) = line.split_once("could not be exported over OpenTelemetry (") else { return true };
    let (reason, _) = rest.split_once("); ").unwrap();
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/otel.md");
    let text = std::fs::read_to_string(path).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(|line| line.split(" | ").next());
    let reasons = cells.flat_map(|cell| cell.split('`')).filter(|reason| reason.len() > 2);
    reasons.into_iter().any(|known| match known.split_once("...") {
        Some((start, end)) => reason.starts_with(start) && reason.ends_with(end),
        None => reason == known,
    })
}

/// A process that uses NCCL until it is told to end (tests/c/nccl/export_host.c), and exports every 50 ms.
pub(crate) struct Job {
    child: Child,
    orders: ChildStdin,
    lines: BufReader<ChildStdout>,
    printed: String,
    directory: TempDir,
}

impl Job {
    pub(crate) fn new(endpoint: &str, settings: Settings<'_>) -> Self {
        Self::every(2, endpoint, settings)
    }

    /// With an operation every so many milliseconds.
    pub(crate) fn every(milliseconds: u32, endpoint: &str, settings: Settings<'_>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut command = tool::host(env!("HOST_EXPORT_HOST"));
        // so that kernel events are asked for
        command.arg(tool::library()).args(["7", &milliseconds.to_string()]).env("NCCL_ALLGATHERV_ENABLE", "0");
        command.env("NCCL_SCOREP_SUMMARY", directory.path().join("summary")).env("NCCL_SCOREP_OTEL", "on");
        with_secrets(&mut command)
            .env("OTEL_METRIC_EXPORT_INTERVAL", "50")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
        command.envs(settings.iter().copied());
        let said = std::fs::File::create(directory.path().join("said")).unwrap();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said).spawn().unwrap();
        let (orders, lines) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, orders, lines, printed: String::new(), directory }
    }

    pub(crate) fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
    }

    /// The next number that it prints under that name.
    pub(crate) fn number(&mut self, name: &str) -> i64 {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "no {name}: {}", self.printed);
            self.printed += &line;
            if let Some(number) = line.trim_end().strip_prefix(name) {
                return number.trim().parse().unwrap();
            }
        }
    }

    /// Its end: in time, and where it has a summary with all that NCCL made. What the library said.
    pub(crate) fn end(mut self, what: &str) -> Vec<String> {
        drop(self.orders);
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        tool::say(&format!("{what}: ended after {:.1?}", begun.elapsed()));
        assert!(status.success(), "{what}: {status}");
        while self.lines.read_line(&mut self.printed).unwrap() > 0 {}
        let stderr = std::fs::read(self.directory.path().join("said")).unwrap();
        let output = Output { status, stdout: self.printed.into_bytes(), stderr };
        check_secrets(&output);
        let said = String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect();
        if let Ok(summary) = std::fs::read(self.directory.path().join("summary")) {
            let summaries = vec![serde_json::from_slice(&summary).unwrap()];
            Run { what: what.to_owned(), output, summaries }.check();
        }
        said
    }
}
