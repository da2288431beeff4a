//! `scorep-nccl report` and `compare`: figures against a plain reference, tables and traces as other programs read
//! them, inputs and outputs that are bad.

mod apart;
mod bad_inputs;
mod bounds;
mod ended;
mod families;
mod figures;
mod names;
mod nsys;
mod others;
mod python;
mod tagged;
mod two_runs;
mod watched;

use crate::support::tool;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Returns a command that makes a report.
fn report<I: AsRef<OsStr>>(inputs: impl IntoIterator<Item = I>) -> Command {
    let mut command = tool::tool();
    command.arg("report").args(inputs);
    command
}

/// Makes the tables of recordings in `dataset`.
fn table(recordings: &Path, dataset: &Path) {
    tool::succeed(tool::tool().arg("table").arg(recordings).arg("--to").arg(dataset));
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Runs a command to its end. Returns its exit status, and all that it has printed and said.
fn ran(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [printed, said] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (status.code(), printed, said)
}

/// A directory with recordings, their tables, and the report of these tables in each of its forms.
struct Place(PathBuf);

impl Place {
    /// Makes everything in `to`, which is made. `recordings` is a directory.
    fn make(recordings: &Path, to: PathBuf) -> Self {
        std::fs::create_dir(&to).unwrap();
        std::os::unix::fs::symlink(recordings, to.join("recordings")).unwrap();
        table(recordings, &to.join("dataset"));
        let mut command = report([to.join("dataset")]);
        for (option, name) in
            [("--json", "report.json"), ("--parquet", "parquet"), ("--csv", "csv"), ("--perfetto", "trace")]
        {
            command.arg(option).arg(to.join(name));
        }
        tool::succeed(&mut command);
        Self(to)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}
