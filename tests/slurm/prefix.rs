//! The tool and the library as they are installed, in a directory that job scripts find them in.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::tool;

/// The library's names.
const NAMES: [&str; 4] =
    ["libscorep_substrate_nccl.so", "libnccl_plugin.so", "libnccl_series_plugin.so", "libnccl-profiler-scorep.so"];

/// Programs that the job scripts call and that are not here.
const STAND_INS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slurm/stand-ins");

/// Installs into that directory.
pub(crate) fn install(prefix: &Path) {
    let [programs, libraries] = ["bin", "lib"].map(|name| prefix.join(name));
    for directory in [&programs, &libraries] {
        std::fs::create_dir_all(directory).unwrap();
    }
    // a copy: the library is looked for beside the program, wherever links to it are
    std::fs::copy(env!("CARGO_BIN_EXE_scorep-nccl"), programs.join("scorep-nccl")).unwrap();
    let [file, links @ ..] = NAMES;
    std::fs::copy(tool::library(), libraries.join(file)).unwrap();
    for link in links {
        symlink(file, libraries.join(link)).unwrap();
    }
}

/// The PATH of a job: the installation, the stand-ins, and what the command has.
pub(crate) fn path(prefix: &Path, command: &Command) -> std::ffi::OsString {
    let own = command.get_envs().find_map(|(name, value)| (name == "PATH").then_some(value?));
    let usual = own.map(std::ffi::OsStr::to_owned).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
    let places = [prefix.join("bin"), PathBuf::from(STAND_INS)];
    std::env::join_paths(places.into_iter().chain(std::env::split_paths(&usual))).unwrap()
}
