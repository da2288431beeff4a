//! A job: one process of a host, what is done to it, and what it leaves behind.

use crate::support::host::Run;
use crate::support::{lines, tool};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;
use tempfile::TempDir;

/// A process that takes longer hangs; most take some milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// The hosts' status when they have come to their end.
const OWN: Option<i32> = Some(3);
/// More lines than these are too many for whoever looks for the job's own.
const MOST_LINES: usize = 4;
/// What the library's lines begin with.
const BEGINNINGS: [&str; 2] = ["scorep-nccl: warning: ", "scorep-nccl: ("];
/// What the host's lines begin with.
const OF_THE_HOST: [&str; 5] = ["expect ", "least ", "most ", "any ", "failed "];

/// One that is not begun.
pub(crate) struct Job {
    directory: TempDir,
    library: PathBuf,
    program: &'static str,
    arguments: Vec<String>,
    /// What a shell does first; `$$` is the number of the job's process.
    before: String,
    /// Whether that is done where file systems may be mounted for the job alone.
    mounts: bool,
    settings: Vec<(&'static str, String)>,
}

impl Job {
    /// Two communicators in one process.
    pub(crate) fn new() -> Self {
        Self::of(env!("HOST_SURROUNDINGS_HOST"), &["6"])
    }

    /// A scenario of the harm host, with its number and words.
    pub(crate) fn scenario(name: &str, number: u32, words: &[&str]) -> Self {
        let job = Self::of(env!("HOST_HARM_HOST"), &[&["6", name, &number.to_string()], words].concat());
        job.set("NCCL_ALLGATHERV_ENABLE", "0").set("NCCL_SCOREP_SUMMARY", "summary.json")
    }

