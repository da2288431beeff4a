//! Two users of one machine, one of whom means ill, in a directory where both may write.

use crate::tool;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Users that nobody has given a name.
const OF_THE_JOB: u32 = 60_001;
const OTHER: u32 = 60_002;
/// How long the other one is at work, milliseconds.
const LONG: &str = "60000";

/// What both may use: copies of the host and the library, since checkouts may be private.
struct Place {
    directory: TempDir,
}

impl Place {
    /// None where there is one user alone.
    fn new(mode: u32) -> Option<Self> {
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            tool::skip("another user needs the administrator");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = Self { directory };
        fs::copy(env!("HOST_HARM_HOST"), place.path("host")).unwrap();
        fs::copy(tool::library(), place.path("library.so")).unwrap();
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

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn host(&self, user: u32, scenario: &[&str]) -> Command {
        let mut command = tool::host("setpriv");
        command.args(["--reuid", &user.to_string(), "--regid", &user.to_string(), "--clear-groups"]);
        command.arg(self.path("host")).arg(self.path("library.so")).arg("6").args(scenario);
        command.env("NCCL_ALLGATHERV_ENABLE", "0").current_dir(self.path("shared"));
        command
    }

    /// The job of the first user, with its files in the directory; it comes to its own end.
    fn play(&self) -> String {
        let said = self.path("said");
        let mut command = self.host(OF_THE_JOB, &["limited", "1", "DATA"]);
        command.env("NCCL_SCOREP_SUMMARY", "summary.json").env("NCCL_SCOREP_RECORD", ".");
        command.stdout(File::create(self.path("printed")).unwrap()).stderr(File::create(&said).unwrap());
        let status = tool::ends(&mut command, Duration::from_secs(60), "the job");
        let said = fs::read_to_string(said).unwrap();
        assert_eq!(status.code(), Some(3), "{status}\n{said}");
        said
    }

    fn check_private(&self) {
        assert_eq!(fs::read_to_string(self.path("home/private")).unwrap(), "mine");
    }
}

/// A regular file of the job's user, with a whole summary.
fn is_own_summary(path: &Path) -> bool {
    let found = path.symlink_metadata().unwrap();
    found.is_file()
        && found.uid() == OF_THE_JOB
        && serde_json::from_slice::<serde_json::Value>(&fs::read(path).unwrap()).is_ok()
}

/// What the other one has put there before: a link to a private file, a FIFO, a file of his own.
#[test]
fn what_another_user_has_put_there_is_replaced_or_left_alone() {
    for put in ["ln -s ../home/private summary.json", "mkfifo -m 666 summary.json", "echo his >summary.json"] {
        for mode in [0o1777, 0o777] {
            let Some(place) = Place::new(mode) else { return };
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid",
                &OTHER.to_string(),
                "--regid",
                &OTHER.to_string(),
                "--clear-groups",
                "sh",
                "-c",
                put,
            ]);
            assert!(command.current_dir(place.path("shared")).status().unwrap().success());
            let said = place.play();
            place.check_private();
            let summary = place.path("shared/summary.json");
            // with the sticky bit nobody but its owner may take it away
            if mode == 0o777 {
                assert!(said.is_empty() && is_own_summary(&summary), "{put} in {mode:o}: {said}");
            } else {
                assert_eq!(summary.symlink_metadata().unwrap().uid(), OTHER, "{put} in {mode:o}");
                let own =
                    said.split_once("the summary of this process is in ").and_then(|(_, name)| name.split_once(": "));
                let own = own.map(|(name, _)| place.path("shared").join(name));
                assert!(
                    said.lines().count() == 1 && own.is_some_and(|own| is_own_summary(&own)),
                    "{put} in {mode:o}: {said}"
                );
            }
        }
    }
}

/// And what he puts there meanwhile, as fast as he can.
#[test]
fn another_user_at_work_meanwhile_gets_at_nothing() {
    for mode in [0o1777, 0o777] {
        let Some(place) = Place::new(mode) else { return };
        let mut attack = place.host(OTHER, &["attack", LONG, ".", "../home/private"]);
        let mut attack = attack.spawn().unwrap();
        for _ in 0..10 {
            let said = place.play();
            place.check_private();
            assert!(
                said.lines().all(|line| line.starts_with("scorep-nccl: warning: ")) && said.lines().count() <= 3,
                "{said}"
            );
        }
        // it was at work to the end
        assert!(attack.try_wait().unwrap().is_none());
        attack.kill().unwrap();
        attack.wait().unwrap();
    }
}
