//! The scripts beside this file, run with the packages that `make test-packages` has installed.

use crate::support::tool;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the interpreter that has the packages; `None` where they are not installed, which is said.
pub(crate) fn python() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let python = Some(target.join("tables/bin/python")).filter(|python| python.is_file());
    if python.is_none() {
        tool::skip("pandas, DuckDB, Dask and Perfetto are not installed (scripts/test-tables)");
    }
    python
}

/// Runs a script, which must succeed. Returns what it prints.
pub(crate) fn run(python: &Path, script: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report").join(script);
    let output = Command::new(python).env("PYTHONDONTWRITEBYTECODE", "1").arg(script).args(arguments).output().unwrap();
    let [printed, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{printed}{said}");
    printed
}
