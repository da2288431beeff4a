//! Two users of one machine, one of whom means ill, and a directory where both may write.

use crate::support::tool;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Users that nobody has given a name.
pub(crate) const OF_THE_JOB: u32 = 60_001;
pub(crate) const OTHER: u32 = 60_002;

/// What both may use: copies of the host and the library, since checkouts may be private.
pub(crate) struct Place {
    directory: TempDir,
}

impl Place {
    /// None where there is one user alone.
    pub(crate) fn new(mode: u32) -> Option<Self> {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            tool::skip("another user needs the administrator");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        place.copy(Path::new(env!("HOST_HARM_HOST")), "host");
        place.copy(&tool::library(), "library.so");
        for (name, owner, mode) in [("home", OF_THE_JOB, 0o755), ("shared", 0, mode)] {
            fs::create_dir(place.path(name)).unwrap();
            std::os::unix::fs::chown(place.path(name), Some(owner), Some(owner)).unwrap();
            fs::set_permissions(place.path(name), Permissions::from_mode(mode)).unwrap();
        }
        fs::write(place.path("home/private"), "mine").unwrap();
        std::os::unix::fs::chown(place.path("home/private"), Some(OF_THE_JOB), None).unwrap();
        fs::set_permissions(place.directory.path(), Permissions::from_mode(0o755)).unwrap();
        Some(place)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Copies a program by another process: a child that another test begins meanwhile would hold this process' open
    /// file, and the system starts no program that is open for writing.
    pub(crate) fn copy(&self, file: &Path, name: &str) {
        tool::succeed(Command::new("cp").arg(file).arg(self.path(name)));
    }

    pub(crate) fn host(&self, user: u32, scenario: &[&str]) -> Command {
        let mut command = self.by(user);
        command.arg(self.path("host")).arg(self.path("library.so")).arg("6").args(scenario);
        command.env("NCCL_ALLGATHERV_ENABLE", "0");
        command
    }

    /// Begins a command of a user in the shared directory.
    pub(crate) fn by(&self, user: u32) -> Command {
        let mut command = tool::host("setpriv");
        command.args(["--reuid", &user.to_string(), "--regid", &user.to_string(), "--clear-groups"]);
        command.current_dir(self.path("shared"));
        command
    }

    /// Lets the other user run a line of a shell in the shared directory.
    pub(crate) fn other_does(&self, line: &str) {
        assert!(self.by(OTHER).args(["sh", "-c", line]).status().unwrap().success(), "{line}");
    }

    /// The job of the first user, with its files in the directory; it comes to its own end.
    pub(crate) fn play(&self) -> String {
        self.play_with(&[("NCCL_SCOREP_SUMMARY", "summary.json"), ("NCCL_SCOREP_RECORD", ".")])
    }

    /// The same with other settings.
    pub(crate) fn play_with(&self, settings: &[(&str, &str)]) -> String {
        let said = self.path("said");
        let mut command = self.host(OF_THE_JOB, &["limited", "1", "DATA"]);
        command.envs(settings.iter().copied());
        command.stdout(File::create(self.path("printed")).unwrap()).stderr(File::create(&said).unwrap());
        let status = tool::ends(&mut command, Duration::from_secs(60), "the job");
        let said = fs::read_to_string(said).unwrap();
        assert_eq!(status.code(), Some(3), "{status}\n{said}");
        said
    }

    pub(crate) fn check_private(&self) {
        assert_eq!(fs::read_to_string(self.path("home/private")).unwrap(), "mine");
    }
}
