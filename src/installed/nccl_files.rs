//! The NCCL libraries that a program of this environment may load, and their releases.
//!
//! A program finds `libnccl.so.2` through the loader, or in the Python package that its PyTorch came with. A child
//! process loads each library to ask for its release, so that no foreign code runs in this process.

use crate::installed::probe;
use nccl_plugin::release::Release;
use present::output;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// NCCL's file name since version 2.
const FILE: &str = "libnccl.so.2";
/// Beginning of NCCL's file name in LD_PRELOAD.
const PRELOADED: &[u8] = b"libnccl.so";
/// Package directories of a Python, below its library directory.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];
/// Name of the hidden subcommand that starts a child.
pub(crate) const COMMAND: &str = "release-of";

/// An installed NCCL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledNccl {
    /// Path with links resolved.
    pub(crate) path: PathBuf,
    /// Release; `None` where the library cannot be loaded or gives none.
    pub(crate) release: Option<Release>,
}

/// Returns all installed NCCLs in the order in which programs would find them: LD_PRELOAD, LD_LIBRARY_PATH, the Pythons
/// that `programs` name or that are in use, the loader's cache. Each file occurs once. The search goes on only as the
/// iterator advances.
pub(crate) fn find(
    lookup: &impl Fn(&str) -> Option<OsString>,
    programs: &[PathBuf],
) -> impl Iterator<Item = InstalledNccl> {
    let mut seen = BTreeSet::new();
    let listed = directories(lookup, "LD_LIBRARY_PATH");
    let places = listed.iter().map(|directory| directory.join(FILE)).collect::<Vec<_>>();
    let candidates = preloaded(lookup, &listed)
        .into_iter()
        .chain(places)
        .chain(of_python(lookup, programs))
        .chain(std::iter::once_with(of_loader).flatten());
    let real = candidates.filter_map(|path| path.canonicalize().ok()).filter(move |path| seen.insert(path.clone()));
    real.map(|path| InstalledNccl { release: ask(&path), path })
}

/// Returns the NCCLs in LD_PRELOAD, by path or by name. Its entries are separated by colons and blanks.
fn preloaded(lookup: &impl Fn(&str) -> Option<OsString>, listed: &[PathBuf]) -> Vec<PathBuf> {
    let value = lookup("LD_PRELOAD").unwrap_or_default();
    let entries = value.as_bytes().split(|byte| b": ".contains(byte)).map(|entry| Path::new(OsStr::from_bytes(entry)));
    let is_nccl = |entry: &&Path| entry.file_name().is_some_and(|name| name.as_bytes().starts_with(PRELOADED));
    let places = |entry: &Path| match entry.components().count() {
        1 => listed.iter().map(|directory| directory.join(entry)).collect(),
        _ => vec![entry.to_path_buf()],
    };
    entries.filter(is_nccl).flat_map(places).collect()
}

/// Returns the directories of a variable, which are separated by colons.
fn directories(lookup: &impl Fn(&str) -> Option<OsString>, variable: &str) -> Vec<PathBuf> {
    let value = lookup(variable).unwrap_or_default();
    std::env::split_paths(&value).filter(|directory| !directory.as_os_str().is_empty()).collect()
}

/// Returns the possible paths in Python packages: of PYTHONPATH, of the named Pythons, of the virtual environment, of
/// the Conda environment, of the `python3` that a command would start, and of the user.
fn of_python(lookup: &impl Fn(&str) -> Option<OsString>, programs: &[PathBuf]) -> Vec<PathBuf> {
    let started = directories(lookup, "PATH").into_iter().find(|directory| directory.join("python3").is_file());
    // bin/python or bin/torchrun of a virtual environment that is not activated
    let named = programs.iter().filter_map(|program| Some(program.parent()?.parent()?.to_path_buf()));
    let prefixes = [
        lookup("VIRTUAL_ENV").map(PathBuf::from),
        lookup("CONDA_PREFIX").map(PathBuf::from),
        started.and_then(|directory| directory.parent().map(Path::to_path_buf)),
        lookup("HOME").map(|home| Path::new(&home).join(".local")),
    ];
    let of_prefixes = named.chain(prefixes.into_iter().flatten()).flat_map(|prefix| packages(&prefix));
    let all = directories(lookup, "PYTHONPATH").into_iter().chain(of_prefixes);
    all.map(|packages| packages.join("nvidia/nccl/lib").join(FILE)).collect()
}

/// Returns the package directories of all Pythons below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let libraries = ["lib", "local/lib"].into_iter().flat_map(|place| entries(&prefix.join(place)));
    let pythons =
        libraries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons.flat_map(|python| PACKAGES.map(|packages| python.join(packages))).collect()
}

/// Returns the entries of a directory, sorted by name; none if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the NCCLs in the loader's cache. `ldconfig` is often on the administrator's search path only.
fn of_loader() -> Vec<PathBuf> {
    let listed =
        ["ldconfig", "/sbin/ldconfig"].into_iter().find_map(|program| probe::program(program, &["-p".as_ref()]).ok());
    let listed = listed.unwrap_or_default();
    let lines = listed.lines().filter(|line| line.trim_start().starts_with(FILE));
    lines.filter_map(|line| line.split_once("=> ")).map(|(_, path)| PathBuf::from(path.trim())).collect()
}

fn ask(path: &Path) -> Option<Release> {
    Some(Release(probe::ask(COMMAND, path).ok()?.lines().last()?.parse().ok().filter(|&release| release > 0)?))
}

/// What a child is told.
#[derive(Debug, clap::Args)]
pub(crate) struct VersionArguments {
    library: PathBuf,
}

/// Prints the release of a library.
pub(crate) fn run(arguments: &VersionArguments) -> ExitCode {
    match release_of(&arguments.library) {
        Ok(release) => output::answered(output::write(format!("{release}\n"))),
        Err(error) => {
            output::say(format_args!("{}: {error}", arguments.library.display()));
            ExitCode::FAILURE
        }
    }
}

fn release_of(path: &Path) -> Result<i32, libloading::Error> {
    // SAFETY: NCCL's library does nothing when it is loaded. If the file is another library, only this child process is
    // at risk.
    let library = unsafe { libloading::Library::new(path) }?;
    // SAFETY: ncclGetVersion has this type in all releases of NCCL.
    let get_version = unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> i32>(b"ncclGetVersion\0") }?;
    let mut release = 0;
    // SAFETY: the function writes one integer.
    unsafe { get_version(&raw mut release) };
    Ok(release)
}
