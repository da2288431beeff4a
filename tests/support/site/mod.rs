//! An installation in a temporary prefix, with stand-ins for NCCL and Score-P beside it, and a job's environment that
//! sees nothing else.

use crate::support::tool;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Names of the library that are links to it.
pub(crate) const LINKS: [&str; 3] = ["libnccl_plugin.so", "libnccl_series_plugin.so", "libnccl-profiler-scorep.so"];

/// The prefix.
pub(crate) struct Site {
    directory: TempDir,
}

impl Site {
    /// The tool and the library under all its names, NCCL 2.28.9 and Score-P 8.4.
    pub(crate) fn new() -> Self {
        // where cargo builds, so that what is large need not be copied
        let site = Self { directory: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        for directory in ["bin", "lib", "nccl", "scorep/bin", "scorep/lib", "home", "work"] {
            fs::create_dir_all(site.path(directory)).unwrap();
        }
        fs::hard_link(env!("CARGO_BIN_EXE_scorep-nccl"), site.path("bin/scorep-nccl")).unwrap();
        // as it is installed, where there is one
        let library = tool::shipped(tool::LIBRARY).unwrap_or_else(|_| tool::library());
        fs::hard_link(library, site.path("lib").join(tool::LIBRARY)).unwrap();
        for link in LINKS {
            symlink(tool::LIBRARY, site.path("lib").join(link)).unwrap();
        }
        fs::copy(env!("NCCL_STAND_IN"), site.path("nccl/libnccl.so.2")).unwrap();
        site.script("bin/ldconfig", "exit 0");
        site.score_p("8.4", "libscorep_measurement.so.11");
        site
    }

    /// What lies there under that name.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A program of some lines of shell.
    pub(crate) fn script(&self, name: &str, lines: &str) {
        fs::write(self.path(name), format!("#!/bin/sh\n{lines}\n")).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Score-P of that version: its scorep-config, and its measurement library of that name.
    pub(crate) fn score_p(&self, version: &str, library: &str) {
        let prefix = self.path("scorep");
        fs::remove_dir_all(prefix.join("lib")).unwrap();
        fs::create_dir(prefix.join("lib")).unwrap();
        fs::copy(env!("SCORE_P_STAND_IN"), prefix.join("lib").join(library)).unwrap();
        let lines =
            format!("case $1 in --version) printf {version};; --prefix) printf '%s' '{}';; esac", prefix.display());
        self.script("scorep/bin/scorep-config", &lines);
    }

    /// A profile of Score-P's in `work`, of whose trace scorep-score says that it takes so much with three counters, and
    /// 20 MB without.
    pub(crate) fn profile(&self, memory: &str) {
        fs::create_dir(self.path("work/scorep-1")).unwrap();
        fs::write(self.path("work/scorep-1/profile.cubex"), "").unwrap();
        let says = |counters: u32, memory: &str| {
            let said = format!("Estimated memory requirements (SCOREP_TOTAL_MEMORY):       {memory}");
            format!("[ \"$*\" = '-c {counters} scorep-1/profile.cubex' ] && echo && echo '{said}'")
        };
        self.script("scorep/bin/scorep-score", &format!("{} || {}", says(3, memory), says(0, "20MB")));
    }

    /// Puts a library made of a line of C where another was.
    pub(crate) fn library(&self, name: &str, source: &str) {
        let path = self.path(name);
        let _ = fs::remove_file(&path);
        let file = self.path("work/library.c");
        fs::write(&file, source).unwrap();
        tool::succeed(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&path).arg(&file));
    }

    /// `work/program`, linked with Score-P's measurement library and others of its, which are empty.
    pub(crate) fn instrumented(&self, libraries: &[&str]) {
        let file = self.path("work/empty.c");
        fs::write(&file, "int main(void) { return 0; }").unwrap();
        let mut program = Command::new("cc");
        program.arg("-Wl,--no-as-needed").arg("-o").arg(self.path("work/program")).arg(&file);
        for name in libraries.iter().chain(&["measurement"]) {
            let library = self.path(&format!("work/libscorep_{name}.so"));
            let soname = format!("-Wl,-soname,libscorep_{name}.so.11");
            tool::succeed(
                Command::new("cc").args(["-shared", "-fPIC", &soname, "-x", "c", "/dev/null", "-o"]).arg(&library),
            );
            program.arg(library);
        }
        tool::succeed(&mut program);
    }

    /// The installed tool in an environment that has nothing but this.
    pub(crate) fn tool(&self) -> Command {
        let mut command = Command::new(self.path("bin/scorep-nccl"));
        let path = [self.path("bin"), self.path("scorep/bin"), "/usr/bin".into(), "/bin".into()];
        command.env_clear().env("PATH", std::env::join_paths(path).unwrap()).env("HOME", self.path("home"));
        command.env("LD_LIBRARY_PATH", self.path("nccl")).env("HOST_RELEASE", "22809").current_dir(self.path("work"));
        command
    }

    /// The variables of a command's environment, after the tool has set what a job needs.
    pub(crate) fn environment_of_job(
        &self,
        pairs: &[(&str, &str)],
        options: &[&str],
    ) -> (Vec<(String, String)>, String) {
        let output = self
            .tool()
            .arg("run")
            .args(options)
            .args(["--", "env", "-0"])
            .envs(pairs.iter().copied())
            .output()
            .unwrap();
        let (printed, said) = texts(&output);
        assert!(output.status.success(), "{said}");
        let split = |line: &str| line.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        (printed.split('\0').filter_map(split).collect(), said)
    }
}

/// What a command has printed, and said.
pub(crate) fn texts(output: &Output) -> (String, String) {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).into()
}

/// Replaces a file or link.
pub(crate) fn replace(path: &Path, content: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, content).unwrap();
}
