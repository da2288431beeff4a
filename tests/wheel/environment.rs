//! A virtual environment of Python that has nothing but pip.

use super::tool;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Minor version of the oldest Python that the package is for.
const OLDEST: u32 = 9;

/// Returns the oldest Python 3 of this machine that the package is for, and the newest. Says if that is not Python 3.9.
pub(crate) fn pythons() -> Vec<PathBuf> {
    let mut found = BTreeMap::new();
    for python in candidates() {
        let version =
            Command::new(&python).args(["-c", "import ensurepip, sys, venv; print(sys.version_info[1])"]).output();
        let Ok(version) = version else { continue };
        if let Ok(minor) = String::from_utf8_lossy(&version.stdout).trim().parse::<u32>() {
            found.entry(minor).or_insert(python);
        }
    }
    let found: Vec<_> = found.into_iter().filter(|(minor, _)| *minor >= OLDEST).collect();
    match found.as_slice() {
        [] => tool::skip("no Python 3.9 or later with venv"),
        [(OLDEST, _), ..] => {}
        // no package of Debian's has it
        [(oldest, _), ..] => tool::leave_out(&format!("no Python 3.{OLDEST}: 3.{oldest} is the oldest")),
    }
    let ends = if found.len() > 1 { vec![0, found.len() - 1] } else { (0..found.len()).collect() };
    ends.into_iter().map(|end| found[end].1.clone()).collect()
}

/// `python3.N` on the search path, and pyenv's.
fn candidates() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home).unwrap_or_default().join("versions");
    let pyenvs = pyenv.read_dir().into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let directories = std::env::split_paths(&path).filter(|directory| !directory.ends_with("shims")).chain(pyenvs);
    let names = (OLDEST..OLDEST + 20).map(|minor| format!("python3.{minor}"));
    let names: Vec<String> = names.collect();
    let programs =
        directories.flat_map(|directory| names.iter().map(move |name| directory.join(name)).collect::<Vec<_>>());
    programs.filter(|program| program.is_file()).collect()
}

/// The environment.
pub(crate) struct Environment {
    directory: TempDir,
}

impl Environment {
    pub(crate) fn new(python: &Path) -> Self {
        let environment = Self { directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        tool::succeed(Command::new(python).args(["-m", "venv"]).arg(environment.directory.path()));
        environment
    }

    /// Returns a program of the environment, which finds the others of the environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let bin = self.directory.path().join("bin");
        let mut command = tool::program(&bin.join(program));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(bin).chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(path).unwrap()).current_dir(&self.directory);
        command.env_remove("LD_LIBRARY_PATH").env_remove("PYTHONPATH").env_remove("VIRTUAL_ENV");
        command
    }

    fn pip(&self, words: &[&OsStr]) -> Result<(), String> {
        let output = self.command("python").args(["-m", "pip", "--quiet"]).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(said) }
    }

    /// Installs the wheel, from no index and with nothing else.
    pub(crate) fn install(&self, wheel: &Path) {
        self.pip(&["install".as_ref(), "--no-index".as_ref(), wheel.as_os_str()]).unwrap();
    }

    /// Installs what an extra of the wheel names, from PyPI.
    ///
    /// # Errors
    /// pip's message.
    pub(crate) fn install_extra(&self, wheel: &Path, extra: &str) -> Result<(), String> {
        let mut wanted = OsString::from(format!("scorep-nccl[{extra}] @ file://"));
        wanted.push(wheel);
        self.pip(&["install".as_ref(), "--only-binary".as_ref(), ":all:".as_ref(), &wanted])
    }

    pub(crate) fn uninstall(&self) {
        self.pip(&["uninstall".as_ref(), "--yes".as_ref(), "scorep-nccl".as_ref()]).unwrap();
    }

    /// Returns what a line of Python with the package prints.
    pub(crate) fn print(&self, line: &str) -> String {
        let line = format!("import scorep_nccl; {line}");
        tool::succeed(self.command("python").args(["-c", &line])).trim().to_owned()
    }

    /// Returns all files and directories.
    pub(crate) fn files(&self) -> Vec<String> {
        let found = tool::succeed(Command::new("find").arg(self.directory.path()).args(["-printf", "%P\\n"]));
        let mut files: Vec<String> = found.lines().map(str::to_owned).collect();
        files.sort();
        files
    }
}
