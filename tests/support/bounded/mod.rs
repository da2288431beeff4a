//! The tool as it reads what nobody should have written: within a limit of memory and of time.

use crate::support::tool;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Limits of the tool and of each process that it starts, as the shell sets them: 1 GiB of address space, and seconds of
/// processor time.
const LIMITED: &str = "ulimit -v 1048576; ulimit -t $1; shift; exec \"$@\"";
/// How many times the processor time a command may take beside other work.
const BUSY: u32 = 20;

/// A command that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Exit status; `None` after a signal, and where it was ended since it took too long.
    pub(crate) code: Option<i32>,
    pub(crate) printed: String,
    pub(crate) said: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// Returns what is wrong with the tool, whatever it has read.
    pub(crate) fn fault(&self) -> Option<String> {
        let all = [self.printed.as_str(), self.said.as_str()].concat();
        let sign = ["panicked", "internal fault", "memory allocation of", "out of memory", "process ended with"];
        let sign = sign.into_iter().find(|sign| all.contains(sign));
        let ends = matches!(self.code, Some(0..=2));
        let said: String = self.said.chars().take(800).collect();
        let what =
            sign.map(str::to_owned).or_else(|| (!ends).then(|| format!("{:?} after {:?}", self.code, self.took)));
        what.map(|what| format!("{what}: {said}"))
    }
}

/// Runs the tool with these limits, and so much processor time. Its output goes to files in `place`.
pub(crate) fn ended(command: &Command, place: &Path, time: Duration) -> Ended {
    let seconds = time.as_secs().to_string();
    let mut command = tool::within("sh", &["-c", LIMITED, "sh", &seconds].map(OsStr::new), command);
    let output = |name: &str| File::create(place.join(name)).unwrap();
    command.stdin(Stdio::null()).stdout(output("stdout")).stderr(output("stderr"));
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if begun.elapsed() > BUSY * time {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let took = begun.elapsed();
    let text = |name: &str| String::from_utf8_lossy(&fs::read(place.join(name)).unwrap()).into_owned();
    Ended { code: status.and_then(|status| status.code()), printed: text("stdout"), said: text("stderr"), took }
}

/// Runs this for each number, on `threads` threads. Returns what is wrong.
pub(crate) fn each(
    numbers: impl Iterator<Item = u64> + Send,
    threads: usize,
    run: impl Fn(u64) -> Vec<String> + Sync,
) -> Vec<String> {
    let (numbers, wrong) = (std::sync::Mutex::new(numbers), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(number) = { numbers.lock().unwrap().next() } {
                    let found = run(number);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}