    fn of(program: &'static str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let (directory, library) = (tempfile::tempdir().unwrap(), tool::library());
        Self { directory, library, program, arguments, before: String::new(), mounts: false, settings: Vec::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn set(mut self, name: &'static str, value: &str) -> Self {
        self.settings.push((name, value.to_owned()));
        self
    }

    pub(crate) fn before(mut self, script: &str) -> Self {
        self.before = script.to_owned();
        self
    }

    /// [`Job::before`] where the script may mount; to be asked [`may_mount`].
    pub(crate) fn mounting(self, script: &str) -> Self {
        Self { mounts: true, ..self.before(script) }
    }

    /// With another build of the library.
    pub(crate) fn with_library(self, library: PathBuf) -> Self {
        Self { library, ..self }
    }

    /// In the job's directory.
    pub(crate) fn command(&self) -> Command {
        let mut command = match self.mounts {
            true => within_namespace("/bin/sh"),
            false => tool::host("/bin/sh"),
        };
        command.arg("-c").arg(format!(r#"{}; exec "$@""#, if self.before.is_empty() { ":" } else { &self.before }));
        command.arg("sh").arg(self.program).arg(&self.library).args(&self.arguments).current_dir(self.path());
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdout(File::create(self.path().join("printed")).unwrap());
        command.stderr(File::create(self.path().join("said")).unwrap());
        command
    }

    /// Whatever is in its way, it comes to its own end.
    pub(crate) fn play(&self) {
        self.play_as(&mut self.command());
    }

    pub(crate) fn play_as(&self, command: &mut Command) {
        let status = tool::ends(command, PATIENCE, &self.what());
        assert_eq!(status.code(), OWN, "{}: {status}\n{}", self.what(), self.said());
    }

    /// Plays it. What it and the library say is known, what they leave behind is whole, and the figures are right where
    /// there are any.
    pub(crate) fn check(&self) -> Found {
        self.play();
        self.found()
    }

    /// As [`Job::check`], of one that was played.
    pub(crate) fn found(&self) -> Found {
        let printed = self.read("printed");
        let is_known = |line: &str| OF_THE_HOST.iter().any(|begins| line.starts_with(begins));
        assert!(printed.lines().all(is_known), "{}:\n{printed}", self.what());
        let said = self.said();
        let is_ours = |line: &str| BEGINNINGS.iter().any(|begins| line.starts_with(begins));
        assert!(said.lines().all(is_ours) && said.lines().count() <= MOST_LINES, "{}:\n{said}", self.what());
        let (mut summaries, mut recordings) = (Vec::new(), Vec::new());
        for name in self.files() {
            let path = self.path().join(&name);
            if name.ends_with(".jsonl.gz") {
                let (meta, lines) = lines::all(&path);
                // the last line is no callback
                assert!(lines::ends(&lines), "{}: the recording does not end", self.what());
                let callbacks = lines.iter().filter(|line| line["cb"] != "conditions").count() as u64 - 1;
                recordings.push(callbacks + meta["dropped"].as_u64().unwrap());
            } else {
                assert!(name.ends_with(".json"), "{}: {name} is left behind", self.what());
                summaries.push(serde_json::from_slice(&fs::read(path).unwrap()).unwrap());
            }
        }
        let (status, stderr) = (ExitStatus::default(), said.clone().into_bytes());
        let figures = Run {
            what: self.what(),
            output: Output { status, stdout: printed.clone().into_bytes(), stderr },
            summaries,
        };
        let found = Found { said: said.lines().map(str::to_owned).collect(), printed, figures, recordings };
        found.check();
        found
    }

    fn what(&self) -> String {
        let words = self.arguments.iter().chain([&self.before]).map(String::as_str);
        words.chain(self.settings.iter().map(|(name, _)| *name)).collect::<Vec<_>>().join(" ")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn said(&self) -> String {
        self.read("said")
    }

    /// Files that are there in the end, without those of the test.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = self.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut files: Vec<String> = entries.filter(|name| !["printed", "said"].contains(&name.as_str())).collect();
        files.sort();
        files
    }
}

/// What a job has left behind.
pub(crate) struct Found {
    /// The library's lines.
    pub(crate) said: Vec<String>,
    printed: String,
    figures: Run,
    /// Callbacks in the recordings, or dropped there.
    recordings: Vec<u64>,
}

impl Found {
    /// How many summaries and recordings there are.
    pub(crate) fn files(&self) -> [usize; 2] {
        [self.figures.summaries.len(), self.recordings.len()]
    }

    /// The summary, of which there is one.
    pub(crate) fn figures(&self) -> &Run {
        assert_eq!(self.figures.summaries.len(), 1, "{}: {:?}", self.figures.what, self.said);
        &self.figures
    }

    /// The library's lines but those of dropped events: a host that records faster than the collector reads, as on a busy
    /// machine, fills the memory that the test gives.
    pub(crate) fn besides_drops(&self) -> Vec<&String> {
        let of_drops = ["events were dropped for want of room", "found no room in the recording memory"];
        self.said.iter().filter(|line| !of_drops.iter().any(|text| line.contains(text))).collect()
    }

    /// The call that was made to fail.
    pub(crate) fn failed(&self) -> &str {
        self.of_the_host("failed").next().unwrap()
    }

    fn of_the_host<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        self.printed.lines().filter_map(move |line| line.strip_prefix(kind)?.strip_prefix(' '))
    }

    /// What the host says of the figures is so, where there are any; and what it says of callbacks is so of the
    /// recording.
    fn check(&self) {
        let what = &self.figures.what;
        let is_known = self.of_the_host("any").next().is_none();
        let number = |text: &str| text.parse::<u64>().unwrap();
        if !self.figures.summaries.is_empty() {
            if is_known {
                self.figures.check_but(&["warnings"]);
            }
            for (kind, is_right) in [("least", u64::ge as fn(&u64, &u64) -> bool), ("most", u64::le)] {
                for (name, bound) in self.of_the_host(kind).filter_map(|line| line.split_once(' ')) {
                    let found = self.figures.found(name);
                    assert!(is_right(&found, &number(bound)), "{what}: {name} is {found}, {kind} {bound}");
                }
            }
        }
        let callbacks = self.of_the_host("expect").find_map(|line| line.strip_prefix("callbacks "));
        if let (true, Some(callbacks)) = (is_known, callbacks) {
            self.recordings
                .iter()
                .for_each(|&recorded| assert_eq!(recorded, number(callbacks), "{what}: the recording"));
        }
    }
}

/// A program in name spaces where it may mount file systems that nobody else sees.
fn within_namespace(program: &str) -> Command {
    let mut command = tool::host("unshare");
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", program]);
    command
}

/// Whether a job's script may mount a file system; it is said that the test is skipped where not.
pub(crate) fn may_mount() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let mut command = within_namespace("mount");
    command.args(["-t", "tmpfs", "none"]).arg(directory.path()).stderr(std::process::Stdio::null());
    let may = command.status().is_ok_and(|status| status.success());
    if !may {
        tool::skip("no file system may be mounted here");
    }
    may
}
