//! The wheel's content, as it is and as PyPI's own programs see it.

use super::tool;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The platform that the wheel's name gives.
const PLATFORM: &str = "manylinux_2_28";
/// What it holds; the metadata's directory has the version in its name.
const FILES: [&str; 15] = [
    "scorep_nccl/__init__.py",
    "scorep_nccl/__main__.py",
    "scorep_nccl/_files.py",
    "scorep_nccl/_report.py",
    "scorep_nccl/bin/scorep-nccl",
    "scorep_nccl/lib/libnccl-profiler-scorep.so",
    "scorep_nccl/lib/libnccl_plugin.so",
    "scorep_nccl/lib/libnccl_series_plugin.so",
    "scorep_nccl/lib/libscorep_substrate_nccl.so",
    "scorep_nccl/py.typed",
    "METADATA",
    "RECORD",
    "WHEEL",
    "entry_points.txt",
    "licenses/LICENSE",
];

/// Returns the files that it is built from.
pub(crate) fn sources(built: &Path) -> Vec<PathBuf> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/python");
    let python = ["pyproject.toml", "hatch_build.py", "README.md"].map(|name| package.join(name));
    let modules = package.join("scorep_nccl").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let modules = modules.filter(|path| path.is_file());
    // cargo's lists of sources, of the machine that the wheel is for
    let machine = format!("build/{}-unknown-linux-gnu", std::env::consts::ARCH);
    let of_cargo = |tool: &str, name: &str| {
        let list = std::fs::read_to_string(built.join(machine.replace("build", tool)).join("release").join(name));
        let list = list.unwrap_or_default();
        let sources = list.split_once(": ").map_or("", |(_, sources)| sources).split_whitespace().map(PathBuf::from);
        sources.collect::<Vec<_>>()
    };
    let library = of_cargo("build", "libscorep_substrate_nccl.d");
    let tool = of_cargo("build/tool", "scorep-nccl.d");
    python.into_iter().chain(modules).chain(library).chain(tool).collect()
}

/// Whether a source has changed since, or is gone.
pub(crate) fn is_newer(source: &Path, wheel: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|data| data.modified());
    time(source).map_or(true, |changed| changed > time(wheel).unwrap())
}

/// Holds that the wheel has its files and no others, and is named for this version and platform.
pub(crate) fn complete(wheel: &Path) {
    let version = env!("CARGO_PKG_VERSION");
    let name = wheel.file_name().unwrap().to_str().unwrap();
    assert_eq!(name, format!("scorep_nccl-{version}-py3-none-{PLATFORM}_{}.whl", std::env::consts::ARCH));
    let list = "import sys, zipfile; [print(f'{i.external_attr >> 16:o} {i.filename}') for i in zipfile.ZipFile(sys.argv[1]).infolist()]";
    let listed = tool::succeed(program("python").args(["-c", list]).arg(wheel));
    let metadata = format!("scorep_nccl-{version}.dist-info/");
    let mut files: Vec<&str> =
        listed.lines().map(|line| line.split_once(' ').unwrap().1.trim_start_matches(metadata.as_str())).collect();
    let mut expected = FILES;
    files.sort_unstable();
    expected.sort_unstable();
    assert_eq!(files, expected);
    assert!(listed.contains("100755 scorep_nccl/bin/scorep-nccl\n"), "{listed}");
}

/// Holds that PyPI would take it, and that it runs on every Linux of its platform.
pub(crate) fn fit(wheel: &Path) {
    let checked = tool::succeed(program("twine").args(["check", "--strict"]).arg(wheel));
    assert!(checked.contains("PASSED"), "{checked}");
    // the library's other names are equal, and are no modules of Python
    tool::succeed(program("check-wheel-contents").args(["--ignore", "W002,W004"]).arg(wheel));
    let shown = tool::succeed(program("auditwheel").arg("show").arg(wheel));
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let consistent = format!("consistent with the following platform tag: \"{PLATFORM}_{}\"", std::env::consts::ARCH);
    assert!(shown.contains(&consistent), "{shown}");
}

/// Holds that the module has no syntax of a later Python, and types everywhere.
pub(crate) fn python() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/python");
    tool::succeed(program("ruff").args(["check", "--quiet", "--no-cache"]).arg(&package));
    tool::succeed(program("ruff").args(["format", "--quiet", "--no-cache", "--check"]).arg(&package));
    let mut types = program("mypy");
    types.args(["--strict", "--python-version", "3.9", "--cache-dir", "/dev/null"]).arg(package.join("scorep_nccl"));
    tool::succeed(&mut types);
}

/// A program that `scripts/wheel-tools` installs.
fn program(name: &str) -> Command {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    Command::new(target.join("wheel/tools/bin").join(name))
}
