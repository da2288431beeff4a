//! A build directory of CMake's, and a prefix to install into.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// What of the environment says how to build, and is none of a test's.
const SETTINGS: [&str; 6] =
    ["DESTDIR", "CMAKE_BUILD_TYPE", "SCOREP_PREFIX", "CARGO_BUILD_TARGET", "LD_LIBRARY_PATH", "MAKEFLAGS"];

/// The repository.
pub(crate) fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo has built for the tests, and `make` what is shipped.
pub(crate) fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap()
}

/// A program, without what the environment may say to CMake and cargo.
pub(crate) fn undisturbed(program: &str) -> Command {
    let mut command = Command::new(program);
    SETTINGS.iter().for_each(|name| {
        command.env_remove(name);
    });
    super::tool::of_no_package(&mut command);
    command
}

/// All that is no directory, from there.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let found = super::succeed(Command::new("find").arg(directory).args(["!", "-type", "d", "-printf", "%P\\n"]));
    let mut files: Vec<PathBuf> = found.lines().map(PathBuf::from).collect();
    files.sort();
    files
}

/// A build of what is shipped, unless told otherwise.
#[derive(Debug)]
pub(crate) struct Build {
    /// Holds all of it.
    pub(crate) directory: TempDir,
    /// What it is configured to be installed into.
    pub(crate) prefix: PathBuf,
    /// What the environment says.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Build {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let prefix = directory.path().join("made/for/it");
        Self { directory, prefix, environment: vec![("CARGO_TARGET_DIR".into(), target().into())] }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = undisturbed(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn configuration(&self, options: &[&str]) -> Command {
        let mut command = self.command("cmake");
        command.arg("-S").arg(sources()).arg("-B").arg(self.directory.path().join("build"));
        command.arg(format!("-DCMAKE_INSTALL_PREFIX={}", self.prefix.display())).args(options);
        command
    }

    pub(crate) fn configure(&self, options: &[&str]) {
        succeed(&mut self.configuration(options));
    }

    /// What is said of a configuration that must fail, in one line.
    pub(crate) fn refuse(&self, options: &[&str]) -> String {
        fail(&mut self.configuration(options))
    }

    fn target(&self, name: &str) -> Command {
        let mut command = self.command("cmake");
        command.arg("--build").arg(self.directory.path().join("build")).args(["--target", name]);
        command
    }

    pub(crate) fn make(&self, target: &str) {
        succeed(&mut self.target(target));
    }

    /// What is said of a target that must fail.
    pub(crate) fn fail(&self, target: &str) -> String {
        fail(&mut self.target(target))
    }

    /// Makes the packages, and tells where they are.
    pub(crate) fn pack(&self) -> PathBuf {
        let packages = self.directory.path().join("packages");
        let mut command = self.command("cpack");
        command.arg("--config").arg(self.directory.path().join("build/CPackConfig.cmake")).arg("-B").arg(&packages);
        // it installs into places of its own
        succeed(command.env_remove("DESTDIR"));
        packages
    }
}

/// Builders say on standard error what they do, too.
pub(crate) fn succeed(command: &mut Command) {
    let Output { status, stdout, stderr } = output(command);
    assert!(status.success(), "{command:?}\n{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
}

fn fail(command: &mut Command) -> String {
    let output = output(command);
    assert!(!output.status.success(), "{command:?} went well");
    let said = String::from_utf8_lossy(&output.stderr);
    // CMake breaks lines
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[expect(clippy::panic, reason = "a test that cannot go on should stop")]
fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error} (`make test` installs what is missing)"))
}
