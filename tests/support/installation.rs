//! The Score-P that is installed: its tools, and the application compiled with it.

use crate::support::once::made_once;
use crate::support::tool;
use scorep_substrate::{LANE_SYMBOLS, release};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

/// Where programs are looked for: `SCOREP_PREFIX/bin` if that is set, then the usual places.
fn path() -> OsString {
    let own = std::env::var_os("SCOREP_PREFIX").map(|prefix| Path::new(&prefix).join("bin"));
    let usual = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(own.into_iter().chain(std::env::split_paths(&usual))).unwrap()
}

fn has(program: &str) -> bool {
    std::env::split_paths(&path()).any(|directory| directory.join(program).is_file())
}

/// Whether these tests can run; says once on which release, or that there is none. Nobody has to have a Score-P: it is
/// no error where everything else must be there. Where `SCOREP_PREFIX` names one, it must be there.
pub(crate) fn is_there(model: Model) -> bool {
    // not by println, which a test that passes does not show
    static SAID: Once = Once::new();
    let tell = |line: &str| SAID.call_once(|| drop(writeln!(std::io::stderr(), "{line}")));
    let needs_mpi = matches!(model, Model::Mpi);
    if let Some(prefix) = std::env::var_os("SCOREP_PREFIX") {
        let config = Path::new(&prefix).join("bin/scorep-config");
        assert!(config.is_file(), "SCOREP_PREFIX names a Score-P that is not there: {}", config.display());
    }
    if !has("scorep-config") {
        static SKIPPED: Once = Once::new();
        SKIPPED.call_once(|| tool::leave_out("no Score-P on PATH, and SCOREP_PREFIX names none"));
        return false;
    }
    let [version, prefix] = ["--version", "--prefix"].map(|what| say(command("scorep-config").arg(what)));
    tell(&format!("Score-P {} ({})", version.trim(), prefix.trim()));
    let all = has("otf2-print") && has("cube_dump") && (!needs_mpi || has("mpicc") && has("mpirun"));
    assert!(all, "beside scorep-config there must be otf2-print and cube_dump, mpicc and mpirun");
    true
}

/// A program of the installation, with an environment that holds no settings of Score-P's or ours.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("SCOREP_") || name.starts_with("NCCL_") {
            command.env_remove(&*name);
        }
    }
    command.env("PATH", path());
    command
}

/// What a command prints that must succeed.
pub(crate) fn say(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

/// How the application is parallel, and so what of it Score-P instruments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    Mpi,
    Threads,
}

/// tests/c/programs/replay_app.c compiled with Score-P.
pub(crate) fn application(model: Model) -> PathBuf {
    let (name, flags, compiler) = match model {
        Model::Mpi => ("replay_app_mpi", ["--mpp=mpi", "--thread=pthread"], &["mpicc", "-DWITH_MPI"][..]),
        Model::Threads => ("replay_app_threads", ["--mpp=none", "--thread=pthread"], &["gcc"][..]),
    };
    compiled(name, "tests/c/programs/replay_app.c", &flags, compiler)
}

/// A program of that name, compiled with Score-P once for all tests.
pub(crate) fn compiled(name: &str, source: &str, flags: &[&str], compiler: &[&str]) -> PathBuf {
    let program = if is_shared() { name } else { measurement_library() };
    // Score-P leaves objects where it runs
    made_once(name, |directory| compile(source, flags, compiler, program, directory)).join(program)
}

fn compile(source: &str, flags: &[&str], compiler: &[&str], program: &str, directory: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let exports = if is_shared() { vec![] } else { exports() };
    let mut scorep = command("scorep");
    scorep.args(["--user", "--nocompiler"]).args(flags).args(compiler).args(["-std=gnu11", "-O1", "-g"]);
    say(scorep.arg(source).arg("-o").arg(program).args(["-ldl", "-lpthread"]).args(exports).current_dir(directory));
}

/// Name of the library of the installed release.
fn measurement_library() -> &'static str {
    let version = say(command("scorep-config").arg("--version"));
    let major = version.trim().split('.').next().unwrap();
    let of_release = release::TRIED.iter().find(|release| release.name.ends_with(major));
    assert!(of_release.is_some(), "Score-P {version} was not tried");
    of_release.unwrap().library
}

/// Whether programs load Score-P as a library.
fn is_shared() -> bool {
    say(command("scorep-info").arg("config-summary")).contains("shared=yes")
}

/// Flags with which a program that holds Score-P itself takes the place of its library: it exports the library's
/// functions, and must have its name.
fn exports() -> Vec<String> {
    let names = LANE_SYMBOLS.iter().map(|name| name.to_string_lossy());
    let names = names.chain(["scorep_definitions_page_manager".into()]);
    names.map(|name| format!("-Wl,-u,{name}")).chain(["-rdynamic".to_owned()]).collect()
}
