//! The NCCL libraries that a program of this environment may load, and their releases.
//!
//! A program finds `libnccl.so.2` through the loader, or in the Python package that its PyTorch came with. The release is asked of the
//! library itself, in a process of its own: nothing of a foreign library runs in this one.

use crate::probe;
use nccl_plugin::release::Release;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// NCCL's file name since its version 2.
const FILE: &str = "libnccl.so.2";
/// Seen from the prefix of a Python installation: where its packages are.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];
/// The hidden command that a child is started with.
pub(crate) const COMMAND: &str = "release-of";

/// One library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its real path.
    pub(crate) path: PathBuf,
    /// Its release; `None` where it could not be loaded or asked.
    pub(crate) release: Option<Release>,
}

/// All that are found, in the order in which programs would: LD_LIBRARY_PATH, the Python in use, the loader's cache. Each file once, and looked for
/// when it is asked for.
pub(crate) fn find(lookup: &impl Fn(&str) -> Option<OsString>) -> impl Iterator<Item = Found> {
    let mut seen = BTreeSet::new();
    let places = directories(lookup, "LD_LIBRARY_PATH").into_iter().map(|directory| directory.join(FILE));
    let candidates = places.chain(of_python(lookup)).chain(std::iter::once_with(of_loader).flatten());
    let real = candidates.filter_map(|path| path.canonicalize().ok()).filter(move |path| seen.insert(path.clone()));
    real.map(|path| Found { release: ask(&path), path })
}

/// The directories of a variable that separates them by colons.
fn directories(lookup: &impl Fn(&str) -> Option<OsString>, variable: &str) -> Vec<PathBuf> {
    let value = lookup(variable).unwrap_or_default();
    std::env::split_paths(&value).filter(|directory| !directory.as_os_str().is_empty()).collect()
}

/// In the packages of PYTHONPATH, the virtual environment, the Conda environment, the `python3` that a command would start, and the user.
fn of_python(lookup: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let started = directories(lookup, "PATH").into_iter().find(|directory| directory.join("python3").is_file());
    let prefixes = [
        lookup("VIRTUAL_ENV").map(PathBuf::from),
        lookup("CONDA_PREFIX").map(PathBuf::from),
        started.and_then(|directory| directory.parent().map(Path::to_path_buf)),
        lookup("HOME").map(|home| Path::new(&home).join(".local")),
    ];
    let of_prefixes = prefixes.into_iter().flatten().flat_map(|prefix| packages(&prefix));
    let all = directories(lookup, "PYTHONPATH").into_iter().chain(of_prefixes);
    all.map(|packages| packages.join("nvidia/nccl/lib").join(FILE)).collect()
}

/// The package directories of all Pythons below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let libraries = ["lib", "local/lib"].into_iter().flat_map(|place| entries(&prefix.join(place)));
    let pythons = libraries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons.flat_map(|python| PACKAGES.map(|packages| python.join(packages))).collect()
}

/// What lies in a directory, by name; nothing if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// What the loader's cache names. `ldconfig` often is on the administrator's search path alone.
fn of_loader() -> Vec<PathBuf> {
    let listed = ["ldconfig", "/sbin/ldconfig"].into_iter().find_map(|program| Command::new(program).arg("-p").output().ok());
    let listed = listed.map(|output| output.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let lines = listed.lines().filter(|line| line.trim_start().starts_with(FILE));
    lines.filter_map(|line| line.split_once("=> ")).map(|(_, path)| PathBuf::from(path.trim())).collect()
}

fn ask(path: &Path) -> Option<Release> {
    Some(Release(probe::ask(COMMAND, path).ok()?.lines().last()?.parse().ok().filter(|&release| release > 0)?))
}

/// What a child is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    library: PathBuf,
}

/// Prints the release of a library.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match release_of(&arguments.library) {
        Ok(release) => {
            println!("{release}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}: {error}", arguments.library.display());
            ExitCode::FAILURE
        }
    }
}

fn release_of(path: &Path) -> Result<i32, libloading::Error> {
    // SAFETY: NCCL's library does nothing when it is loaded; should another file be called so, this process is there to die of it.
    let library = unsafe { libloading::Library::new(path) }?;
    // SAFETY: ncclGetVersion has this type in all releases of NCCL.
    let get_version = unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> i32>(b"ncclGetVersion\0") }?;
    let mut release = 0;
    // SAFETY: it writes one integer.
    unsafe { get_version(&raw mut release) };
    Ok(release)
}
