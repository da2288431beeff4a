//! The NCCL libraries that a program of this environment may load, and their releases.
//!
//! A program finds `libnccl.so.2` through the loader, or in the Python package that its PyTorch came with. The release
//! is asked of the library itself, in a process of its own: nothing of a foreign library runs in this one.

use crate::installed::probe;
use crate::output;
use nccl_plugin::release::Release;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// NCCL's file name since its version 2.
const FILE: &str = "libnccl.so.2";
/// How it begins where a person names it.
const PRELOADED: &[u8] = b"libnccl.so";
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

/// All that are found, in the order in which programs would: LD_PRELOAD, LD_LIBRARY_PATH, the Python that `programs`
/// name or that is in use, the loader's cache. Each file once, and looked for when it is asked for.
pub(crate) fn find(lookup: &impl Fn(&str) -> Option<OsString>, programs: &[PathBuf]) -> impl Iterator<Item = Found> {
    let mut seen = BTreeSet::new();
    let listed = directories(lookup, "LD_LIBRARY_PATH");
    let places = listed.iter().map(|directory| directory.join(FILE)).collect::<Vec<_>>();
    let candidates = preloaded(lookup, &listed)
        .into_iter()
        .chain(places)
        .chain(of_python(lookup, programs))
        .chain(std::iter::once_with(of_loader).flatten());
    let real = candidates.filter_map(|path| path.canonicalize().ok()).filter(move |path| seen.insert(path.clone()));
    real.map(|path| Found { release: ask(&path), path })
}

/// What the loader puts before everything else, by path or by name; it separates them by colons and blanks.
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

/// The directories of a variable that separates them by colons.
fn directories(lookup: &impl Fn(&str) -> Option<OsString>, variable: &str) -> Vec<PathBuf> {
    let value = lookup(variable).unwrap_or_default();
    std::env::split_paths(&value).filter(|directory| !directory.as_os_str().is_empty()).collect()
}

/// In the packages of PYTHONPATH, the Python that is named, the virtual environment, the Conda environment, the
/// `python3` that a command would start, and the user.
fn of_python(lookup: &impl Fn(&str) -> Option<OsString>, programs: &[PathBuf]) -> Vec<PathBuf> {
    let started = directories(lookup, "PATH").into_iter().find(|directory| directory.join("python3").is_file());
    // bin/python, or bin/torchrun, of a virtual environment that nobody has activated
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

/// The package directories of all Pythons below a prefix.
fn packages(prefix: &Path) -> Vec<PathBuf> {
    let libraries = ["lib", "local/lib"].into_iter().flat_map(|place| entries(&prefix.join(place)));
    let pythons =
        libraries.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons.flat_map(|python| PACKAGES.map(|packages| python.join(packages))).collect()
}

/// What lies in a directory, by name; nothing if it cannot be read.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// What the loader's cache names. `ldconfig` often is on the administrator's search path alone.
fn of_loader() -> Vec<PathBuf> {
    let listed = ["ldconfig", "/sbin/ldconfig"].into_iter().find_map(|program| probe::program(program, "-p").ok());
    let listed = listed.unwrap_or_default();
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
        Ok(release) => output::answered(output::write(format!("{release}\n"))),
        Err(error) => {
            output::say(format_args!("{}: {error}", arguments.library.display()));
            ExitCode::FAILURE
        }
    }
}

fn release_of(path: &Path) -> Result<i32, libloading::Error> {
    // SAFETY: NCCL's library does nothing when it is loaded; should another file be called so, this process is there to
    // die of it.
    let library = unsafe { libloading::Library::new(path) }?;
    // SAFETY: ncclGetVersion has this type in all releases of NCCL.
    let get_version = unsafe { library.get::<unsafe extern "C" fn(*mut i32) -> i32>(b"ncclGetVersion\0") }?;
    let mut release = 0;
    // SAFETY: it writes one integer.
    unsafe { get_version(&raw mut release) };
    Ok(release)
}
